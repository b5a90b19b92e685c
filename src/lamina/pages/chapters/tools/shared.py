"""What the tools show: curves and answers of a run, its command and report, and a grid of networks as cells."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lamina.drawing.charts import Series, chart
from lamina.drawing.heat_map import ramp_color
from lamina.drawing.scene import Path, Picture, Point, Rectangle, Scene, Shape, Stroke, Text
from lamina.report.markup import Markup, tag

if TYPE_CHECKING:
    from marimo import Html

SCORES = {"accuracy": "accuracy", "mse": "squared error", "token_accuracy": "words right"}
LOW, HIGH = 0.9, 0.01
"""Shares of mistakes that have the lightest and the darkest color."""
TICKS = (0.1, 0.5, 0.8, 0.9, 0.95, 0.97, 0.99)
_DARK_FROM = 0.45


def _html(markup: Markup) -> "Html":
    import marimo as mo

    return mo.Html(str(markup))


def command(text: str) -> "Html":
    """Show a command line; it is escaped, since a visitor may have named columns and files."""
    style = "margin:0;padding:10px 14px;overflow-x:auto;font-size:.86rem;white-space:pre"
    shown = tag("pre", tag("code", text), style=style, tabindex="0", aria_label="The command")
    return _html(tag("div", shown, class_="lamina-card", style="padding:0"))


def links(name: str, packed: bool) -> "Html":
    """Link to the report of a run, and to the run as an archive."""
    look = {"style": "color:var(--p-link);text-decoration:underline"}
    report = tag("a", "Open the report of this run", href=f"/runs/{name}", target="_blank", rel="noopener", **look)
    archive = tag("a", "Take the run with you (zip)", href=f"/runs/{name}/run.zip", download=True, **look)
    return _html(tag("p", report, (" · ", archive) if packed else None, class_="lamina-note good"))


def curves(row: dict[str, Any]) -> tuple[Scene, Scene]:
    """Draw loss and score over the epochs.

    >>> row = {"epochs": 3, "score": "accuracy", "history": [(1, 0.7, 0.6, 0.5, 0.6), (2, 0.5, 0.4, 0.7, 0.8)]}
    >>> [scene.title for scene in curves(row)]
    ['loss', 'accuracy']
    """
    history, score = row["history"], SCORES.get(row["score"], row["score"].replace("_", " "))
    epochs = [float(each[0]) for each in history] or [0.0]

    def over(title: str, place: int, fixed: tuple[float, float] | None) -> Scene:
        columns = [[each[place + i] for each in history] or [None] for i in (0, 1)]
        known = [value for column in columns for value in column if value is not None and value > 0]
        lines = [
            Series("training", epochs, columns[0], "line1"),
            Series("validation", epochs, columns[1], "line5", "dashed"),
        ]
        # One number is a point, of which no line can be drawn.
        points = [
            Series("", epochs, columns[i], color) for i, color in enumerate(("line1", "line5")) if len(history) < 2
        ]
        return chart(
            lines, points, title=title, x_label="epoch", x_range=(0, max(1.0, float(row["epochs"]))),
            y_range=fixed or ((1e-3, 1.0) if not known else None), log_y=fixed is None, width=400, height=230,
        )  # fmt: skip

    share = "accuracy" in row["score"] or not row["score"]
    return over("loss", 1, None), over(score or "score", 3, (0.0, 1.0) if share else None)


def answers(examples: Sequence[dict[str, Any]]) -> "Html":
    """Show what a network says about a few examples, as pictures or as a table."""
    from lamina.pages.kit import _blocks as blocks

    if any("picture" in each for each in examples):
        cards = [
            tag(
                "figure",
                tag("img", src=each["picture"], alt=each["truth"], class_="lamina-pixels", style="height:72px"),
                tag("figcaption", _said(each)),
                style="margin:0;min-width:0;overflow-wrap:anywhere",
            )
            for each in examples
        ]  # fmt: skip
        style = "grid-template-columns:repeat(auto-fill,minmax(110px,1fr))"
        return _html(tag("div", cards, class_="lamina-row", style=style))
    names = [*examples[0]["values"]][:6]
    shown = [
        (each["answer"] + (f" ({each['sure']:.0%})" if "sure" in each else ""), each["truth"],
         *("–" if (value := each["values"].get(name)) is None else value for name in names))
        for each in examples
    ]  # fmt: skip
    return blocks.table(("network says", "truth", *names), shown)


def _said(each: dict[str, Any]) -> Markup:
    """Say answer and truth below a picture."""
    sure = f", {each['sure']:.0%}" if "sure" in each else ""
    if each["answer"] == each["truth"]:
        return tag("span", f"✓ {each['answer']}{sure}")
    return tag("span", f"✗ {each['answer']}{sure}; it is {each['truth']}")


def run_blocks(job: Any, row: dict[str, Any]) -> "list[Html]":
    """Show where a run of the playground stands.

    Args:
        job: the work, with its `state` and `words`.
        row: what it told last; its `stage` is idle before the first word.
    """
    from lamina.pages.kit import _blocks as blocks

    stage = row["stage"]
    if job.state == "failed":
        return [blocks.note(job.words, "bad")]
    if stage == "idle":
        words = "Switch it on, and the curves appear here." if job.state == "idle" else f"{job.words} …"
        return [blocks.note(words)]
    if stage == "reading":
        return [blocks.progress(0.0, "reading the data …")]
    if stage == "refused":
        return [blocks.note(row["sentence"], "bad")]
    said = tag(
        "ul", [tag("li", words) for words in (*row["about"], *row["notes"])], style="margin:0;padding-left:1.1em"
    )
    return [*_progress(job, row), *_ended(row), blocks.card("What was read and chosen", said)]


def _progress(job: Any, row: dict[str, Any]) -> "list[Html]":
    from lamina.pages.kit import _blocks as blocks

    words = {"judging": "judging on the test part …", "done": "done", "failed": "ended"}.get(row["stage"])
    if words is None:
        going = f"epoch {row['epoch']} of {row['epochs']}, {duration(row['left'])} left"
        words = going if job.state == "running" else job.words
    last = row["history"][-1] if row["history"] else (0, None, None, None, None)
    shown = ["–" if number is None else number for number in last]
    said = f"epoch {last[0]}" + ("" if last[2] is None else f", validation loss {last[2]:.4g}")
    facts = {
        "epoch": f"{last[0]} of {row['epochs']}",
        "training_loss": shown[1],
        "validation_loss": shown[2],
        f"validation_{SCORES.get(row['score'], row['score']) or 'score'}": shown[4],
        "parameters": f"{row['parameters']:,}",
        "updates_a_second": "–" if row["rate"] is None else f"{row['rate']:,.0f}",
    }
    loss, score = curves(row)
    drawn = blocks.row(
        blocks.svg(loss, f"Loss over the epochs: {said}", width=640),
        blocks.svg(score, f"Score over the epochs: {said}", width=640),
        least=300,
    )
    return [blocks.progress(row["step"] / max(1, row["steps"]), words), blocks.facts(**facts), drawn]


def _ended(row: dict[str, Any]) -> "list[Html]":
    from lamina.pages.kit import _blocks as blocks

    if row["stage"] == "failed":
        return [blocks.note(row["sentence"], "bad"), links(row["run"], False)]
    if row["stage"] != "done":
        return []
    result = blocks.card(
        f"Test part: {row['tested']:,} examples, opened once",
        blocks.facts(**{f"test_{name}": value for name, value in row["metrics"].items()}),
        blocks.note(f"The run ended: {row['sentence']}."),
        links(row["run"], row["packed"]),
    )
    return [result, blocks.card("What the network says about a few validation examples", answers(row["examples"]))]


def duration(seconds: float | None) -> str:
    """Say how long something takes.

    >>> duration(None), duration(0.4), duration(75), duration(4000)
    ('unknown', 'less than a second', '75 s', '67 min')
    """
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def shade(accuracy: float) -> float:
    """Turn an accuracy into a share of the color ramp: evenly in the logarithm of the mistakes.

    >>> shade(0.1), shade(1.0), round(shade(0.9), 3)
    (0.0, 1.0, 0.488)
    """
    mistakes = min(LOW, max(HIGH, 1 - accuracy))
    return 1 - math.log(mistakes / HIGH) / math.log(LOW / HIGH)


def _hex(share: float) -> str:
    return "#{:02x}{:02x}{:02x}".format(*ramp_color(share))


def cell_map(
    values: Sequence[Sequence[float | None]],
    across: Sequence[str],
    up: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    best: tuple[int, int] | None = None,
    tried: Sequence[tuple[int, int]] = (),
    moves: Sequence[tuple[int, int]] = (),
    width: float = 430.0,
    height: float = 360.0,
) -> Scene:
    """Draw one cell for each network, dark where it makes few mistakes.

    Args:
        values: accuracies, rows from bottom to top; None before the first check, NaN where training diverged.
        across: the names of the columns, or of equal groups of columns.
        up: the names of the rows, or of equal groups of rows, from bottom to top.
        x_label: what the columns are.
        y_label: what the rows are.
        best: row and column of the best network.
        tried: cells that another search has tried.
        moves: the cells that it took one after the other.
        width: of the scene.
        height: of the scene.

    >>> cell_map([[0.5, None], [0.9, float("nan")]], ["a", "b"], ["c", "d"], x_label="x", y_label="y").width
    430.0
    """
    rows, columns = len(values), len(values[0])
    left, top, right, bottom = 62.0, 12.0, width - 10.0, height - 84.0
    wide, tall = (right - left) / columns, (bottom - top) / rows

    def corner(row: int, column: int) -> Point:
        return left + column * wide, bottom - (row + 1) * tall

    def spot(row: int, column: int) -> Point:  # below the number
        x, y = corner(row, column)
        return x + 0.84 * wide, y + 0.8 * tall

    small = wide < 24 or tall < 12
    shapes = (
        _pixels(values, (left, top), (right - left, bottom - top)) if small else _boxes(values, corner, (wide, tall))
    )
    for i, name in enumerate(across):
        place = left + (i + 0.5) * (right - left) / len(across)
        shapes.append(Text((place, bottom + 11), name, 10.0, "muted", anchor="middle"))
    for i, name in enumerate(up):
        place = bottom - (i + 0.5) * (bottom - top) / len(up)
        shapes.append(Text((left - 6, place), name, 10.0, "muted", anchor="end"))
    shapes.append(Text(((left + right) / 2, bottom + 28), x_label, 12.0, anchor="middle"))
    shapes.append(Text((11, (top + bottom) / 2), y_label, 12.0, anchor="middle", angle=90.0))
    for cell in tried:
        x, y = corner(*cell)
        box = (x + 2.5, y + 2.5), (wide - 5, tall - 5)
        shapes.append(Rectangle(*box, None, Stroke("line2", 1.6, (4, 2)), 2.0) if not small
                      else Rectangle((x, y), (wide, tall), None, Stroke("line2", 1.2)))  # fmt: skip
    if len(moves) > 1:
        shapes.append(Path(tuple(spot(*cell) for cell in moves), Stroke("line2", 2.4), arrow="end"))
    if best is not None:
        x, y = corner(*best)
        shapes.append(Rectangle((x - 1, y - 1), (wide + 2, tall + 2), None, Stroke("accent", 3.0), 3.0))
    shapes += _legend(left, right, bottom + 46)
    return Scene(width, height, tuple(shapes), "validation accuracy of each network")


def _boxes(values: Sequence[Sequence[float | None]], corner: Any, size: Point) -> list[Shape]:
    shapes: list[Shape] = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            x, y = corner(i, j)
            box, place = (x + 1, y + 1), (x + size[0] / 2, y + size[1] / 2)
            if value is None or math.isnan(value):
                shapes.append(Rectangle(box, (size[0] - 2, size[1] - 2), "grid", None, 3.0, 0.5))
                words, color = ("", "muted") if value is None else ("×", "line2")
            else:
                share = shade(value)
                shapes.append(Rectangle(box, (size[0] - 2, size[1] - 2), _hex(share), None, 3.0))
                words, color = f"{100 * value:.1f}", "#ffffff" if share > _DARK_FROM else "#1b1f24"
            if words:
                shapes.append(Text(place, words, 10.0, color, anchor="middle"))
    return shapes


def _pixels(values: Sequence[Sequence[float | None]], corner: Point, size: Point) -> list[Shape]:
    gray = (150, 150, 150)
    rows = [[gray if v is None or math.isnan(v) else ramp_color(shade(v)) for v in row] for row in reversed(values)]
    return [Picture(corner, size, rows)]


def _legend(left: float, right: float, y: float) -> list[Shape]:
    """Draw what the colors mean."""
    start = left + 112
    shapes: list[Shape] = [
        Text((left, y + 5), "validation accuracy", 10.0, "muted"),
        Picture((start, y), (right - start, 9.0), [[ramp_color((i + 0.5) / 64) for i in range(64)]]),
    ]
    for tick in TICKS:
        place = start + (right - start) * shade(tick)
        anchor: Any = "start" if tick == TICKS[0] else "end" if tick == TICKS[-1] else "middle"
        shapes.append(Text((place, y + 18), f"{tick:.0%}", 9.0, "muted", anchor=anchor))
    return shapes
