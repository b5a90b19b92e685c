"""A small search that has ended, and the data of others."""

import pytest

from lamina.data.load import load
from lamina.data.synthetic import moons
from lamina.studies.search import search
from lamina.training.runtime import Runtime
from studies.small import RATES


@pytest.fixture(scope="module")
def split():
    return moons(240, seed=0).split(seed=0)


@pytest.fixture(scope="session")
def found(tmp_path_factory):
    """A small search that has ended."""
    place = tmp_path_factory.mktemp("studies") / "moons"
    return search("fnn", load("moons", count=240), RATES, epochs=4, folder=place, runtime=Runtime(threads=1))
