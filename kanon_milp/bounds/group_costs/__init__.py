"""Bounds where the cost of a group depends on all of its rows: column generation over groups that are priced."""
