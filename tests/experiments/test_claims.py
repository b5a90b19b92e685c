"""Claims about random runs: rates and means with their bounds, and all experiments with fresh seeds."""

import inspect
import json
from pathlib import Path

import pytest

from lamina.experiments import registry
from lamina.experiments.result import drawing_from

EXPERIMENTS = sorted({function.__name__: function for function in registry().values()}.items())


RECORD = Path(__file__).resolve().parents[2] / "benchmarks" / "records" / "claims.json"


def test_the_record_has_every_experiment_and_all_claims_hold():
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    assert [row["experiment"] for row in rows] == [function.__name__ for function in dict.fromkeys(registry().values())]
    assert all(claim["holds"] for row in rows for claim in row["claims"])
    for row in rows:
        known = inspect.signature(dict(EXPERIMENTS)[row["experiment"]]).parameters
        assert row["seeds"] == ([2000, 2019] if "seeds" in known else [2000] if "seed" in known else [])


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(2000, 2020), range(3000, 3003)], ids=["20-seeds", "3-seeds"])
@pytest.mark.parametrize("name", dict(EXPERIMENTS))
def test_all_experiments_hold_with_fresh_seeds(name, seeds, unchecked):
    function = dict(EXPERIMENTS)[name]
    function(**drawing_from(function, seeds)).check()
