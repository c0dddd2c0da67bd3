"""Places: hexagonal grids, neighbours, distances and clusters."""
