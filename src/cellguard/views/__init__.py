"""Tables for eyes: one model of a table for terminal, page and web."""
