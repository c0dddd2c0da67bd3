"""The program of τ-ARGUS by name and arguments, for scripts that start it."""
