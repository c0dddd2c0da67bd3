"""The pages about perturbed tables."""
