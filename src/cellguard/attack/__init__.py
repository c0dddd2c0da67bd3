"""What an attacker can still work out of a release: intervals, verdict, certificate, explanations."""
