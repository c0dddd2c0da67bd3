"""The attacker's model: one unknown set of records lies behind all tables (docs/explanation/threat-model.md)."""
