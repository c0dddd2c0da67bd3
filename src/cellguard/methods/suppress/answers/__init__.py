"""Answers on the fly by suppression: each table is protected together with all that was shown before."""
