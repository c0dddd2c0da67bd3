"""The pages about suppressed tables: for the disclosure officer, and for the public."""
