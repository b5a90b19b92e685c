"""Time series: windows by hand, splits that never let the future train, files."""

import json
from dataclasses import replace

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.dataset import Dataset, Spec
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.series import _as_series, ahead, load_series, moments_of, series_like


def counting(time=30, columns=2):
    return torch.arange(float(time * columns)).reshape(time, columns)


@pytest.mark.notes("N5.12")
def test_windows_and_what_comes_after_them():
    data = _as_series(counting(), window=3, horizon=2, wanted=[1], features=("a", "b"), source="count")
    inputs, targets = data.take(torch.tensor([0, 4]))
    assert isinstance(data, Dataset) and len(data) == 26
    assert inputs[1].tolist() == [[8.0, 9.0], [10.0, 11.0], [12.0, 13.0]] and targets[1].tolist() == [15.0, 17.0]
    assert data.spec.task == "regression" and data.spec.outputs == 2 and data.spec.inputs == (3, 2)
    assert data.spec.target == "b" and data.targets.shape == (26, 2)
    every = _as_series(counting(), window=3, horizon=2, each_step=True)
    inputs, targets = every.take(torch.tensor([4]))
    assert targets[0].tolist() == [[12.0, 13.0], [14.0, 15.0], [16.0, 17.0]]
    assert every.spec.task == "structured" and every.spec.target_shape == (3, 2) and every.spec.outputs == 6
    assert Spec.from_dict(json.loads(json.dumps(every.spec.as_dict()))) == every.spec


@pytest.mark.parametrize("each_step", [False, True])
def test_targets_of_a_part_lie_after_those_of_the_part_before(each_step):
    data = _as_series(counting(60, 1), window=5, horizon=2, each_step=each_step)
    split = data.split()
    parts = split.train, split.validation, split.open_test()
    times = [part.take(torch.arange(len(part)))[1].flatten() for part in parts]
    assert max(times[0]) < 40 <= min(times[1]) and max(times[1]) < 50 <= min(times[2]) and max(times[2]) == 59
    assert "in order of time" in split.note
    with pytest.raises(
        DataError, match="a series of 12 moments is too short to split 4:1:1 with window 9 and horizon 3"
    ):
        _as_series(counting(12), window=9, horizon=3).split()


def test_columns_are_standardized_with_one_mean_at_all_times():
    data = _as_series(counting(), window=4, horizon=1)
    split = data.split()
    prepare = Preprocess.fit(split.train)
    seen = split.train.take(torch.arange(len(split.train)))[0].flatten(0, 1).double()
    torch.testing.assert_close(torch.tensor(prepare.mean, dtype=torch.float64), seen.mean(0))
    torch.testing.assert_close(torch.tensor(prepare.std, dtype=torch.float64), seen.std(0, correction=0))
    inputs, targets = prepare.source(split.validation).batch(torch.tensor([0]))
    stored = split.validation.take(torch.tensor([0]))
    torch.testing.assert_close(
        inputs.double()[0], (stored[0][0] - seen.mean(0)) / seen.std(0, correction=0), rtol=1e-6, atol=1e-6
    )
    torch.testing.assert_close(prepare.untargets(targets), stored[1].float())
    assert Preprocess.from_dict(json.loads(json.dumps(prepare.as_dict()))) == prepare
    raw = Preprocess.fit(split.train, standardize=False)
    assert raw.apply(stored[0]).equal(stored[0].float())


def put(path, text):
    path.write_text(text)
    return path


SALES = "date,sales,rain\n" + "".join(f"2024-01-{i + 1:02},{i * i},{i % 3}\n" for i in range(12))


def test_a_series_from_a_table(tmp_path):
    path = put(tmp_path / "sales.csv", SALES)
    data = load(path, window=4, horizon=2, target="sales")
    inputs, targets = data.take(torch.tensor([1]))
    assert inputs[0].tolist() == [[1.0, 1.0], [4.0, 2.0], [9.0, 0.0], [16.0, 1.0]] and targets.tolist() == [
        [25.0, 36.0]
    ]
    assert data.spec.features == ("sales", "rain") and data.spec.notes == (
        "The column 'date' names the moments and is not learned from.",
    )
    both = load(path, window=4, kind="series")
    assert both.spec.outputs == 2 and both.spec.target == "sales, rain"
    assert load_series(path, 3, target=["rain"], time="date", each_step=True).spec.target_shape == (3, 1)
    lines = both.describe(samples=1)
    assert lines[0].endswith("8 windows of 4 x 2 numbers, regression of 2 numbers (column 'sales, rain').")
    assert lines[-2].split() == [f"{n}<{t}>" for t in range(1, 5) for n in ("sales", "rain")] + ["sales,", "rain"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "t,x\n1,a\n2,b\n3,c\n",
            {},
            "column 'x' holds text, such as 'a', where a series has numbers: .* give time='x'",
        ),
        ("a,x\n1,1\n2,\n3,3\n", {}, "column 'x' has no value in row 2: a series must have no gaps; fill it in"),
        (
            "date,x\n2024-01,1\n2024-03,2\n2024-02,3\n",
            {},
            "'date' goes back from '2024-03' to '2024-02' in row 3: sort",
        ),
        ("a,x\n1,1\n3,2\n2,3\n", {"time": "a"}, "column 'a' goes back from '3' to '2' in row 3"),
        ("a,x\n1,1\n3,2\n2,3\n", {"target": "y"}, "no column 'y' for `target`"),
        ("a,x\n1,1\n3,2\n2,3\n", {"time": "when"}, "no column 'when' for `time`"),
        ("a,x\n1,1\n3,2\n", {"window": 4}, "a series of 2 moments has no window of 4 with 1 after it: use at least 5"),
    ],
)
def test_what_a_series_must_have(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message):
        load(put(tmp_path / "s.csv", text), **({"window": 1} | options))


