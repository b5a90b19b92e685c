"""The network that is tested is the one that was compared."""

import json
import shutil

import pytest
import torch

from lamina._errors import DataWarning
from lamina.populations.population import train_population
from lamina.studies.finish import _refit
from lamina.studies.search import go_on, plan
from lamina.studies.study import Study
from lamina.training.run import Run


def test_the_network_that_is_tested_is_bit_for_bit_the_one_that_was_compared(tmp_path, split):
    rates = {"learning_rate": [1e-3, 3e-2, 1e-2]}
    problem, study = plan("fnn", split, rates, options={"epochs": 3}, seeds=2, folder=tmp_path / "s")
    members = [member for values in study.space.grid() for member in problem.members(values)]
    stack = train_population(members, split)
    run = Run.load(go_on(study, problem).folder / "best")
    mine = stack[2 * study.best.number]
    assert list(run.rows) == list(mine.rows) and run.rows[mine.best_row]["validation_loss"] == min(
        row["validation_loss"] for row in mine.rows
    )
    assert all(torch.equal(tensor, mine.weights[name]) for name, tensor in run.model.state_dict().items())
    assert len(list((study.folder / "kept").iterdir())) == 1
    recorded = json.loads((run.folder / "environment.json").read_text())
    assert recorded["step_reason"] == "one of 6 networks trained as one"
    # A file whose bits were flipped is not believed.
    (kept,) = (study.folder / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    shutil.rmtree(run.folder)
    with pytest.warns(DataWarning, match="trained again"):
        again = _refit(Study.open(study.folder), problem)
    assert again.rows[-1]["loss"] == pytest.approx(mine.rows[-1]["loss"], rel=1e-4)
