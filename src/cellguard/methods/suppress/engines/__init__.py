"""The engines: from a suppression problem to a cheap safe pattern."""
