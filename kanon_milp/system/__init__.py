"""What has nothing to do with anonymization: files written as a whole, time limits, signals, processes, compilation."""
