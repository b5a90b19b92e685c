"""What a page shows before its button is pressed was recorded with the settings of its first view."""

import inspect
import json
from importlib import import_module
from types import SimpleNamespace

import pytest

from lamina.pages.kit import _runs
from lamina.pages.kit._jobs import train
from lamina.pages.kit._runs import name_of, plain, recorded_rows

RECORDS = sorted(path.name for path in _runs._FOLDER.iterdir())


@pytest.mark.parametrize("file", RECORDS)
def test_a_record_is_that_of_a_work_with_its_settings(file):
    folder, work = file.removesuffix(".json").rsplit(".", 1)
    function = getattr(import_module(f"lamina.pages.chapters.{folder}._work"), work)
    found = json.loads(_runs._FOLDER.joinpath(file).read_text(encoding="utf-8"))
    assert name_of(function) == f"{folder}.{work}" and found["rows"]
    given = inspect.signature(function)
    given.bind(**found["settings"], **{name: "" for name in {"shelf"} & {*given.parameters}})
    assert recorded_rows(function, {**found["settings"], "shelf": "a visitor's"}) == found["rows"]
    assert recorded_rows(function, {**found["settings"], "seed": -1}) == []


def test_rows_become_what_json_has():
    import torch

    assert plain([torch.tensor([1.0, 2.0]), (True, None), {1: float("inf")}, "a"]) == [
        [1.0, 2.0],
        [True, None],
        {"1": None},
        "a",
    ]
    assert plain(1 / 3) == 0.33333 and plain(123456789) == 123456789
    assert plain({"order": SimpleNamespace(a=1)}) == {"order": "namespace(a=1)"}


def test_an_idle_job_has_the_recorded_rows_and_says_so():
    from lamina.pages.chapters.ch5.translation._work import by_heart

    seen = []
    show = lambda job: seen.append((job.state, len(job.rows), job.words))  # noqa: E731
    learning = train(by_heart)
    learning.show(show, running=False, network="gru", seed=0)
    learning.show(show, running=False, network="gru", seed=1)
    assert seen == [("idle", 31, "a recorded run; press the button to run it here"), ("idle", 0, "not started")]
