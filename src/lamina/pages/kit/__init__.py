"""All that a page needs beside marimo and the library: `from lamina.pages import kit`."""

from lamina.pages.kit._blocks import (
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
from lamina.pages.kit._experiments import experiment, measured, outcome
from lamina.pages.kit._jobs import Job, train
from lamina.pages.kit._pad import digit_pad, strokes
from lamina.pages.kit._recorded import recorded, recorded_result
from lamina.pages.kit.uploads import read_picture, read_table

__all__ = [
    "Job",
    "card",
    "column",
    "digit_pad",
    "experiment",
    "facts",
    "formula",
    "measured",
    "note",
    "outcome",
    "panel",
    "picture",
    "progress",
    "prose",
    "question",
    "read_picture",
    "read_table",
    "recorded",
    "recorded_result",
    "row",
    "section",
    "slider",
    "source",
    "strokes",
    "svg",
    "table",
    "train",
]
