"""All that a page needs beside marimo and the library: `from lamina.pages import kit`."""

from lamina.pages.blocks import (
    card,
    column,
    facts,
    formula,
    note,
    panel,
    picture,
    progress,
    prose,
    question,
    row,
    section,
    slider,
    source,
    svg,
    table,
)
from lamina.pages.jobs import Job, train
from lamina.pages.pad import digit_pad, strokes
from lamina.pages.uploads import read_picture, read_table

__all__ = [
    "Job",
    "card",
    "column",
    "digit_pad",
    "facts",
    "formula",
    "note",
    "panel",
    "picture",
    "progress",
    "prose",
    "question",
    "read_picture",
    "read_table",
    "row",
    "section",
    "slider",
    "source",
    "strokes",
    "svg",
    "table",
    "train",
]
