"""The pages about rounded tables."""
