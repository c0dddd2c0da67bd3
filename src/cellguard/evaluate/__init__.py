"""How rules and methods compare: on cells drawn at random, on the user's own tables, and by risk against utility."""
