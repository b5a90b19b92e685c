import os
from pathlib import Path

import pytest

from lamina._errors import DataError
from lamina.data.paths import no_pipe, shown


def test_what_is_named_in_messages():
    assert shown(Path("a") / "b.csv") == "`a/b.csv`" and shown(b"1,2") == "standard input" and shown({}) == "the table"


@pytest.mark.posix
def test_a_pipe_with_a_name_is_refused_and_a_file_is_not(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="pipe.csv` is a pipe, which may never end: write its content into a file"):
        no_pipe(tmp_path / "pipe.csv")
    (tmp_path / "rows.csv").touch()
    no_pipe(tmp_path / "rows.csv")
