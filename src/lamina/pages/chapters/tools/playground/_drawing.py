"""What the playground for your data shows: curves, answers, and the report of a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lamina._markup import Markup, tag
from lamina.drawing.charts import Series, chart
from lamina.drawing.scene import Scene
from lamina.pages import kit

if TYPE_CHECKING:
    from marimo import Html
from lamina.pages.chapters.tools._shared import _html, duration
from lamina.pages.chapters.tools.playground._own_data import Preview

_EMPTY: dict[str, Any] = {"epochs": 10, "score": "", "history": []}
SCORES = {"accuracy": "accuracy", "rmse": "RMSE", "token_accuracy": "words right"}


def links(name: str, packed: bool) -> "Html":
    """Link to the report of a run, and to the run as an archive."""
    look = {"style": "color:var(--p-link);text-decoration:underline"}
    report = tag("a", "Open the report of this run", href=f"/runs/{name}", target="_blank", rel="noopener", **look)
    archive = tag("a", "Take the run with you (zip)", href=f"/runs/{name}/run.zip", download=True, **look)
    return _html(tag("p", report, (" · ", archive) if packed else None, class_="lamina-note good"))


def kept(history: Sequence[Sequence[Any]]) -> int | None:
    """Give the place of the epoch whose weights are kept: the first with the least validation loss so far.

    Without validation examples the training loss decides, as in training itself.

    >>> kept([(1, 0.7, 0.6, None, None), (2, 0.5, 0.4, None, None), (3, 0.3, 0.4, None, None)]), kept([])
    (1, None)
    """
    losses = [each[1] if each[2] is None else each[2] for each in history]
    known = [place for place, loss in enumerate(losses) if loss is not None]
    return min(known, key=losses.__getitem__) if known else None


def curves(row: dict[str, Any]) -> tuple[Scene, Scene]:
    """Draw loss and score over the epochs, and mark the epoch whose weights are kept.

    >>> row = {"epochs": 3, "score": "accuracy", "history": [(1, 0.7, 0.6, 0.5, 0.6), (2, 0.5, 0.4, 0.7, 0.8)]}
    >>> [scene.title for scene in curves(row)]
    ['loss', 'accuracy']
    """
    history, score = row["history"], SCORES.get(row["score"], row["score"].replace("_", " "))
    unit = f" in units of {row['target']}" if row["score"] == "rmse" and row.get("target") else ""
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
        best = kept(history)
        if (
            best is not None
            and (value := columns[1][best] if columns[1][best] is not None else columns[0][best]) is not None
        ):
            points.append(Series(f"kept: epoch {history[best][0]}", [epochs[best]], [value], "ink", "ring", size=5.0))
        return chart(
            lines, points, title=title, x_label="epoch", x_range=(0, max(1.0, float(row["epochs"]))),
            y_range=fixed or ((1e-3, 1.0) if not known else None), log_y=fixed is None, width=400, height=350,
        )  # fmt: skip

    share = "accuracy" in row["score"] or not row["score"]
    return over("loss", 1, None), over((score or "score") + unit, 3, (0.0, 1.0) if share else None)


def answers(examples: Sequence[dict[str, Any]]) -> "Html":
    """Show what a network says about a few examples, as pictures or as a table."""
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
        (each["answer"] + (f" ({kit.share(each['sure'])})" if "sure" in each else ""), each["truth"],
         *("–" if (value := each["values"].get(name)) is None else value for name in names))
        for each in examples
    ]  # fmt: skip
    return kit.table(("network says", "truth", *names), shown)


def _said(each: dict[str, Any]) -> Markup:
    """Say answer and truth below a picture; the truth alone where nobody was asked."""
    if "answer" not in each:
        return tag("span", each["truth"])
    sure = f", {kit.share(each['sure'])}" if "sure" in each else ""
    if each["answer"] == each["truth"]:
        return tag("span", f"✓ {each['answer']}{sure}")
    return tag("span", f"✗ {each['answer']}{sure}; it is {each['truth']}")


def looked_at(found: Preview) -> "list[Html]":
    """Show an upload before anything is trained: its pictures, its beginning, its rows, and a series as curves.

    >>> "2 rows" in looked_at(Preview("2 rows, 1 columns", ("a",), (("1",), ("2",))))[0].text
    True
    """
    blocks = []
    if found.curves:
        lines = [
            Series(name, list(range(len(values))), values, f"line{place + 1}")
            for place, (name, values) in enumerate(found.curves)
        ]
        drawn = chart(lines, x_label="row", width=480, height=260)
        blocks.append(kit.svg(drawn, f"Your data: the first rows of {', '.join(name for name, _ in found.curves)}"))
    if found.pictures:
        source = "data:image/png;base64,"
        shown = [{"picture": source + data, "truth": name} for name, data in found.pictures]
        inside = [answers(shown)]
    elif found.head:
        inside = [kit.table(found.head[:8], [row[:8] for row in found.rows], right=())]
    else:
        inside = [_html(tag("pre", found.rows[0][0], style="white-space:pre-wrap;overflow-wrap:anywhere;margin:0"))]
    return [*blocks, kit.shown(kit.card(f"Your data: {found.about}", *inside))]


def run_blocks(job: Any, row: dict[str, Any]) -> "list[Html]":
    """Show where a run of the playground stands."""
    stage = row["stage"]
    if job.state == "failed":
        return [kit.note(job.words, "bad")]
    if stage == "idle":
        return [*_curves(_EMPTY, "nothing yet"), kit.progress(0.0, "not started" if job.state == "idle" else job.words)]
    if stage == "reading":
        return [*_curves(_EMPTY, "nothing yet"), kit.progress(0.0, "reading the data …")]
    if stage == "refused":
        return [kit.note(row["sentence"], "bad")]
    said = tag(
        "ul", [tag("li", words) for words in (*row["about"], *row["notes"])], style="margin:0;padding-left:1.1em"
    )
    return [*_progress(job, row), *_ended(row), kit.card("What was read and chosen", said)]


def _progress(job: Any, row: dict[str, Any]) -> "list[Html]":
    words = {"judging": "evaluating on the test part …", "done": "done", "failed": "ended"}.get(row["stage"])
    if job.state == "idle":
        words = job.words
    elif words is None:
        going = f"epoch {row['epoch']} of {row['epochs']}, {duration(row['left'])} left"
        words = going if job.state == "running" else job.words
    last = row["history"][-1] if row["history"] else (0, None, None, None, None)
    shown = ["–" if number is None else number for number in last]
    said = f"epoch {last[0]}" + ("" if last[2] is None else f", validation loss {last[2]:.4g}")
    best = kept(row["history"])
    name = SCORES.get(row["score"], row["score"]) or "score"
    errors = {f"training_{name}": shown[3]} if row["score"] == "rmse" else {"validation_loss": shown[2]}
    facts = {
        "epoch": f"{last[0]} of {row['epochs']}",
        **errors,
        f"validation_{name}": shown[4],
        "kept_epoch": "–" if best is None else row["history"][best][0],
        "parameters": f"{row['parameters']:,}",
        **({} if row.get("rate") is None else {"updates_per_second": f"{row['rate']:,.0f}"}),
    }
    return [*_curves(row, said), kit.facts(**facts), kit.progress(row["step"] / max(1, row["steps"]), words)]


def measures(row: dict[str, Any]) -> dict[str, Any]:
    """Give what was measured on the test part under names for people; numbers have one error, in the target's unit.

    >>> measures({"score": "rmse", "target": "price", "metrics": {"mse": 4.0, "mae": 1.5, "r2": 0.9, "rmse": 2.0}})
    {'test_RMSE_in_units_of_price': 2.0, 'explained_variance_R²': 0.9}
    >>> measures({"score": "accuracy", "metrics": {"accuracy": 0.5, "loss": 1.0}})
    {'test_accuracy': 0.5, 'test_loss': 1.0}
    """
    found = row["metrics"]
    if row["score"] != "rmse" or "rmse" not in found:
        return {f"test_{name}": value for name, value in found.items()}
    unit = f"_in_units_of_{row['target']}" if row.get("target") else ""
    rest = {"explained_variance_R²": found["r2"]} if "r2" in found else {}
    return {f"test_RMSE{unit}": found["rmse"], **rest}


def _curves(row: dict[str, Any], said: str) -> "list[Html]":
    return [
        kit.svg(scene, f"{name} over the epochs: {said}", width=760)
        for name, scene in zip(("Loss", "Score"), curves(row), strict=True)
    ]


def _ended(row: dict[str, Any]) -> "list[Html]":
    if row["stage"] == "failed":
        return [kit.note(row["sentence"], "bad"), links(row["run"], False)]
    if row["stage"] != "done":
        return []
    result = kit.card(
        f"Test part: {row['tested']:,} examples, opened once",
        kit.facts(**measures(row)),
        kit.note(f"The run ended: {row['sentence']}."),
        *((links(row["run"], row["packed"]),) if "run" in row else ()),
    )
    return [result, kit.card("What the network says about a few validation examples", answers(row["examples"]))]
