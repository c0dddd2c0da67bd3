"""Sensitivity rules: which cells would disclose a respondent, and why."""
