"""Uploads become data, or one sentence says why not."""

import pytest

from lamina._errors import DataError
from lamina.pages import kit
from uploads import File, png


def test_an_uploaded_table_becomes_a_data_set():
    rows = "\n".join(f"{i},{i % 3},{'ab'[i % 2]}" for i in range(40))
    data = kit.read_table(File("mine.csv", f"u,v,label\n{rows}\n".encode()), target="label")
    assert len(data) == 40 and data.spec.task == "classification"


@pytest.mark.parametrize(
    ("name", "contents", "words"),
    [
        ("mine.exe", b"", r"mine\.exe must end in \.csv"),
        ("mine.csv", b"x" * 20_000_001, r"mine\.csv has 20 MB, but a page takes at most 20: use  lamina train"),
        ("mine.csv", b"", r"mine\.csv"),
    ],
)
def test_bad_tables_are_refused_without_paths(name, contents, words):
    with pytest.raises(DataError, match=words) as said:
        kit.read_table(File(name, contents), target="label")
    assert "/tmp" not in str(said.value)


def test_bad_pictures_are_refused():
    with pytest.raises(DataError, match=r"mine\.png cannot be read as a picture"):
        kit.read_picture(File("mine.png", b"no"))
    with pytest.raises(DataError, match=r"mine\.txt must end in \.png"):
        kit.read_picture(File("mine.txt", b"no"))


def test_a_picture_becomes_gray_values():
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (3, 2), (255, 255, 255)).save(file, "PNG")
    pixels = kit.read_picture(File("mine.png", file.getvalue()))
    assert pixels.tolist() == [[1.0] * 3] * 2


def test_tables_have_bounds_on_rows_columns_and_cells():
    wide = ",".join(f"c{i}" for i in range(2001)) + "\n" + "1," * 2000 + "1\n"
    long = "a\n" + "1\n" * 500_001
    large = ",".join("abcdefghijk") + "\n" + (",".join("1" * 11) + "\n") * 460_000
    for text, words in (
        (wide, r"mine\.csv has 2,001 columns, but a page takes at most 2,000: use  lamina train"),
        (long, r"mine\.csv has 500,002 rows, but a page takes at most 500,000"),
        (large, r"mine\.csv has 5,060,011 cells, but a page takes at most 5,000,000"),
    ):
        with pytest.raises(DataError, match=words):
            kit.read_table(File("mine.csv", text.encode()))


def test_a_parquet_file_is_judged_by_what_it_says_of_itself():
    import io

    import polars as pl

    file = io.BytesIO()
    pl.select(pl.repeat(1, 2_000_000).alias("a")).write_parquet(file)
    assert len(file.getvalue()) < 100_000
    with pytest.raises(DataError, match=r"mine\.parquet has 2,000,000 rows, but a page takes at most 500,000"):
        kit.read_table(File("mine.parquet", file.getvalue()))
    with pytest.raises(DataError, match=r"mine\.parquet"):
        kit.read_table(File("mine.parquet", b"PAR1 damaged PAR1"))


def test_pictures_have_bounds_on_pixels(monkeypatch):
    from lamina.pages.kit import _uploads as uploads

    monkeypatch.setattr(uploads, "PIXELS", 100)
    with pytest.raises(DataError, match=r"big\.png has 11 x 10 pixels, but a page takes at most 100: make it smaller"):
        kit.read_picture(File("big.png", png(size=(11, 10))))
    with pytest.raises(DataError, match=r"all\.zip has a picture of more than 100 pixels: make it smaller"):
        uploads.bounded_pictures("all.zip", [png(size=(11, 10))])
    monkeypatch.setattr(uploads, "ALL_PIXELS", 150)
    uploads.bounded_pictures("all.zip", [png(size=(10, 10)), b"no picture"])
    with pytest.raises(DataError, match=r"all\.zip has pictures of more than 150 pixels: take fewer or smaller ones"):
        uploads.bounded_pictures("all.zip", [png(size=(10, 10))] * 2)


def test_a_very_large_picture_is_made_smaller():
    assert kit.read_picture(File("wide.png", png(size=(4096, 8)))).shape == (4, 2048)
