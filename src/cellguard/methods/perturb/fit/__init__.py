"""Fitting: multipliers from what the cells of a set of tables are wanted to be."""
