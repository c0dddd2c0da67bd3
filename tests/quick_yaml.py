"""YAML by libyaml where it is there, which takes a tenth of the time: for tests that write and read large jobs."""

from __future__ import annotations

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def load(text):
    """Return what a YAML document says."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506  (it is a safe one)


def dump(content, **how):
    """Return a document as YAML."""
    return yaml.dump(content, Dumper=_Dumper, **how)
