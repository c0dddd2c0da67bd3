"""Protection methods."""
