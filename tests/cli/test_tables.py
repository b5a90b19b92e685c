"""Tables: tab-separated in a pipe, drawn in a terminal."""

import io
import sys

from lamina.cli._tables import show


def test_a_pipe_gets_tabs_and_one_line_per_row(capsys):
    show(("name", "size"), [("a\nb", "1"), ("c", "22")], right=(1,))
    assert capsys.readouterr().out == "name\tsize\na b\t1\nc\t22\n"


def test_a_terminal_gets_aligned_columns(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    show(("name", "size"), [("[b]", "1"), ("c", "22")], right=(1,))
    rows = [line for line in sys.stdout.getvalue().splitlines() if line.strip()][2:]
    assert [row.split() for row in rows] == [["[b]", "1"], ["c", "22"]]  # no markup, words stay as they are
    assert len({len(row.rstrip()) for row in rows}) == 1  # numbers end at the same place
