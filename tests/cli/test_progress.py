"""Reading files: what is said while that takes long."""

import io
import sys

from lamina.cli._progress import Reading


def test_a_short_reading_says_nothing_and_a_long_one_how_far_it_is(monkeypatch):
    class Output(io.StringIO):
        live = False

        def isatty(self):
            return self.live

    clock, out = [100.0], Output()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr("lamina.cli._progress.time.monotonic", lambda: clock[0])
    tell = Reading()

    def read(*moments):
        for done, seconds in enumerate(moments, 1):
            clock[0] = 100 + seconds
            tell("reading", 1000 * done, 1000 * len(moments))

    read(0, 1, 1.9, 3)
    assert out.getvalue() == ""
    tell("looking", 1, 9)
    read(0, 2, 5, 13, 14)
    assert out.getvalue() == "reading: 2,000 of 5,000\nreading: 4,000 of 5,000\n"
    out.truncate(0)
    out.seek(0)
    out.live = True
    tell("looking", 1, 9)
    read(0, 2, 2.1, 2.3, 3)
    assert out.getvalue() == "\rreading: 2,000 of 5,000\rreading: 4,000 of 5,000" + "\r" + 23 * " " + "\r"
