"""Batches of τ-ARGUS: their files are read, run through the one pipeline, and answered in their own formats."""
