"""Many rates as one stack: the curve, the choice, and that each rate is what a run of its own would be."""

import json

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, RunError
from lamina.studies.rates import Rates, spread_rates, tune_rate


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    net = lamina.build("fnn", inputs=4, outputs=3, hidden=(8,))
    recipe = lamina.Recipe(lamina.Adam(0.01), epochs=20, batch_size=16)
    return lamina.fit(net, "iris", recipe, folder=tmp_path_factory.mktemp("runs") / "iris")


def test_each_rate_reaches_what_a_run_of_its_own_reaches(run, tmp_path):
    found = tune_rate(run.folder, count=5, low=1e-3, high=0.1, epochs=3)
    assert found.rates == (0.001, 0.003162, 0.01, 0.03162, 0.1) and found.together == 5 and found.present == 0.01
    for rate, loss in zip(found.rates, found.losses, strict=True):
        torch.manual_seed(0)
        net = lamina.build("fnn", inputs=4, outputs=3, hidden=(8,), seed=0)
        recipe = lamina.Recipe(lamina.Adam(rate), epochs=3, batch_size=16)
        alone = lamina.fit(net, "iris", recipe, folder=tmp_path / f"{rate}")
        assert loss == pytest.approx(alone.rows[-1]["validation_loss"], rel=1e-4)
    kept = json.loads((run.folder / "rates.json").read_text())
    assert kept["losses"] == list(found.losses) and kept["epochs"] == 3


def test_the_run_is_not_changed_and_the_usual_choices_are_taken(run):
    before = (run.folder / "weights.safetensors").read_bytes()
    seen = []
    found = tune_rate(run.folder, count=8, watch=seen.append)
    assert (found.rates[0], found.rates[-1], found.epochs) == (1e-5, 1.0, 2)
    assert [event.epoch for event in seen] == [1, 2] and len(seen[0].row["members"]) == 8
    assert (run.folder / "weights.safetensors").read_bytes() == before
    assert not (run.folder / "evaluation.json").exists()  # the test part stays sealed


def test_the_choice_keeps_away_from_cliffs_and_from_luck():
    rates = spread_rates(1e-4, 1.0, 5)
    assert rates == (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    assert Rates(rates, (1.0, 0.6, 0.5, 0.4, None), (1.0,) * 5, 1, 0.1).best == 1e-2  # 0.1 is beside a cliff
    lucky = Rates(spread_rates(1e-5, 10.0, 7), (1.0, 0.5, 0.4, 0.5, 2.0, 0.1, 2.0), (1.0,) * 7, 1, 0.1)
    assert lucky.best == 1e-3 and lucky.largest is None and lucky.edge == ""
    falling = Rates(rates, (1.0, 0.9, 0.8, 0.6, 0.1), (1.0,) * 5, 1, 0.1)
    assert falling.edge == "The best rate is the highest that was tried: try higher ones."
    rising = Rates(rates, (0.1, 0.6, 0.8, None, None), (1.0,) * 5, 1, 0.1)
    assert rising.edge == "The best rate is the lowest that was tried: try lower ones." and rising.largest == 1e-2


def test_the_curve_is_drawn_without_what_diverges(tmp_path):
    found = Rates((1e-3, 1e-2, 0.1, 1.0), (0.9, 0.5, 0.4, None), (1.0,) * 4, 3, 0.01)
    text = found.save(tmp_path / "rates.svg").read_text()
    assert "4 rates after 3 epochs" in text and "best, 0.01" in text and "now, 0.01" in text


def test_texts_are_tried_one_after_another(tmp_path):
    rows = [f"the film number {i} was {w},{y}\n" for i in range(24) for w, y in (("fine", "good"), ("poor", "bad"))]
    (tmp_path / "t.csv").write_text("review,label\n" + "".join(rows))
    data = lamina.load(tmp_path / "t.csv", target="label", text="review")
    net = lamina.build("many-to-one", inputs=60, outputs=2, hidden=4, embedding=4, padding=0)
    run = lamina.fit(net, data, lamina.Recipe(epochs=2, batch_size=16), folder=tmp_path / "run")
    found = tune_rate(run.folder, count=3)
    assert found.together == 1 and found.epochs == 1 and all(loss > 0 for loss in found.losses)


def test_what_cannot_be_tuned_gets_a_sentence(tmp_path, run):
    split = lamina.load("moons", count=60).split(seed=0)
    net = lamina.build("fnn", inputs=2, outputs=2, hidden=(4,))
    own = lamina.Recipe(lambda params: torch.optim.SGD(params, lr=0.1), epochs=1)
    trained = lamina.fit(net, split, own, folder=tmp_path / "own")
    with pytest.raises(ArgumentError, match="an optimizer of its own, whose rate nobody knows"):
        tune_rate(trained.folder)
    own = lamina.Recipe(epochs=1, loss=torch.nn.functional.cross_entropy)
    trained = lamina.fit(net, split, own, folder=tmp_path / "loss")
    with pytest.raises(ArgumentError, match="has a loss or metrics of its own"):
        tune_rate(trained.folder)
    with pytest.raises(ArgumentError, match="`high` must be greater than 0.1, got 0.01"):
        tune_rate(run.folder, low=0.1, high=0.01)
    with pytest.raises(RunError, match="no rate from 1 to 3 kept a finite loss: try lower ones"):
        Rates((1.0, 2.0, 3.0), (None, None, None), (None,) * 3, 1, 0.1).best  # noqa: B018
