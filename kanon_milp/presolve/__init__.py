"""From a problem to an instance and back: row types, candidates, reductions, postsolve, what is in conflict."""
