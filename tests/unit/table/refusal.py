"""What every refusal must keep to: it names the place, and never the confidential value."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from cellguard.errors import InputError

SECRET = 73519


@contextmanager
def refused(*parts, error=InputError):
    """Expect an error whose message has all the parts and not the secret, nor hangs on an error that has it."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert str(SECRET) not in message.replace(",", "")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
