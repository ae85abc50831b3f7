"""What has nothing to do with anonymization: files written completely, time limits, signals, processes, compilation."""
