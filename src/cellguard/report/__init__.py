"""What a person reads: pages for the disclosure officer and for the public, and pictures."""
