"""Ways from a problem to a proven, verified result: direct MILP, hybrid method; session, tracker, outcome, result."""
