"""The numbers of a table, gathered in parts of any sizes, are those of the whole."""

import pytest
import torch

from lamina._errors import DataError
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.preprocess import Preprocess
from lamina.data.statistics import Moments, TableStatistics

SPEC = Spec(
    "table",
    "classification",
    (3,),
    2,
    features=("x", "color", "day"),
    levels=((), ("blue", "green", "red"), ()),
    dates=("", "", "year-month-day"),
)


def rows(generator, count=40):
    numbers = torch.randn(count, generator=generator, dtype=torch.float64) * 3 + 100
    colors = torch.randint(0, 2, (count,), generator=generator).double()
    days = 86400.0 * torch.randint(0, 900, (count,), generator=generator)
    found = torch.stack([numbers, colors, days.double()], 1)
    found[5, 0] = found[7, 1] = found[9, 2] = torch.nan
    return found, torch.randint(0, 2, (count,), generator=generator)


def gathered(inputs, targets, sizes):
    found = TableStatistics(SPEC)
    for part, wanted in zip(inputs.split(sizes), targets.split(sizes), strict=True):
        found.add(part, wanted)
    return found


def test_moments_by_hand():
    found = Moments(gaps=True)
    found.add(torch.tensor([[1.0, torch.nan], [3.0, torch.nan]]))
    found.add(torch.tensor([[5.0, 7.0]]))
    assert found.mean.tolist() == [3.0, 7.0]
    assert torch.allclose(found.std, torch.tensor([(8 / 3) ** 0.5, 1.0], dtype=torch.float64))


def test_moments_refuse_what_is_not_finite():
    found = Moments()
    found.add(torch.tensor([[1.0], [torch.inf]]))
    with pytest.raises(DataError, match="must be finite, got NaN or infinity"):
        _ = found.mean


@pytest.mark.parametrize("sizes", [[40], [1, 39], [13, 13, 14], [1] * 40])
def test_parts_do_not_matter(generator, sizes):
    inputs, targets = rows(generator)
    found = gathered(inputs, targets, sizes)
    there = inputs[~inputs.isnan().any(1)]
    years = torch.tensor([1970 + int(day) // 365 for day in (inputs[:, 2] / 86400).nan_to_num().tolist()])
    mean, std = found.linear()
    first = inputs[:, 2][~inputs[:, 2].isnan()].min()
    days = (inputs[:, 2] - first)[~inputs[:, 2].isnan()] / 86400
    numbers = inputs[:, 0][~inputs[:, 0].isnan()]
    gaps = ~inputs[:, 2].isnan()
    wanted = [numbers.mean(), years[gaps].double().mean(), days.mean()]
    spread = [numbers.std(correction=0), years[gaps].double().std(correction=0), days.std(correction=0)]
    assert torch.allclose(mean, torch.stack(wanted), rtol=1e-12)
    assert torch.allclose(std, torch.stack(spread), rtol=1e-12)
    assert found.first == (0.0, 0.0, float(first))
    assert found.parts == ((), (), ("year", "days", "month", "weekday"))
    assert found.missing == (True, True, True)
    colors = inputs[:, 1][~inputs[:, 1].isnan()].long()
    assert found.counts[1].tolist() == torch.bincount(colors, minlength=3).tolist()
    assert found.known[1] == (0, 1)
    assert found.balance.tolist() == torch.bincount(targets).tolist()
    assert len(there) == 37


def test_labels_are_counted_with_those_that_lack_them():
    spec = Spec("table", "multilabel", (1,), 2, ("rain", "snow"), features=("x",))
    found = TableStatistics(spec)
    found.add(torch.zeros(3, 1), torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    assert found.balance.tolist() == [[1, 2], [2, 1]]


def test_a_preparation_fitted_in_parts_is_that_of_the_whole(generator, monkeypatch):
    inputs, targets = rows(generator)
    data = ArrayDataset(inputs, targets, SPEC)
    whole = Preprocess.fit(data)
    monkeypatch.setattr("lamina.data.preprocess._PART", 21)  # seven rows at a time
    parts = Preprocess.fit(data)
    assert parts.seen == whole.seen and parts.parts == whole.parts and parts.first == whole.first
    assert torch.allclose(torch.tensor(parts.mean), torch.tensor(whole.mean), rtol=1e-12)
    assert torch.allclose(parts.apply(inputs), whole.apply(inputs), atol=1e-6)
