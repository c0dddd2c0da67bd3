"""Answers on the fly: any table from one perturbed source, each checked with all that was answered before."""
