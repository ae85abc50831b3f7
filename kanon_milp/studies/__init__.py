"""What people do with the engine: inspect, compare, sweep, reports, benchmarks, data sets, families, the MPS library.

The engine imports nothing of it.
"""
