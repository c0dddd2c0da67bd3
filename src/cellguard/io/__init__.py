"""Output folders: written whole or not at all, and read back."""
