"""What the tests of the classical methods share."""

import jaxtyping
import pytest


@pytest.fixture
def as_user(monkeypatch):
    """Switch the shape checker off, as for a user: wrong shapes meet the library's sentences, and loops are fast."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
