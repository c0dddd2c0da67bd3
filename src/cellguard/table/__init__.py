"""Cells and their facts, the relations between them, linked sets, and reading ready-made tables."""
