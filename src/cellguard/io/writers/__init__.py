"""The formats of a release, one module each."""
