"""Controlled tabular adjustment: unsafe cells move away from their true value, and the rest as little as possible."""
