"""Parquet files are found, read some rows at a time, and refused in sentences."""

import os

import polars as pl
import pytest

from lamina._errors import DataError
from lamina.data.parquet import Parquet, parquet_files


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "rows"
    home.mkdir()
    for number in range(3):
        frame = pl.DataFrame({"x": range(10 * number, 10 * number + 10), "y": ["a"] * 10})
        frame.write_parquet(home / f"part-{number}.parquet", row_group_size=4)
    return home


def test_files_of_a_folder_and_of_a_pattern(folder):
    names = [f"part-{number}.parquet" for number in range(3)]
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("")
    assert [file.name for file in parquet_files(folder)] == names
    assert [file.name for file in parquet_files(f"{folder}/part-[12].parquet")] == names[1:]
    assert parquet_files(folder / "part-1.parquet") == [folder / "part-1.parquet"]
    assert parquet_files(folder.parent) is None
    assert parquet_files(folder / "part-1.csv") is None and parquet_files(b"bytes") is None


def test_a_folder_of_hidden_files_alone_is_none(tmp_path):
    (tmp_path / "_part.parquet").touch()
    assert parquet_files(tmp_path) is None


def test_a_mixed_folder_and_an_empty_pattern_are_refused(folder):
    with pytest.raises(DataError, match="matches no file: check the pattern"):
        parquet_files(f"{folder}/other-*.parquet")
    (folder / "notes.txt").write_text("")
    with pytest.raises(DataError, match="holds Parquet files and others, such as `notes.txt`"):
        parquet_files(folder)


def test_blocks_give_every_row_once(folder):
    table = Parquet(folder)
    blocks = table.blocks(7)
    assert [(b.file, b.start, b.first, b.rows) for b in blocks[:3]] == [(0, 0, 0, 7), (0, 7, 7, 3), (1, 0, 10, 7)]
    assert pl.concat([table.read(block, ["x"]) for block in blocks])["x"].to_list() == list(range(30))
    assert table.whole()["x"].to_list() == list(range(30))
    assert len(table.sample(1000)) == 30


def test_a_sample_is_spread_over_the_table(tmp_path):
    pl.DataFrame({"x": range(10_000)}).write_parquet(tmp_path / "a.parquet")
    found = Parquet(tmp_path / "a.parquet").sample(640)["x"]
    assert len(found) == 640 and found[0] == 0 and found.max() > 9_900
    assert all(found.filter((found >= start) & (found < start + 1000)).len() > 40 for start in range(0, 10_000, 1000))


def test_values_are_counted_over_all_files(folder):
    assert Parquet(folder).counted("y").rows() == [("a", 30)]
    assert Parquet(folder).summary([pl.col("x").sum()]).item() == sum(range(30))


def test_damage_is_a_sentence(folder):
    whole = (folder / "part-1.parquet").read_bytes()
    for broken in (b"PAR1nothing", whole[:-20], b"", whole[:60] + bytes(40) + whole[100:]):
        (folder / "part-1.parquet").write_bytes(broken)
        with pytest.raises(
            DataError, match="part-1.parquet` is not a readable Parquet file( \\(.*\\))?: write it again"
        ):
            table = Parquet(folder)
            for block in table.blocks(10):
                table.read(block)


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="gone.parquet` does not exist: check the path"):
        Parquet(tmp_path / "gone.parquet")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, "lacks the column 'y' of"),
        ({"x": ["one"], "y": ["a"]}, "holds String in the column 'x', but .* holds Int64: write both"),
        ({"x": [1], "y": ["a"], "z": [1]}, "has the column 'z', which .* lacks"),
    ],
)
def test_other_columns_are_refused(folder, columns, message):
    pl.DataFrame(columns).write_parquet(folder / "part-9.parquet")
    with pytest.raises(DataError, match=message):
        Parquet(folder)


def test_whole_numbers_and_floats_go_together(folder):
    pl.DataFrame({"x": [0.5], "y": ["a"]}).write_parquet(folder / "part-9.parquet")
    assert Parquet(folder).whole()["x"][-1] == 0.5


def test_a_file_that_shrinks_is_noticed(folder):
    table = Parquet(folder)
    (block, *_) = table.blocks(10)
    pl.DataFrame({"x": [1], "y": ["a"]}).write_parquet(folder / "part-0.parquet")
    with pytest.raises(DataError, match="part-0.parquet` changed while it was in use: start again"):
        table.read(block)


def test_a_file_with_the_same_rows_is_another_one_all_the_same(folder):
    table = Parquet(folder)
    (block, *_) = table.blocks(10)
    assert table.read(block).height == block.rows
    os.utime(folder / "part-0.parquet", ns=(0, 0))
    with pytest.raises(DataError, match="part-0.parquet` changed while it was in use: start again"):
        table.read(block)
    (folder / "part-0.parquet").unlink()
    with pytest.raises(DataError, match="part-0.parquet` does not exist: check the path"):
        table.read(block)
