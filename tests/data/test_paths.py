import os
from pathlib import Path

import pytest

from lamina._errors import DataError
from lamina.data.paths import no_odd_name, no_pipe, shown


def test_what_is_named_in_messages():
    assert shown(Path("a") / "b.csv") == "`a/b.csv`" and shown(b"1,2") == "standard input" and shown({}) == "the table"


@pytest.mark.posix
def test_a_pipe_with_a_name_is_refused_and_a_file_is_not(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="pipe.csv` is a pipe, which may never end: write its content into a file"):
        no_pipe(tmp_path / "pipe.csv")
    (tmp_path / "rows.csv").touch()
    no_pipe(tmp_path / "rows.csv")


@pytest.mark.posix
def test_a_device_that_never_ends_is_refused_also_behind_a_link(tmp_path):
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for path in ("/dev/zero", "/dev/urandom", tmp_path / "zero.csv"):
        with pytest.raises(
            DataError, match="is a device, which may never end: write its content into a file, and give"
        ):
            no_pipe(path)
    no_pipe(os.devnull)


def test_names_that_no_run_can_write_down():
    with pytest.raises(DataError, match=r"a path has no zero bytes, got 'a\\x00b.csv': correct it"):
        no_odd_name("a\0b.csv")
    with pytest.raises(
        DataError, match=r"'t\\udce4.csv' is not UTF-8, as records of runs are: rename the file or folder"
    ):
        no_odd_name(Path("t\udce4.csv"))
    no_odd_name("größe.csv")
