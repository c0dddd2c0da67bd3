"""Exact linear algebra: echelon forms, circuits and row spaces, modulo a prime or in whole numbers."""
