import math

import pytest
import torch
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from lamina._errors import ArgumentError
from lamina.data import synthetic
from lamina.data.load import SETS
from lamina.data.synthetic import (
    blobs,
    curve,
    linear,
    million,
    moons,
    quadrants,
    rings,
    spam,
    spam_logit,
    spirals,
    truth_table,
)

SEEDED = {
    "linear": linear,
    "curve": curve,
    "blobs": blobs,
    "moons": moons,
    "spirals": spirals,
    "rings": rings,
    "quadrants": quadrants,
    "spam": spam,
    "million": million,
}


@pytest.mark.notes("N1.82")
@pytest.mark.parametrize("name", SEEDED)
def test_same_seed_same_data_and_no_global_generator(name):
    before = torch.random.get_rng_state()
    first, again, other = SEEDED[name](50, seed=3), SEEDED[name](50, seed=3), SEEDED[name](50, seed=4)
    assert before.equal(torch.random.get_rng_state())
    assert first.inputs.nan_to_num().equal(again.inputs.nan_to_num()) and first.targets.equal(again.targets)
    assert not first.inputs.nan_to_num().equal(other.inputs.nan_to_num())
    generator = torch.Generator().manual_seed(3)
    assert SEEDED[name](50, seed=generator).inputs.nan_to_num().equal(first.inputs.nan_to_num())
    assert first.spec.source == name and len(first) == 50 and SETS[name] is SEEDED[name]


@pytest.mark.notes("N1.73", "N1.77", "N1.82")
def test_truth_tables_in_the_order_of_the_notes():
    for gate, outputs in (("or", [0, 1, 1, 1]), ("and", [0, 0, 0, 1]), ("xor", [0, 1, 1, 0])):
        table = truth_table(gate)
        assert table.inputs.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
        assert table.targets.tolist() == outputs and table.spec.complete
        assert [int(getattr(int(a), f"__{gate}__")(int(b))) for a, b in table.inputs.tolist()] == outputs


@pytest.mark.notes("N1.82")
def test_linear_regression_finds_the_truth():
    data = linear(4000, weight=(2.0, -1.0, 0.5), bias=0.25, noise=0.1)
    design = torch.cat([data.inputs, torch.ones(4000, 1, dtype=torch.float64)], 1)
    found = torch.linalg.lstsq(design, data.targets[:, None]).solution[:, 0]
    assert torch.allclose(found, torch.tensor([2.0, -1.0, 0.5, 0.25], dtype=torch.float64), atol=0.01)
    assert abs(float((design @ found - data.targets).std()) - 0.1) < 0.005
    assert data.inputs.min() >= -1 and data.inputs.max() < 1
    exact = linear(5, weight=(2.0,), bias=1.0, noise=0.0)
    assert torch.allclose(exact.targets, 2 * exact.inputs[:, 0] + 1, rtol=0, atol=1e-15)


@pytest.mark.notes("N1.82")
def test_curve_is_a_sine_with_noise_of_a_quarter():
    data = curve(20_000)
    error = data.targets - torch.sin(2 * math.pi * data.inputs[:, 0])
    assert abs(float(error.std()) - 0.25) < 0.005 and abs(float(error.mean())) < 0.005
    assert 0 <= data.inputs.min() and data.inputs.max() < 1 and data.inputs.dtype == torch.float64


@pytest.mark.notes("N1.82")
def test_blobs_lie_around_their_centers():
    data = blobs(4000, classes=4, spread=0.5)
    assert data.targets.bincount().tolist() == [1000] * 4
    centers = torch.stack([data.inputs[data.targets == k].mean(0) for k in range(4)])
    assert torch.allclose(centers, torch.tensor([[3.0, 0], [0, 3], [-3, 0], [0, -3]]), atol=0.06)
    assert torch.allclose(
        torch.stack([data.inputs[data.targets == k].std(0) for k in range(4)]), torch.tensor(0.5), atol=0.05
    )
    deep = blobs(300, classes=3, features=5, spread=1e-3)
    lengths = torch.stack([deep.inputs[deep.targets == k].mean(0) for k in range(3)]).norm(dim=1)
    assert torch.allclose(lengths, torch.tensor(3.0), atol=1e-2)


def test_moons_are_those_of_scikit_learn():
    data = moons(400, noise=0.0)
    upper, lower = data.inputs[data.targets == 0], data.inputs[data.targets == 1]
    assert torch.allclose(upper.norm(dim=1), torch.tensor(1.0)) and upper[:, 1].min() >= -1e-6
    assert (
        torch.allclose((lower - torch.tensor([1.0, 0.5])).norm(dim=1), torch.tensor(1.0))
        and lower[:, 1].max() <= 0.5 + 1e-6
    )
    points, labels = make_moons(200, noise=0.0)
    distance = torch.cdist(torch.from_numpy(points).float(), data.inputs).min(1)
    assert distance.values.max() < 0.05 and (data.targets[distance.indices].numpy() == labels).mean() > 0.99


