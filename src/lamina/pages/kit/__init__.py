"""All that a page needs besides marimo and the library: `from lamina.pages import kit`."""

from lamina.pages.kit._blocks import (
    button,
    card,
    column,
    controls,
    dropdown,
    facts,
    formula,
    lab,
    note,
    panel,
    picture,
    progress,
    prose,
    question,
    row,
    section,
    shown,
    slider,
    source,
    steps,
    svg,
    table,
)
from lamina.pages.kit._charts import chart, plot
from lamina.pages.kit._experiments import experiment_button, measured, outcome, waiting
from lamina.pages.kit._hands import grip, matrix_hands, window_hands
from lamina.pages.kit._jobs import Job, train
from lamina.pages.kit._pad import digit_pad, strokes
from lamina.pages.kit._play import play, walk
from lamina.pages.kit._recorded import recorded, recorded_result
from lamina.pages.kit._uploads import read_picture, read_table

__all__ = [
    "Job",
    "button",
    "card",
    "chart",
    "column",
    "controls",
    "digit_pad",
    "dropdown",
    "experiment_button",
    "facts",
    "formula",
    "grip",
    "lab",
    "matrix_hands",
    "measured",
    "note",
    "outcome",
    "panel",
    "picture",
    "play",
    "plot",
    "progress",
    "prose",
    "question",
    "read_picture",
    "read_table",
    "recorded",
    "recorded_result",
    "row",
    "section",
    "shown",
    "slider",
    "source",
    "steps",
    "strokes",
    "svg",
    "table",
    "train",
    "waiting",
    "walk",
    "window_hands",
]
