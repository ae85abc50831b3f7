"""Hierarchies made from the values of a column: intervals, quantiles, dates, prefixes, orders and groups.

Each maker returns rows (value, label at level 1, ..., `*`) for `Hierarchy.from_rows`, nested by construction:
parameters that would cut a label of one level in two at the next are refused, with the rule that they break.
"""
