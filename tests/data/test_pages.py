"""What a Parquet file says of itself is believed when it is whole, and contradictions are named."""

import datetime
import io
from decimal import Decimal
from functools import partial

import polars as pl
import pytest

from lamina.data._pages import DamagedError, Pages

pytestmark = pytest.mark.faults("damaged bytes")
ROWS = 300
FRAME = pl.DataFrame(
    {
        "number": range(ROWS),
        "gaps": [None if i % 3 else 0.5 * i for i in range(ROWS)],
        "word": [f"{i % 7} words" * (i % 5) for i in range(ROWS)],
        "kind": pl.Series([("red", "blue")[i % 2] for i in range(ROWS)], dtype=pl.Categorical),
        "yes": [i % 2 == 0 for i in range(ROWS)],
        "none": pl.Series([None] * ROWS, dtype=pl.Int8),
        "day": [datetime.date(2024, 1, 1 + i % 28) for i in range(ROWS)],
        "at": [datetime.datetime(2024, 1, 1, i % 24) for i in range(ROWS)],
        "price": [Decimal(i) / 4 for i in range(ROWS)],
        "bytes": [bytes([i % 256]) * (i % 4) for i in range(ROWS)],
        "list": [list(range(i % 4)) for i in range(ROWS)],
        "both": [{"a": i, "b": [{"c": str(i)}] * (i % 3)} for i in range(ROWS)],
        "same": ["a long text that is always the same"] * ROWS,
    }
)


def written(frame=FRAME, **options):
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file.getvalue()


def pages(content):
    return Pages(partial(io.BytesIO, content))


@pytest.mark.parametrize(
    "options", [{}, {"row_group_size": 70}, {"data_page_size": 64}, {"statistics": "full"}], ids=str
)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_whole_files_agree_with_themselves(compression, options):
    found = pages(written(compression=compression, **options))
    found.check()
    size = options.get("row_group_size", ROWS)
    assert [(group.first, group.rows) for group in found.groups][:2] == [(0, size), (size, size)][: -(-ROWS // size)]
    assert list(dict.fromkeys(chunk.column for chunk in found.groups[0].chunks)) == FRAME.columns


@pytest.mark.parametrize("frame", [FRAME[:0], pl.DataFrame(), FRAME[:1]], ids=["no rows", "nothing", "one row"])
def test_small_files_agree_with_themselves(frame):
    found = pages(written(frame))
    found.check()
    assert sum(group.rows for group in found.groups) == frame.height


def test_pages_of_rows_and_columns_that_are_not_read_are_not_looked_at():
    content = bytearray(written(FRAME[["number", "word"]], row_group_size=100, compression="snappy"))
    damaged = pages(bytes(content)).groups[1].chunks[0]
    content[damaged.start : damaged.end] = bytes(damaged.end - damaged.start)
    found = pages(bytes(content))
    found.check(0, 100)
    found.check(200, 100)
    found.check(columns=["word"])
    for first, rows in ((0, None), (100, 1), (99, 2)):
        with pytest.raises(DamagedError, match="a number is missing"):
            found.check(first, rows, ["number"])


def test_contradictions_are_named():
    whole = written(FRAME[["number"]], compression="snappy")
    for content, words in (
        (b"", "does not begin and end as such a file"),
        (whole[:-1], "does not begin and end as such a file"),
        (whole[:-8] + (2**31).to_bytes(4, "little") + b"PAR1", "its footer is cut"),
        (whole[:-8] + (9).to_bytes(4, "little") + b"PAR1", "ends in the middle|is missing|holds what no such file"),
    ):
        with pytest.raises(DamagedError, match=words):
            pages(content)
    chunk = pages(whole).groups[0].chunks[0]
    with pytest.raises(DamagedError, match="it holds what no such file holds"):
        pages(whole[: chunk.start] + b"\xff" * 20 + whole[chunk.start + 20 :]).check()


NUMBER = {2400: b"\x15\xc0\x25", 300: b"\x15\xd8\x04", 8191: b"\x15\xfe\x7f", -1: b"\x15\x81\x00"}
"""How a header writes a number."""


@pytest.mark.parametrize(
    ("compression", "place", "old", "new", "words"),
    [
        ("snappy", 0, 2400, 8191, "a page unpacks to another size"),
        ("zstd", 0, 2400, 8191, "a page unpacks to another size"),
        ("gzip", 0, 2400, 8191, "a page unpacks to another size"),
        ("uncompressed", 0, 2400, 8191, "a page that is not compressed has two sizes"),
        ("snappy", 0, 2400, -1, "a page reaches beyond its column"),
        ("snappy", 1, 300, 8191, "its pages hold another number of values"),
        ("snappy", 1, 300, -1, "a page counts wrongly"),
    ],
)
def test_a_header_that_lies_is_refused(compression, place, old, new, words):
    parts = written(FRAME[["number"]], compression=compression, statistics=False).split(NUMBER[old])
    changed = NUMBER[old].join(parts[: place + 1]) + NUMBER[new] + NUMBER[old].join(parts[place + 1 :])
    with pytest.raises(DamagedError, match=words):
        pages(changed).check()
