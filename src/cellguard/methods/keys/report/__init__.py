"""The pages of the cell key method."""
