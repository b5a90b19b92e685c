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

_EMPTY: dict[str, Any] = {"epochs": 10, "score": "", "history": []}
SCORES = {"accuracy": "accuracy", "rmse": "RMSE", "token_accuracy": "words right"}


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
    return kit.table(("network says", "truth", *names), shown)


def _said(each: dict[str, Any]) -> Markup:
    """Say answer and truth below a picture."""
    sure = f", {each['sure']:.0%}" if "sure" in each else ""
    if each["answer"] == each["truth"]:
        return tag("span", f"✓ {each['answer']}{sure}")
    return tag("span", f"✗ {each['answer']}{sure}; it is {each['truth']}")


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
        "updates_per_second": "–" if row["rate"] is None else f"{row['rate']:,.0f}",
    }
    return [*_curves(row, said), kit.facts(**facts), kit.progress(row["step"] / max(1, row["steps"]), words)]


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
        kit.facts(**{f"test_{name}": value for name, value in row["metrics"].items()}),
        kit.note(f"The run ended: {row['sentence']}."),
        links(row["run"], row["packed"]),
    )
    return [result, kit.card("What the network says about a few validation examples", answers(row["examples"]))]
