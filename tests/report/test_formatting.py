"""Numbers and names as they are shown."""

import math

import pytest

from lamina.report._formatting import base_name, duration, finite, number, percent, plain, printable, scrub, shape


def test_no_value_is_a_dash():
    assert [number(None), number(math.nan), number(math.inf), percent(None), plain(None)] == ["–"] * 5
    assert finite(math.nan) is None and finite(True) == 1.0


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.99949, "99.9%"), (0.9996, "99.96%"), (0.0004, "0.04%"), (0.0, "0%"), (1, "100%"), (0.5, "50.0%")],
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert percent(share) == text


def test_large_and_small_numbers():
    assert [number(1234567.8), number(-20000.0), number(1e12), number(9999.4)] == [
        "1,234,568",
        "-20,000",
        "1e+12",
        "9999",
    ]
    assert number(1.0, padded=True) == "1.000"


def test_time_spans_round_up_to_the_next_unit():
    assert duration(3599.7) == "1 h 0 min" and duration(59.94) == "59.9 s"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/home/ada/my photos", "my photos"),
        ("/", "data"),
        ("C:/Users/ada/x.csv", "x.csv"),
        (r"\\server\share\x.csv", "x.csv"),
        ("../x.csv", "../x.csv"),
        ("mnist", "mnist"),
    ],
)
def test_folders_of_the_machine_are_not_shown(source, name):
    assert base_name(source) == name


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("read from /home/ada/x.csv.", "read from x.csv."),
        (r"read from C:\Users\ada\x.csv", "read from x.csv"),
        ("‖θ⁺ − θ‖/‖θ‖ fell, 1/2/3 and/or data/photos", "‖θ⁺ − θ‖/‖θ‖ fell, 1/2/3 and/or data/photos"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("in '/tmp/run 1/'", "in 'run 1/'"),
        ("in /tmp/runs/ now", "in … now"),
    ],
)
def test_sentences_lose_absolute_paths(text, clean):
    assert scrub(text) == clean


def test_characters_that_no_file_may_hold_are_replaced():
    assert printable("a\ud800\x07\x7fb\tc\nd") == "a���b\tc\nd"
    printable("\udfff").encode()


def test_ordinary_cases():
    assert (finite(None), finite(math.inf), finite(2)) == (None, None, 2.0)
    assert [number(n) for n in (61706, 0.56676, 12345.67, 3.2e-7)] == ["61,706", "0.5668", "12,346", "3.2e-07"]
    assert (number(0.5), number(0.5, padded=True)) == ("0.5", "0.5000")
    assert [percent(share) for share in (0.8729, 1.0, 0.9999)] == ["87.3%", "100%", "99.99%"]
    assert [duration(s) for s in (0.01, 3.21, 75, 7265)] == ["under 0.1 s", "3.2 s", "1 min 15 s", "2 h 1 min"]
    assert (shape([6, 1, 5, 5]), shape([])) == ("6×1×5×5", "one number")
    assert [plain(value) for value in (True, [3, 2], 1e-8)] == ["yes", "3, 2", "1e-08"]
    assert base_name("/home/ada/photos/") == "photos" and base_name("data/photos") == "data/photos"
    sentence = "/my disk/photos: 40 training examples; see /tmp/a/b.txt"
    assert scrub(sentence, "/my disk/photos") == "photos: 40 training examples; see b.txt"
