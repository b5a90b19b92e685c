"""A table that stays on disk is read as the resident reader reads it, and split by a hash of its row numbers."""

import warnings
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
import torch

from lamina._errors import DataError, DataWarning
from lamina.data import large
from lamina.data.dataset import ArrayDataset, all_targets
from lamina.data.large import LargePart, LargeTable, part_of, reads_blocks
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import folds

ROWS = 1200


def table(rows=ROWS, seed=0):
    """Numbers with gaps, whole numbers, categories (one very rare), dates and truth values, and a class."""
    draw = np.random.default_rng(seed)
    size = draw.normal(50, 9, rows)
    color = draw.choice(np.array(["red", "green", "blue"], "U6"), rows)
    color[rows - 1] = "violet"
    return pl.DataFrame(
        {
            "size": pl.Series(size).set(pl.Series(draw.random(rows) < 0.1), None),
            "count": draw.integers(0, 1000, rows),
            "color": color,
            "day": [date(2020, 1, 1) + timedelta(days=int(n)) for n in draw.integers(0, 800, rows)],
            "new": draw.random(rows) < 0.5,
            "kind": np.where(size + 5 * (color == "red") > 51, "large", "small"),
        }
    )


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 100)
    home = tmp_path / "rows"
    home.mkdir()
    for number, part in enumerate(table().iter_slices(500)):
        part.write_parquet(home / f"{number}.parquet", row_group_size=130)
    return home


def of(part):
    return part.take(torch.arange(len(part)))


def test_it_is_what_the_resident_reader_gives(path):
    streamed, resident = load(path, stream=True), load(path, stream=False)
    assert isinstance(streamed, LargeTable) and isinstance(resident, ArrayDataset)
    for name in ("kind", "task", "inputs", "outputs", "classes", "features", "levels", "dates", "target", "reading"):
        assert getattr(streamed.spec, name) == getattr(resident.spec, name), name
    assert streamed.spec.notes[:-1] == resident.spec.notes
    assert streamed.spec.notes[-1].startswith("1,200 rows in 3 files (")
    inputs, targets = of(streamed)
    assert torch.equal(inputs.nan_to_num(-9), resident.inputs.nan_to_num(-9)) and torch.equal(targets, resident.targets)


def test_rows_at_any_places(path):
    streamed, places = load(path, stream=True), torch.tensor([1199, 3, 501, 3, 99, 100])
    inputs, targets = streamed.take(places)
    resident = load(path, stream=False)
    assert torch.equal(inputs.nan_to_num(), resident.inputs[places].nan_to_num())
    assert torch.equal(targets, resident.targets[places])
    nothing = streamed.take(torch.zeros(0, dtype=torch.int64))
    assert nothing[0].shape == (0, 5) and nothing[1].shape == (0,)


def test_categories_beyond_the_sample_are_known(path, monkeypatch):
    monkeypatch.setattr(large, "SAMPLE", 128)
    streamed = load(path, stream=True)
    assert streamed.spec.levels[2] == ("blue", "green", "red", "violet")
    assert streamed.spec.classes == ("large", "small")
    assert torch.equal(of(streamed)[0].nan_to_num(), load(path, stream=False).inputs.nan_to_num())


