"""An archive of pictures is read, or one sentence says why not."""

import pytest

from lamina._errors import DataError
from lamina.pages.chapters.ch4.transfer import _own_pictures as own_pictures
from lamina.pages.chapters.ch4.transfer._own_pictures import read_archive
from uploads import packed, png


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a/1.png": png()}, "1 folders with pictures, but at least 2"),
        ({f"{k}/{i}.png": png() for k in "ab" for i in range(3)}, "3 pictures in a, but at least 4"),
        ({f"{k}/{i}.png": b"no picture" for k in "ab" for i in range(4)}, "the class 'a' can be read: 4 of no known"),
    ],
)
def test_bad_archives_are_refused(files, words):
    with pytest.raises(DataError, match=words):
        read_archive(packed(files))


def test_large_and_foreign_files_are_refused(monkeypatch):
    with pytest.raises(DataError, match=r"not a \.zip file"):
        read_archive(b"text")
    files = packed({f"{k}/{i}.png": png(i) for k in "ab" for i in range(4)})
    for name, value, words in (
        ("LARGEST", 10, "a page takes"),
        ("MOST", 7, "8 pictures, but a page takes at most 7"),
        ("UNPACKED", 1, "unpacked"),
    ):
        with monkeypatch.context() as changed, pytest.raises(DataError, match=words):
            changed.setattr(own_pictures, name, value)
            read_archive(files)


def test_archive_cannot_write_elsewhere():
    evil = {f"../../{k}/{i}.png": png(i) for k in ("up", "down") for i in range(4)} | {"__MACOSX/up/x.png": png()}
    data = read_archive(packed(evil))
    assert data.spec.classes == ("down", "up") and len(data) == 8
