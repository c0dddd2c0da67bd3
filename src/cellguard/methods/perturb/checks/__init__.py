"""Checks before release: what published perturbed cells give away, by themselves and together."""
