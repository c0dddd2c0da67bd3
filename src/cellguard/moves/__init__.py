"""Moves: what the attacker and the engines compute with. Nothing here knows a verdict, a pattern or a cost."""
