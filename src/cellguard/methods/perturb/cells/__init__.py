"""The cells of perturbed tables: who is in them, and how much noise they need. Knows nothing of multipliers."""
