"""Algorithms over instances: one file each."""
