"""Lines with a checksum: damage is noticed in its line, and what a crash cut short is not in the way."""

import json

import pytest

from lamina._errors import RunError
from lamina.training.lines import append_lines, as_line, complete, read_line, read_lines

ROW = {"epoch": 3, "loss": 0.125, "name": "größer"}


def test_a_line_is_json_and_comes_back():
    line = as_line(ROW)
    assert json.loads(line) == ROW | {"crc": json.loads(line)["crc"]} and line.endswith("\n")
    assert read_line(line.encode()) == ROW
    assert read_line(json.dumps(ROW).encode()) == ROW  # as Lamina 0.1 wrote it
    assert read_line(as_line({"x": float("nan"), "y": [float("inf")]}).encode()) == {"x": None, "y": [None]}


@pytest.mark.parametrize("change", [1, 0x20, 0x80])
def test_every_changed_byte_is_noticed_or_leaves_the_content_whole(change):
    line = as_line(ROW).encode()
    for place in range(len(line)):
        damaged = bytearray(line)
        damaged[place] ^= change
        found = read_line(bytes(damaged))
        # Where the name of the checksum itself is hit, what it was a checksum of is whole.
        assert found is None or {name: found[name] for name in ROW} == ROW, (place, bytes(damaged))


def test_the_line_is_named_and_an_end_that_is_missing_is_passed_over(tmp_path):
    content = as_line(ROW) + as_line(ROW).replace("0.125", "0.126") + as_line(ROW)
    with pytest.raises(RunError, match="h.jsonl is damaged in line 2: resume the run."):
        read_lines(content.encode(), tmp_path / "h.jsonl", "resume the run")
    assert read_lines(as_line(ROW).encode() + b'{"ep', tmp_path / "h.jsonl", "") == [ROW]
    assert [*complete(b"a\n\nb")] == [b"a", b""]


def test_appending_cuts_off_what_a_crash_left(tmp_path):
    path = tmp_path / "h.jsonl"
    append_lines(path, [ROW, {"epoch": 4}])
    with open(path, "ab") as file:
        file.write(b'{"epoch": 5, "lo')
    append_lines(path, [{"epoch": 5}])
    assert read_lines(path.read_bytes(), path, "") == [ROW, {"epoch": 4}, {"epoch": 5}]
    path.write_bytes(b'{"epo')
    append_lines(path, [ROW])
    assert path.read_text(encoding="utf-8") == as_line(ROW)
