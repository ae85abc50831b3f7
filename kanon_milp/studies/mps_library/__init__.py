"""The instance library: a collection of MPS files with known answers, built from a list, and checked."""
