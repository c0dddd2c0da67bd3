"""Cell suppression: which cells to suppress besides the unsafe ones, and the proof that they are enough."""
