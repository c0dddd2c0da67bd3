"""The faces: thin, they ask and show."""
