"""What perturbation reads of a job, and writes into its output folder."""