def test_spirals_wind_as_often_as_said():
    data = spirals(3000, classes=3, turns=2.0, noise=0.0)
    radius = data.inputs.norm(dim=1)
    assert radius.min() >= 0.1 - 1e-6 and radius.max() <= 1 + 1e-6
    angle = 2 * math.pi * (2.0 * radius + data.targets / 3)
    assert torch.allclose(data.inputs, radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1), atol=1e-5)


def test_rings_have_their_radii():
    data = rings(900, classes=3, noise=0.0)
    radius = data.inputs.norm(dim=1)
    assert radius[data.targets == 0].max() <= 0.25 + 1e-6
    for label in (1, 2):
        assert torch.allclose(radius[data.targets == label], torch.tensor(label / 2), atol=1e-6)
    assert abs(rings(4000, noise=0.0).inputs.mean()) < 0.03


def test_quadrants_are_the_exclusive_or_of_signs():
    data = quadrants(4000, noise=0.0)
    assert (data.inputs.prod(1) < 0).long().equal(data.targets) and data.inputs.abs().max() <= 1
    corners = ((data.inputs > 0).long() @ torch.tensor([1, 2])).bincount()
    assert len(corners) == 4 and corners.min() > 850


@pytest.mark.notes("N2.64")
def test_spam_has_an_exact_calibrated_logistic_model():
    data = spam(40_000)
    logit = spam_logit(data.inputs)
    probability = logit.sigmoid()
    spam_there = data.targets.double()
    assert abs(float(spam_there.mean()) - 0.4) < 0.01
    accuracy = float(((logit > 0) == (data.targets == 1)).double().mean())
    assert accuracy > 0.85 and accuracy < 0.99  # majority: 0.6
    frequent = [value for value in probability.unique() if int((probability == value).sum()) > 1000]
    assert len(frequent) > 10 and min(frequent) < 0.05 and max(frequent) > 0.95
    for value in frequent:
        assert abs(float(spam_there[probability == value].mean() - value)) < 0.05
    fitted = LogisticRegression(C=1e6, max_iter=500).fit(data.inputs.double().numpy(), data.targets.numpy())
    truth = torch.cat([torch.full((10,), math.log(2.5)), torch.full((10,), -math.log(2.5))]).double()
    assert torch.allclose(torch.from_numpy(fitted.coef_[0]), truth, atol=0.12)
    assert fitted.score(data.inputs.numpy(), data.targets.numpy()) > 0.85


def test_spam_counts_are_poisson():
    data = spam(20_000, share=0.5)
    typical = data.inputs[data.targets == 1][:, :10]
    rare = data.inputs[data.targets == 0][:, :10]
    assert abs(float(typical.mean()) - 1.0) < 0.02 and abs(float(typical.var()) - 1.0) < 0.05
    assert abs(float(rare.mean()) - 0.4) < 0.02 and bool((data.inputs == data.inputs.round()).all())
    assert data.spec.features == synthetic.WORDS and data.spec.classes == ("not spam", "spam")


def test_million_is_a_table_with_categories_and_gaps():
    data = million(20_000)
    assert data.spec.kind == "table" and data.inputs.dtype == torch.float64
    gaps = data.inputs.isnan()
    assert abs(float(gaps[:, 5].double().mean()) - 0.01) < 0.004 and not gaps[:, [0, 1, 2, 3, 4, *range(6, 12)]].any()
    assert set(data.inputs[:, 10].tolist()) == {0.0, 1.0, 2.0} and set(data.inputs[:, 11].tolist()) == {
        0.0,
        1.0,
        2.0,
        3.0,
    }
    assert 0.4 < float(data.targets.double().mean()) < 0.6
    assert million.__defaults__ == (1_000_000, 0) or million(1).spec.source == "million"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: truth_table("nand"), "`gate` must be one of 'or', 'and', 'xor', got 'nand'"),
        (lambda: linear(0), "`count` must be at least 1, got 0"),
        (lambda: linear(noise=-1.0), "`noise` must be at least 0, got -1.0"),
        (lambda: curve(0), "`count` must be at least 1, got 0"),
        (lambda: curve(noise=-0.5), "`noise` must be at least 0"),
        (lambda: blobs(classes=1), "`classes` must be at least 2, got 1"),
        (lambda: blobs(spread=0.0), "`spread` must be greater than 0"),
        (lambda: blobs(features=0), "`features` must be at least 1, got 0"),
        (lambda: moons(0), "`count` must be at least 1"),
        (lambda: moons(noise=-1.0), "`noise` must be at least 0"),
        (lambda: spirals(classes=1), "`classes` must be at least 2"),
        (lambda: spirals(turns=0.0), "`turns` must be greater than 0"),
        (lambda: spirals(noise=-1.0), "`noise` must be at least 0"),
        (lambda: rings(0), "`count` must be at least 1"),
        (lambda: rings(classes=1), "`classes` must be at least 2"),
        (lambda: rings(noise=-1.0), "`noise` must be at least 0"),
        (lambda: quadrants(0), "`count` must be at least 1"),
        (lambda: quadrants(noise=-1.0), "`noise` must be at least 0"),
        (lambda: spam(0), "`count` must be at least 1"),
        (lambda: spam(share=1.0), r"`share` must be in \[0.01, 0.99\], got 1.0"),
        (lambda: million(0), "`count` must be at least 1"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
