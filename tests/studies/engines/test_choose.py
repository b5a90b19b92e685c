"""Words for where a search runs."""

import pytest

from lamina._errors import ArgumentError
from lamina.studies.engines.choose import Place
from lamina.training.runtime import Runtime


@pytest.mark.parametrize(
    ("on", "kind", "away"),
    [
        (None, "", False),
        ("processes:4", "processes", False),
        ("dask://node-1:8786", "dask", True),
        ("slurm", "slurm", True),
    ],
)
def test_words_name_a_place(on, kind, away):
    place = Place(on)
    assert (place.kind, place.away, str(place)) == (kind, away, on or "this process")


@pytest.mark.parametrize(
    "on", ["", "processes", "processes:x", "processes:-1", "dask:host:1", "dask://host", "slurm:", 4]
)
def test_other_words_are_refused(on):
    with pytest.raises(
        ArgumentError, match=r"`on` must be processes:N, dask://HOST:PORT, slurm or, in Python, a client"
    ) as caught:
        Place(on)
    assert str(caught.value).endswith("got int." if on == 4 else f"got {on!r}.")


@pytest.mark.parametrize("port", [0, 65536])
def test_a_scheduler_has_a_port(port):
    with pytest.raises(ArgumentError, match=f"`on` must name a port from 1 to 65,535 after dask://HOST:, got {port}"):
        Place(f"dask://host:{port}")


@pytest.mark.parametrize("count", [0, 1025])
def test_the_number_of_processes_has_bounds(count):
    with pytest.raises(ArgumentError, match=f"`on` must name from 1 to 1,024 processes, got {count}"):
        Place(f"processes:{count}")


def test_a_device_that_only_workers_have_is_not_asked_for_here():
    asked = Runtime("cuda:63", threads=1)
    assert Place("dask://node-1:8786").runtime(asked).device in ("cpu", "cuda")
    for on in (None, "processes:2"):
        with pytest.raises(ArgumentError, match="`device` 'cuda:63' is not available on this machine"):
            Place(on).runtime(asked)
