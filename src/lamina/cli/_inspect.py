"""`lamina inspect`: the layers of a network, what they cost, what they see, and how gradients pass through them."""

import math
import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._options import Json, Settings
from lamina.cli._tables import show, show_json
from lamina.cli._usage import number
from lamina.cli._values import settings, sizes
from lamina.cli._voice import say

LINES = 80
"""How long a table may get before nested layers are left out."""

BATCH = 32
"""How many examples gradients are measured on by default."""


def inspect(
    what: Annotated[str, Argument(metavar="ARCH|RUN", help="A name from `lamina list`, or the folder of a run.")],
    inputs: Annotated[
        str | None,
        Option(metavar="SHAPE", help="Shape of one example, such as 1,28,28, or 20,8 for 20 time steps of 8 features."),
    ] = None,
    outputs: Annotated[int | None, number(help="Number of outputs or classes.", least=1)] = None,
    set_: Settings = None,
    batch: Annotated[
        int,
        number(help="Number of examples in a batch; gradients are measured on 32 examples by default.", least=1),
    ] = 1,
    depth: Annotated[
        int | None, number(help="Levels of nested layers to show; as many as fit by default.", least=1)
    ] = None,
    field: Annotated[bool, Option("--field", help="Show the receptive field of each layer.")] = False,
    gradients: Annotated[bool, Option("--gradients", help="Show the signals and gradients of each layer.")] = False,
    importance: Annotated[
        bool,
        Option("--importance", help="Show how much worse a run gets on the test split when a column is shuffled."),
    ] = False,
    seed: Annotated[int, number(help="Random seed for the weights and for random inputs.")] = 0,
    as_json: Json = False,
) -> None:
    """Look inside a network: its layers, shapes, parameters, costs, receptive fields and gradients."""
    from lamina.inspection.receptive_field import receptive_field
    from lamina.inspection.summary import summary

    shape: Any = sizes(inputs, "--inputs", "1,28,28")
    shape = shape[0] if inputs is not None and "," not in inputs else shape
    network, run, shape = _open(what, shape, outputs, set_, seed)
    table = summary(network, shape, batch)
    fields = receptive_field(network, shape) if field else None
    flow, note = _flow(network, run, shape, batch if batch > 1 else BATCH, seed) if gradients else (None, "")
    columns = _importance(run) if importance else None
    if as_json:
        show_json(_plain(table, fields, flow) | ({"importance": columns} if columns else {}), indent=None)
        return
    shown = depth if depth is not None else table.depth_for(LINES) if sys.stdout.isatty() else None
    _show_summary(table, shown)
    if fields is not None:
        _show_fields(fields, {"", *(row.name for row in table.shown(shown))})
    if flow is not None:
        _show_flow(flow, note)
    if columns is not None:
        _show_importance(columns)


def _open(what: str, shape: Any, outputs: int | None, typed: list[str] | None, seed: int) -> tuple[Any, Any, Any]:
    """Return the network, its run if it has one, and the shape of an example if that is not the network's own."""
    if Path(what).is_dir() or Path(what).name != what:
        from lamina.training.run import Run

        if outputs is not None or typed:
            raise ArgumentError("`--outputs` and `--set` build a new network: leave them out for the folder of a run.")
        run = Run.load(what)
        return run.model, run, shape
    from lamina.architectures.build import build, configure, option_types

    options = settings(typed, option_types(what), flags=("inputs", "outputs", "batch", "seed"))
    if hasattr(configure(what), "cell") and isinstance(shape, tuple):  # steps and features of a sequence
        words = options.get("embedding", configure(what).embedding) is not None
        size = None if words and len(shape) == 1 else shape[-1]
        return build(what, inputs=size, outputs=outputs, seed=seed, **options), None, shape
    return build(what, inputs=shape, outputs=outputs, seed=seed, **options), None, None


def _flow(network: Any, run: Any, shape: Any, batch: int, seed: int) -> tuple[Any, str]:
    """Measure gradients on training data of a run, or on random inputs."""
    from lamina.inspection import random_batch
    from lamina.inspection.gradient_flow import gradient_flow

    if hasattr(getattr(network, "config", None), "mode"):
        raise ArgumentError("`--gradients` needs a network that reads one sequence, got seq2seq: leave it out.")
    if run is None or run.task.writes:
        values, labels = random_batch(network, shape, batch, seed)
        return gradient_flow(network, values, labels), f"gradients of {batch} random inputs with random labels"
    import torch

    from lamina.training.packed import home_of
    from lamina.training.rebuild import reload
    from lamina.training.tasks.feed import as_read

    split = run.split or reload(home_of(run.folder).config()["data"])
    source = run.preprocess.source(split.train)
    values, labels = source.batch(torch.arange(min(batch, len(split.train))))
    values = as_read(values, next(network.parameters()).dtype)
    return gradient_flow(network, values, labels, run.objective.loss), f"gradients of {len(values)} training examples"


