"""Data on a device."""

import pytest

from lamina.data.preprocess import Preprocess


@pytest.fixture
def source(moons):
    return Preprocess.fit(moons.train, 2).source(moons.train)
