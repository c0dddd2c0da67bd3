"""Cell suppression: which cells to hide besides the unsafe ones."""
