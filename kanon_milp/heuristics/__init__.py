"""Good tables, without a proof: greedy construction, row assignment, annealing, large neighbourhoods, worker pool."""
