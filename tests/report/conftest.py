"""The fixture that writes run folders."""

from pathlib import Path

import pytest

from report.samples import Maker


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)
