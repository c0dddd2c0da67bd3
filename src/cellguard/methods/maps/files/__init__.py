"""The points of a map, and the files that it is written to."""
