"""Source data perturbation: every respondent gets a multiplier, and tables are made of multiplied contributions."""
