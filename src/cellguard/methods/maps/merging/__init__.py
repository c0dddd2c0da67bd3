"""Cells of several sizes: small where there are records enough, and merged where there are too few."""
