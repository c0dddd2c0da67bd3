"""Smoothed maps, as a baseline to compare with: nothing is proven of them."""
