"""Functions on flat arrays that run compiled, or as plain Python where that is cheap."""
