"""Engines with thresholds of their own, for tests of what only large sets come to."""

from dataclasses import replace

from cellguard.methods.suppress.engines.witness import witness


def with_policy(policy, engine=witness):
    """Return an engine that searches with this policy."""
    return lambda system, **given: engine(replace(system, policy=policy), **given)
