"""The methods of protection, one folder each; `base` is what they have in common."""
