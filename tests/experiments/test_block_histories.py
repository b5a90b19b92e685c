import json

import pytest

from lamina._errors import ArgumentError, RunError
from lamina.drawing.scene import Path
from lamina.experiments import block_histories


@pytest.mark.notes("N4.27")
def test_stored_histories_of_both_blocks():
    original, other = block_histories.stored()
    assert (original.name, other.name) == ("original", "preactivation")
    assert original.steps == other.steps and original.steps[-1] == 300
    settings = json.loads(block_histories.STORED.read_text())["settings"]
    assert (settings["depth"] - 2) % 6 == 0 and settings["depth"] >= 100
    assert other.losses[-1] < 0.1 * original.losses[-1] and other.errors[-1] < original.errors[-1]
    reached = [next(s for s, e in zip(h.steps, h.errors, strict=True) if e < 20) for h in (original, other)]
    assert reached[1] < reached[0] / 3
    scene = block_histories.deep_blocks()
    dashes = {s.title: (s.stroke.color, bool(s.stroke.dash)) for s in scene.shapes if isinstance(s, Path) and s.title}
    assert dashes == {
        "original block: training loss": ("line1", True),
        "original block: test error": ("line1", False),
        "pre-activation block: training loss": ("line3", True),
        "pre-activation block: test error": ("line3", False),
    }


@pytest.mark.notes("N4.27")
def test_the_experiment_of_figure_30_runs_and_repeats():
    first, again = (block_histories.compute("preactivation", depth=8, width=0.25, epochs=2) for _ in range(2))
    assert first == again and first.steps == (10, 20)
    assert first.losses[1] < first.losses[0]


@pytest.mark.slow
@pytest.mark.notes("N4.27")
def test_the_stored_curves_can_be_computed_again():
    for kept in block_histories.stored():
        found = block_histories.compute(kept.name)
        assert found.steps == kept.steps
        assert found.errors[-1] == pytest.approx(kept.errors[-1], abs=6)
        assert found.losses[0] == pytest.approx(kept.losses[0], rel=0.05)


def test_figure_30_needs_two_runs_with_labels(tmp_path):
    with pytest.raises(ArgumentError, match="Fig. 30 compares 2 runs, .* got 1: name both folders"):
        block_histories.deep_blocks([tmp_path])
    with pytest.raises(RunError, match="not the folder of a run"):
        block_histories.deep_blocks([tmp_path, tmp_path])
    with pytest.raises(RunError, match="the history of a has 0 rows with a loss and an accuracy"):
        block_histories._history("a", [{"step": 1, "loss": 0.5}])
