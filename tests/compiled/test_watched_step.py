"""A watched update of the compiled step is made eagerly and counts like any other, with JAXTYPING_DISABLE=1."""

import pytest
import torch

import lamina
from lamina.data.synthetic import moons
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.training.executors.compiled import _Compiled
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor's own


@pytest.mark.slow
def test_a_compiled_run_with_an_observer_equals_one_without(tmp_path, monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(_Compiled, "backend", "aot_eager")
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=24, precision="float64")
    runs, watch = [], GradientFlowObserver(every=3)
    for observers in ([], [watch]):
        net = lamina.build("fnn", inputs=2, outputs=2, hidden=(8, 8), dropout=0.2, batch_norm=True)
        runtime = Runtime(threads=1, step="compiled")
        folder = tmp_path / str(len(observers))
        runs.append(fit(net, moons(120).split(seed=0), recipe, folder=folder, runtime=runtime, observers=observers))
        assert '"step": "compiled"' in (folder / "environment.json").read_text()
    without, within = runs
    assert within.rows[-1]["loss"] == pytest.approx(without.rows[-1]["loss"], rel=1e-9)
    assert [row["step"] for row in watch.rows] == [1, 4, 7, 10]
    assert all(x > 0 for x in watch.rows[1]["weight_gradient"])
