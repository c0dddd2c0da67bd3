"""A job suggested for a file: roles of columns, hierarchies and totals, each guess explained."""
