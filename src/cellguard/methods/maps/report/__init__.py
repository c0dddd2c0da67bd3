"""The pages and pictures of a map."""
