"""The benchmark harness: studies of many runs, each in a process of its own, with every answer checked.

A study file (`study`) becomes a list of runs (`plan`); a cluster (`cluster`) hands them to hosts, each of which starts
a process a run and watches it from outside (`supervisor`); the process measures one run (`one_run`, `kinds`) and checks
its answer (`point`); rows are kept one file a run (`results`), held against each other (`checks`) and summed up
(`summary`).
"""
