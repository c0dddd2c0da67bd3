"""Drawing: one multiplier per unit, how far from 1, and what noise comes of it."""
