"""The bound of simplex matching: groups of two and three rows, their linear program with odd-set cuts, exact proofs."""
