"""A visitor's data are stored, or one sentence says why not."""

from pathlib import Path

import pytest

from lamina._errors import DataError
from lamina.pages.chapters.tools.playground._own_data import columns, preview, store, without
from lamina.pages.kit._uploads import LARGEST
from uploads import File, packed, png, table


def test_a_table_is_stored_under_its_own_name(tmp_path):
    kept = store(File("../my table.csv", table().encode()), tmp_path)
    assert (kept.name, columns(kept)) == ("my table.csv", ("first", "second", "kind"))
    assert Path(kept.folder).parent == tmp_path and Path(kept.folder, kept.name).read_text() == table()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (File("a.exe", b""), r"a\.exe must end in \.csv, .*: choose another file"),
        (File("a.csv", b"x" * (LARGEST + 1)), "a.csv has 20 MB, but a page takes at most 20: use the command line"),
        (File("a.zip", b"no zip"), r"a\.zip cannot be unpacked: File is not a zip file; make the archive again"),
        (File("a.zip", packed({"x/readme.md": b""})), r"a\.zip holds no pictures"),
        (
            File("a.zip", packed({"x/cat/1.png": b""})),
            r"a\.zip has pictures in one folder only, 'cat': put those of each class",
        ),
        (File("a.zip", packed({"../evil/1.png": b"", "/b/1.png": b""})), r"a\.zip holds no pictures"),
    ],
)
def test_bad_uploads_are_refused_in_one_sentence(tmp_path, file, words):
    with pytest.raises(DataError, match=words):
        store(file, tmp_path)
    assert not list(tmp_path.rglob("*.png"))


def test_an_archive_with_too_much_inside_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("lamina.pages.chapters.tools.playground._own_data.UNPACKED", 10)
    with pytest.raises(
        DataError, match=r"a\.zip holds 2 files of 0 MB, but a page takes at most 20,000 of 0 MB: use the command"
    ):
        store(File("a.zip", packed({"a/1.png": png(0), "b/1.png": png(9)})), tmp_path)


def test_names_that_cannot_be_written_are_refused(tmp_path):
    long = "x" * 300
    with pytest.raises(DataError, match=r"a\.zip has names that this machine cannot write"):
        store(File("a.zip", packed({f"{long}/1.png": png(0), "b/1.png": png(9)})), tmp_path)


def test_an_empty_table_is_named_without_its_folder(tmp_path):
    kept = store(File("rows.csv", b""), tmp_path)
    with pytest.raises(DataError, match=r"^`rows\.csv` is empty"):
        columns(kept)


def test_a_sentence_loses_the_folder():
    assert without("/tmp/a/b.csv and /tmp/a", "/tmp/a") == "b.csv and ."


def test_an_upload_is_looked_at_before_anything_is_trained(tmp_path):
    seen = preview(store(File("rows.csv", b"a,b\n1,x\n2,\n"), tmp_path))
    assert (seen.about, seen.head, seen.rows) == ("2 rows, 2 columns", ("a", "b"), (("1", "x"), ("2", "–")))
    seen = preview(
        store(File("wave.csv", b"day,high\n" + b"".join(b"d%d,%d\n" % (i, i) for i in range(9))), tmp_path), "series"
    )
    assert seen.curves == (("high", tuple(map(float, range(9)))),) and len(seen.rows) == 6
    seen = preview(store(File("play.txt", b"To be, or not to be.\n" * 100), tmp_path), "language")
    assert (
        seen.about == "a running text of 2,100 characters"
        and seen.rows[0][0].startswith("To be, or not")
        and not seen.head
    )
    assert len(seen.rows[0][0]) == 500
    seen = preview(store(File("both.tsv", b"the sun\tdie Sonne\nthe dog\tder Hund\n"), tmp_path), "pairs")
    assert seen.about == "2 pairs of texts" and seen.rows[1] == ("the dog", "der Hund")
    files = {f"{name}/{i}.png": png() for name in ("cat", "dog") for i in range(9)}
    seen = preview(store(File("pets.zip", packed(files)), tmp_path))
    assert seen.about == "18 pictures in 2 classes: cat, dog"
    assert [name for name, _ in seen.pictures] == ["cat", "dog"] * 4, "all classes in turn"


def test_a_preview_names_no_folder_of_this_machine(tmp_path):
    kept = store(File("bad.csv", b"a,b\n1,2\n"), tmp_path)
    Path(kept.folder, kept.name).write_bytes(b"")
    with pytest.raises(DataError, match=r"^[^/]*bad\.csv") as caught:
        preview(kept)
    assert str(tmp_path) not in str(caught.value)
