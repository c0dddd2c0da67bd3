"""The seam of all methods: what the pipeline asks of one, and what a run gives."""