def test_a_column_that_only_looks_constant_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "SAMPLE", 128)
    rare = [0.0] * ROWS
    rare[7] = 1.0
    pl.DataFrame({"rare": rare, "same": [3] * ROWS, "x": range(ROWS), "y": [0.5, 1.5] * (ROWS // 2)}).write_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.warns(DataWarning, match="Column 'same' is left out: it is '3' in every row"):
        assert load(tmp_path / "a.parquet", target="y", stream=True).spec.features == ("rare", "x")


def test_many_whole_numbers_beyond_the_sample_are_no_classes(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "SAMPLE", 128)
    wanted = [n % 3 for n in range(ROWS)]
    wanted[5:80] = range(75)
    pl.DataFrame({"x": np.linspace(0, 1, ROWS), "y": wanted}).write_parquet(tmp_path / "a.parquet")
    assert load(tmp_path / "a.parquet", stream=True).spec.task == "regression"


def test_the_split_is_a_pure_function_of_row_and_seed(path):
    split = load(path, stream=True).split(seed=3)
    parts = part_of(np.arange(ROWS), 3, (1 / 6, 1 / 6))
    resident = load(path, stream=False)
    for number, part in enumerate((split.train, split.validation, split.open_test())):
        mine = torch.from_numpy(parts == number)
        inputs, targets = of(part)
        assert torch.equal(inputs.nan_to_num(), resident.inputs[mine].nan_to_num())
        assert torch.equal(targets, resident.targets[mine]) and torch.equal(all_targets(part), targets)
    assert "by a hash of the row number, seed 3" in split.note
    assert load(path, stream=True).split(seed=4).note != split.note


def test_shares_are_met_up_to_chance():
    parts = np.bincount(part_of(np.arange(60_000), 0, (1 / 6, 1 / 6)), minlength=3)
    assert np.abs(parts - [40_000, 10_000, 10_000]).max() < 4 * (60_000 / 6 * 5 / 6) ** 0.5
    other = part_of(np.arange(60_000), 1, (1 / 6, 1 / 6))
    both = (part_of(np.arange(60_000), 0, (1 / 6, 1 / 6)) == 0) & (other == 0)
    assert abs(both.mean() - 4 / 9) < 0.01  # seeds have nothing to do with each other


def test_held_parts_are_bounded(path, monkeypatch):
    monkeypatch.setattr(large, "HELD", 30)
    split = load(path, stream=True).split()
    assert 10 < len(split.validation) < 60 and 10 < len(split.test) < 60 and len(split.train) > 1080


def test_the_preparation_is_that_of_the_same_resident_rows(path):
    split = load(path, stream=True).split()
    streamed = Preprocess.fit(split.train)
    resident = Preprocess.fit(ArrayDataset(*of(split.train), split.train.spec))
    for name in ("inputs", "kept", "seen", "pooled", "missing", "parts", "first"):
        assert getattr(streamed, name) == getattr(resident, name), name
    for name in ("mean", "std", "fill"):
        assert torch.allclose(torch.tensor(getattr(streamed, name)), torch.tensor(getattr(resident, name)), rtol=1e-12)


def test_real_targets_are_prepared_alike(path):
    split = load(path, target="count", stream=True).split()
    streamed, resident = Preprocess.fit(split.train), Preprocess.fit(ArrayDataset(*of(split.train), split.train.spec))
    assert torch.allclose(torch.tensor(streamed.target_mean), torch.tensor(resident.target_mean), rtol=1e-6)
    assert torch.allclose(torch.tensor(streamed.target_std), torch.tensor(resident.target_std), rtol=1e-6)


def test_labels_and_several_numbers(path):
    with pytest.warns(DataWarning, match="131 rows without the target are left out"):
        both = load(path, target=["size", "count"], stream=True, drop=["kind"])
    with pytest.warns(DataWarning, match="without the target"):
        resident = load(path, target=["size", "count"], stream=False, drop=["kind"])
    assert both.spec.task == "regression" and torch.equal(of(both)[1], resident.targets)
    frame = table().with_columns(old=~pl.col("new"))
    frame.write_parquet(path.parent / "labels.parquet")
    labels = load(path.parent / "labels.parquet", target=["new", "old"], stream=True)
    assert labels.spec.task == "multilabel" and of(labels)[1].sum(1).eq(1).all()


def test_rows_without_a_target_are_left_out_and_counted(path):
    with pytest.warns(DataWarning, match=r"rows without the target are left out"):
        streamed = load(path, target="size", stream=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        resident = load(path, target="size", stream=False)
    assert len(streamed) == len(resident) < ROWS
    assert torch.equal(of(streamed)[1], resident.targets)
    split = streamed.split()
    assert len(split.train) + len(split.validation) + len(split.test) == len(resident)
    assert of(split.train)[1].isfinite().all()


def test_every_block_is_read_once_per_pass(path, monkeypatch):
    streamed, seen = load(path, stream=True), []
    read = streamed.file.read
    monkeypatch.setattr(
        streamed.file, "read", lambda block, columns=None: (seen.append(block), read(block, columns))[1]
    )
    train = streamed.split().train
    assert seen == streamed.blocks
    Preprocess.fit(train)
    assert len(seen) == len(streamed.blocks)  # the pass of the split has fitted it


def test_what_fits_is_resident_and_what_does_not_is_not(path, monkeypatch):
    assert not reads_blocks(path, None) and reads_blocks(path, True) and not reads_blocks(path, False)
    monkeypatch.setattr(large, "free_memory", lambda: 2 * ROWS * 6 * 24 - 2)
    assert reads_blocks(path, None)
    monkeypatch.setattr(large, "free_memory", lambda: 2 * ROWS * 6 * 24 + 2)
    assert not reads_blocks(path, None)


def test_how_it_was_read_is_written_down(path, monkeypatch):
    monkeypatch.setattr(large, "free_memory", lambda: 1000)
    assert load(path).origin == {"source": str(path), "options": {"stream": True}}


@pytest.mark.parametrize("option", ["group", "time", "weight"])
def test_options_that_need_all_rows_are_refused(path, option):
    with pytest.raises(DataError, match=f"is read block by block, but `{option}` needs all rows at once"):
        load(path, stream=True, **{option: "count"})


def test_other_formats_are_not_streamed(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(DataError, match="`stream` reads Parquet block by block, and no other format: convert"):
        load(tmp_path / "a.csv", stream=True)


def test_bad_tables_are_refused(tmp_path, monkeypatch):
    def written(**columns):
        pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    with pytest.raises(DataError, match=r"has too few rows \(0\): at least 2"):
        load(written(x=[], y=[]), stream=True)
    with pytest.raises(DataError, match="has no column 'z' for `target`.* it has the columns 'x', 'y'"):
        load(written(x=[1, 2, 3], y=[1, 0, 1]), target="z", stream=True)
    with pytest.raises(DataError, match="has no column 'z' for `drop`"):
        load(written(x=[1, 2, 3], y=[1, 0, 1]), drop="z", stream=True)
    with pytest.raises(DataError, match="the target 'y' is missing in 3 of 3 rows: at least 2 rows must have it"):
        load(written(x=[1, 2, 3], y=[None, "", "NA"]), stream=True)
    with pytest.raises(DataError, match="column 'x' holds infinity in row 2"):
        load(written(x=[1.0, float("inf"), 3.0], y=[1, 0, 1]), stream=True)
    with pytest.raises(DataError, match="has 4 rows, too few to split 4:1:1 by chance"):
        load(written(x=[1.5, 2.0, 3.0, 4.0], y=[1, 0, 1, 0]), stream=True).split()
    monkeypatch.setattr(large, "SAMPLE", 64)
    monkeypatch.setattr(large, "LEVELS", 5)
    names = ["a"] * 1000 + [f"b{n}" for n in range(20)]
    with pytest.raises(DataError, match="column 'c' has 21 different values, more than 5 categories can be"):
        load(written(x=range(1020), c=names, y=[0, 1] * 510), stream=True, keep="c")
    rare = [None] * 998 + ["a", "b"]
    with pytest.raises(DataError, match="hardly any of 64 rows that were looked at has the target 'y'"):
        load(written(x=range(1000), y=rare), stream=True)


def test_cross_validation_and_a_generator_are_refused(path):
    streamed = load(path, stream=True)
    with pytest.raises(DataError, match="cross-validation needs all rows at once"):
        folds(streamed, 3)
    with pytest.raises(DataError, match="is split by a whole number: give it as `seed`"):
        streamed.split(torch.Generator())


def test_other_rows_since_the_split_are_noticed(path):
    part = load(path, stream=True).split().train
    assert isinstance(part, LargePart)
    part.counts[2] += 1
    with pytest.raises(DataError, match="changed since it was split: split it again"):
        part.read(2)
