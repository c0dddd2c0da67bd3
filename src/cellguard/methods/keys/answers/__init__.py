"""Counts on the fly by cell keys: the same cell has the same noise in every answer."""
