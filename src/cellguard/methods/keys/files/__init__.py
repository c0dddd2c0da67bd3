"""What the cell key method reads of a job, and writes into its output folder."""
