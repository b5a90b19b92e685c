"""What the tests of experiments share."""

import jaxtyping
import pytest


@pytest.fixture
def unchecked(monkeypatch):
    """Switch the shape checker off, which costs more than a small update."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
