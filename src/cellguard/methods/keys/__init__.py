"""The cell key method: noise that depends on who is in a cell, so that a cell has the same noise in every table.

Fraser and Wooton, *A proposed method for confidentialising tabular output to protect against differencing* (2005).
"""
