"""Uploads become data, or one sentence says why not."""

import pytest

from lamina._errors import DataError
from lamina.pages import kit
from uploads import File


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
