"""One server and one browser for all browser tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def address():
    from harness import serving

    with serving() as place:
        yield place


@pytest.fixture(scope="session")
def driver():
    from harness import browser

    with browser() as started:
        yield started