def test_days_in_words_are_not_compared(tmp_path):
    text = "date,x\n" + "".join(f"{day} Jan,{i}\n" for i, day in enumerate((9, 10, 11)))
    assert len(load(put(tmp_path / "s.csv", text), window=1)) == 2


def test_bounds():
    for name in ("window", "horizon"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be at least 1, got 0"):
            _as_series(counting(), **{name: 0})


def test_folds_of_a_series_never_train_on_the_future():
    from lamina.data.splits import folds

    data = _as_series(torch.arange(60.0)[:, None], window=4, horizon=2)
    tested = []
    for i, split in enumerate(folds(data, 5)):
        targets = [part.targets for part in (split.train, split.validation, split.test._dataset)]
        latest, earliest = [part.max().item() for part in targets], [part.min().item() for part in targets]
        assert latest[0] < earliest[1] and latest[1] < earliest[2] and latest[2] < 10 * (i + 2)
        tested += targets[2].flatten().tolist()
    assert min(tested) == 10 and max(tested) == 59 and set(tested) == set(range(10, 60))


def test_a_series_too_short_for_folds():
    from lamina.data.splits import folds

    data = _as_series(torch.arange(12.0)[:, None], window=4, horizon=1)
    with pytest.raises(
        DataError, match="a series of 12 moments is too short for 5 folds with window 4 and horizon 1: use"
    ):
        folds(data, 5)


def test_moments_travel_with_the_windows(tmp_path):
    path = put(tmp_path / "sales.csv", SALES)
    data = load(path, window=4, horizon=2, target="sales")
    assert data.spec.time == "date" and data.spec.horizon == 2 and data.moments[0] == "2024-01-01"
    split = data.split(ratios=(2, 0, 1))
    assert moments_of(split.open_test()) == ["2024-01-09", "2024-01-10", "2024-01-11"]  # the first of two targets
    every = load(path, window=4, horizon=2, target="sales", each_step=True)
    assert moments_of(every)[0] == "2024-01-03" and moments_of(_as_series(counting())) == []


def test_a_series_is_read_again_as_that_of_a_run(tmp_path):
    path = put(tmp_path / "sales.csv", SALES.replace("date", "when"))
    spec = load(path, window=4, horizon=2, target="sales", time="when").spec
    assert series_like(path, spec).values.shape == (12, 2) and series_like(path, spec).window == 1
    scored = series_like(path, spec, scored=True)
    assert (scored.window, scored.horizon, scored.wanted) == (4, 2, (0,))
    assert ahead(spec) == 2 and ahead(replace(spec, horizon=0)) == 2
    assert ahead(replace(spec, horizon=0, task="structured", target_shape=(2, 1))) == 1
    with pytest.raises(DataError, match="other.csv must have the columns sales, rain of the training series, got rain"):
        series_like(put(tmp_path / "other.csv", "when,rain\n2024-01-01,1\n2024-01-02,1\n"), spec)


def test_dates_of_a_german_file_must_not_go_back(tmp_path):
    text = "Datum,x\n30.01.2024,1\n01.02.2024,2\n31.01.2024,3\n"
    with pytest.raises(DataError, match="'Datum' goes back from '01.02.2024' to '31.01.2024' in row 3"):
        load(put(tmp_path / "s.csv", text), window=1, time="Datum")


def test_targets_of_a_column_are_standardized_alike_at_all_steps():
    data = _as_series(counting(), window=4, horizon=3, wanted=[0, 1])
    prepare = Preprocess.fit(data)
    targets = data.targets.double().reshape(-1, 2)
    assert prepare.target_mean == pytest.approx(targets.mean(0).tolist() * 3)
    assert prepare.target_std == pytest.approx(targets.std(0, correction=0).tolist() * 3)
