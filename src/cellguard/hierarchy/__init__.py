"""Codes in a tree: building, reading, recoding; a dimension = a column and one or more hierarchies."""
