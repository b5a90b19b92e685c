"""What both tools show: durations by hand, and commands that cannot be injected into."""

import pytest

from lamina.pages.chapters.tools._shared import command, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "unknown"),
        (0.999, "less than a second"),
        (1.0, "1 s"),
        (119.4, "119 s"),
        (120.0, "2 min"),
        (4000, "67 min"),
    ],
)
def test_durations_are_said_in_seconds_and_then_in_minutes(seconds, words):
    assert duration(seconds) == words


def test_a_command_is_escaped():
    text = command("lamina train fnn --data '<b>.csv'").text
    assert "lamina train fnn --data &#x27;&lt;b&gt;.csv&#x27;" in text and "<b>" not in text
