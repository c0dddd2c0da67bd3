"""The formats that tables are written in: CSV, pivot, code-value, SBS, intermediate, JJ, a-priori."""
