"""The attacker's model, said once: one unknown set of records lies behind all tables (docs/explanation/threat-model.md)."""
