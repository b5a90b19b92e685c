"""Classes and numbers are judged: confusion, calibration, errors and the worst mistakes."""

import json
import math

import numpy as np
import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import DataError
from lamina.data.load import load
from lamina.data.series import _as_series
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.run import Run
from training.tasks.words import sized


def test_an_evaluation_adds_up(digits):
    found = digits.evaluate()
    test = digits.split.test._dataset
    inputs, labels = test.take(torch.arange(len(test)))
    p = digits.predict(inputs).values
    assert found.metrics["accuracy"] == (p.argmax(1) == labels).double().mean().item() > 0.9
    assert sum(map(sum, found.confusion)) == 299 and sum(found.confusion[i][i] for i in range(10)) == round(
        found.metrics["accuracy"] * 299
    )
    assert [row["examples"] for row in found.per_class] == torch.bincount(labels).tolist()
    assert sum(found.calibration["count"]) == 299 and len(found.predictions) == 299
    assert all(w["label"] != w["guess"] for w in found.worst)
    assert found.worst[0]["picture"].startswith("data:image/png;base64,")
    assert [w["confidence"] for w in found.worst] == sorted((w["confidence"] for w in found.worst), reverse=True)


def test_mistakes_carry_the_names_of_their_files(tmp_path):
    """All pictures of both classes are noise, so that some of the test part are mistaken."""
    g = torch.Generator().manual_seed(0)
    for number in range(60):
        path = tmp_path / "photos" / f"klasse {'äb'[number % 2]}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(torch.randint(256, (6, 6), generator=g, dtype=torch.uint8).numpy()).save(path)
    split = lamina.load(tmp_path / "photos").split()
    net = lamina.build("fnn", inputs=36, outputs=2, hidden=(4,))
    run = lamina.fit(net, split, lamina.Recipe(lamina.Adam(0.01), epochs=2), folder=tmp_path / "run")
    found, test = run.evaluate(), split.open_test()
    assert 0 < len(found.worst) < 10
    for mistake in found.worst:
        path = tmp_path / "photos" / mistake["name"]
        assert path.parent.name == mistake["label"] and mistake["name"] == test.name(mistake["index"])
        with Image.open(path) as image:
            assert test.take(torch.tensor([mistake["index"]]))[0][0, 0].equal(torch.tensor(np.array(image)))
    kept = json.loads((tmp_path / "run" / "evaluation.json").read_text())["worst"]
    assert [mistake["name"] for mistake in kept] == [mistake["name"] for mistake in found.worst]


def test_real_targets_come_back_in_their_units(curve):
    found = curve.evaluate()
    test = curve.split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    outputs = curve.predict(inputs).values[:, 0].double()
    assert found.metrics["mse"] == pytest.approx(((outputs - targets.double().flatten()) ** 2).mean().item(), rel=1e-5)
    assert found.metrics["r2"] > 0.5 and found.confusion is None and len(found.worst) > 0
    assert not curve.predict(inputs).classes


def test_a_series_is_forecast_in_its_units_and_against_the_last_value(tmp_path):
    values = 100 + 10 * torch.sin(torch.arange(200.0, dtype=torch.float64) / 3)[:, None]
    data = _as_series(values, window=8, features=("sales",))
    model, split = sized("many-to-one", data)
    run = fit(model, split, Recipe(Adam(0.02), epochs=15, batch_size=16), folder=tmp_path / "run")
    test = split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    given = run.predict(inputs).values.double()
    found = run.evaluate().metrics
    mae, naive = (given - targets).abs().mean().item(), (inputs[:, -1] - targets).abs().mean().item()
    step = (inputs[:, 1:] - inputs[:, :-1]).abs().mean().item()
    assert found["mae"] == pytest.approx(mae, rel=1e-4) and found["naive_mae"] == pytest.approx(naive, rel=1e-4)
    assert found["mase"] == pytest.approx(mae / step, rel=1e-4) and found["mase"] < 0.5
    assert found["rmse"] == pytest.approx(math.sqrt(found["mse"]), rel=1e-4)
    rows = "\n".join(f"{day},{x}" for day, x in enumerate(values[:, 0].tolist()))
    (tmp_path / "sales.csv").write_text(f"day,sales\n{rows}\n")
    told = Run.load(run.folder).predict(tmp_path / "sales.csv")
    torch.testing.assert_close(told.values, run.predict(values[-8:][None]).values)
    assert 85 < told.values.item() < 115
    with pytest.raises(DataError, match="must have the columns sales of the training series, got price"):
        (tmp_path / "other.csv").write_text(f"day,price\n{rows}\n")
        run.predict(tmp_path / "other.csv")
    with pytest.raises(DataError, match="has 4 moments, but the network looks back 8"):
        (tmp_path / "short.csv").write_text("day,sales\n1,1.5\n2,2.5\n3,3.5\n4,4.5\n")
        run.predict(tmp_path / "short.csv")


def test_an_answer_at_every_step_of_a_series(tmp_path):
    data = load("wave", steps=300, window=10, each_step=True)
    model, split = sized("many-to-many", data, outputs=1)
    run = fit(model, split, Recipe(Adam(0.02), epochs=2), folder=tmp_path / "run")
    test = split.test._dataset
    inputs, targets = test.take(torch.arange(len(test)))
    naive = (inputs - targets).abs().mean().item()
    assert run.evaluate().metrics["naive_mae"] == pytest.approx(naive, rel=1e-6)
