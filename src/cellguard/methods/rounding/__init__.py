"""Rounding of whole linked sets of tables: conventional, random and controlled, with what an attacker concludes."""
