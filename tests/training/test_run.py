"""A run read back: the same predictions, evaluation once."""

import pytest
import torch

import lamina
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run


def test_a_loaded_run_predicts_the_same(digits):
    inputs, _ = lamina.load("digits").take(torch.arange(40))
    loaded = Run.load(digits.folder)
    mine, theirs = digits.predict(inputs), loaded.predict(inputs.numpy())
    assert torch.equal(mine.values, theirs.values) and mine.labels == theirs.labels
    torch.testing.assert_close(mine.values.sum(1), torch.ones(40))
    assert mine.top(2)[0][0][1] >= mine.top(2)[0][1][1] and len(mine.top()[0]) == 5
    assert loaded.history["epoch"] == list(range(1, 9)) and loaded.reason.name == "epochs"
    assert loaded.predict(inputs[0]).names == ("0",)


@pytest.mark.notes("N1.67")
def test_the_test_split_is_opened_once_and_the_record_counts(tmp_path):
    net = lamina.build("fnn", inputs=64, outputs=10, hidden=(8,))
    run = fit(net, lamina.load("digits"), Recipe(Adam(0.01), epochs=1), folder=tmp_path / "run")
    assert run.split.openings == 0
    first = run.evaluate()
    assert run.split.openings == 1 and first.openings == 1 and first.examples == 299
    assert run.evaluate() == first and Run.load(run.folder).evaluate() == first and run.split.openings == 1
    again = run.evaluate(again=True)
    assert again.openings == 2 and run.split.openings == 2 and "opened 2 times" in str(again)
    assert again.metrics == first.metrics


def test_other_weights_are_another_look_at_the_test_split(tmp_path):
    from lamina.training.fit import resume

    net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    run = fit(net, lamina.load("moons", count=120), Recipe(Adam(0.05), epochs=1), folder=tmp_path / "run")
    first = run.evaluate()
    same = resume(run.folder)
    assert same.evaluate() == first and first.openings == 1
    longer = resume(run.folder, epochs=8)
    second = longer.evaluate()
    assert second.openings == 2 and second.metrics != first.metrics and second.weights != first.weights


def test_flags_are_put_back_after_a_run(tmp_path):
    before = torch.get_num_threads()
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    runtime = lamina.training.runtime.Runtime(threads=2, deterministic=True)
    fit(net, lamina.load("moons", count=60), Recipe(epochs=1), folder=tmp_path / "run", runtime=runtime)
    assert torch.get_num_threads() == before and not torch.are_deterministic_algorithms_enabled()
    assert float(torch.tensor(1e-39) * 1.0) > 0


def test_the_history_has_errors_in_units_of_the_target(tmp_path):
    inputs = torch.randn(60, 2)
    data = lamina.load(inputs, 1000 + 50 * inputs[:, 0])
    run = fit(lamina.build("fnn", inputs=2, outputs=1, hidden=8), data, Recipe(epochs=3), folder=tmp_path / "run")
    part = run.split.validation
    inputs, wanted = part.take(torch.arange(len(part)))
    given = run.predict(inputs).values.double().flatten()
    best = min(run.rows, key=lambda row: row["validation_loss"])
    expected = (given - wanted.double().flatten()).square().mean().sqrt().item()
    assert best["validation_rmse"] == pytest.approx(expected, rel=1e-4)
    assert best["validation_mse"] == pytest.approx(2 * best["validation_loss"], rel=1e-6)
