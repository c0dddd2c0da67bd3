"""The job file, and writers."""