def _importance(run: Any) -> Any:
    """Give the importance of columns that the evaluation of a run measured."""
    if run is None:
        raise ArgumentError("`--importance` is about a trained network: name the folder of a run.")
    run.task.columns()
    found = run.evaluate().importance
    if found is None:
        raise ArgumentError(
            f"the evaluation of {run.folder} did not measure importance: `lamina evaluate {run.folder} --again` does, "
            "where that takes seconds; `run.importance(data)` in Python always does."
        )
    return found


def _show_importance(found: Any) -> None:
    accuracy = found["metric"] == "accuracy"
    rows = [(row["column"], f"{row['mean']:.4g}", f"{row['spread']:.2g}") for row in found["columns"]]
    print()
    show(("column", "drop in accuracy" if accuracy else "rise in mean |error|", "spread"), rows, right=(1, 2))
    print(
        f"when a column is shuffled among {found['examples']} test examples, {found['repeats']} times; columns that "
        "carry the same information can replace each other"
    )


def _show_summary(table: Any, shown: int | None) -> None:
    from lamina.inspection.summary import HEAD

    rows = table.cells(shown, bars=sys.stdout.isatty())
    show(HEAD, rows, right=(2, 3, 4, 5, 6))
    hidden = len(table.cells()) - len(rows)
    if hidden:
        say(f"{hidden} nested layers are not shown: --depth {(shown or 1) + 1} shows more.")
    say(f"{table.kind}: {table.total()}")


def _show_fields(fields: Any, names: set[str]) -> None:
    from lamina.inspection.receptive_field import HEAD

    say("")
    show(HEAD, fields.rows(names), right=(2, 3, 4, 5))
    say("one unit: the first and the last input that the middle unit sees")
    if fields.guessed:
        say(f"assumed to see the whole input, because no rule is known: {', '.join(fields.guessed)}")


def _show_flow(flow: Any, note: str) -> None:
    terminal = sys.stdout.isatty()
    largest = max((layer.state_gradient for layer in flow.layers), default=0.0)
    rows = [
        (
            layer.name,
            layer.kind,
            _number(layer.mean_square),
            _number(layer.state_gradient),
            *((_decades(layer.state_gradient, largest),) if terminal else ()),
            _number(layer.weight_gradient),
            _number(layer.update_ratio),
            _percent(layer.dead),
            _percent(layer.saturated),
        )
        for layer in flow.layers
    ]
    bars = ("decades",) if terminal else ()
    head = ("layer", "kind", "square", "dL/dy", *bars, "dL/dW", "update")
    numbers = [i for i in range(2, len(head) + 2) if not (terminal and i == 4)]
    say("")
    show((*head, "dead", "saturated"), rows, right=numbers)
    say("square: mean of the squared states y; update: a step of size 0.01 relative to the weights")
    say(f"{note}; dL/dy of the first state is {flow.state_ratio:.2g} of the last")
    for sentence in flow.warnings:
        say(f"warning: {sentence}")


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1e}"


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.0%}"


def _decades(value: float, largest: float) -> str:
    """Draw a bar that loses a tenth with each factor of ten below the largest value."""
    from lamina._tables import bar

    if not (0 < value <= largest < math.inf):
        return ""
    return bar(max(0.0, 1 + math.log10(value / largest) / 10), 8)


def _plain(table: Any, fields: Any, flow: Any) -> dict[str, Any]:
    """Return what was found as plain values."""
    found: dict[str, Any] = {"summary": table.as_dict()}
    if fields is not None:
        found["fields"] = [
            {"name": layer.name, "kind": layer.kind, "size": layer.size, "jump": layer.jump, "start": layer.start,
             "everything": layer.whole, "middle": layer.window()}
            for layer in fields
        ]  # fmt: skip
    if flow is not None:
        layers = [{**vars(layer), "update_ratio": layer.update_ratio} for layer in flow.layers]
        found["gradients"] = {"layers": layers, "ratio": flow.state_ratio, "warnings": flow.warnings}
    return found
