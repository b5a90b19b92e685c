"""The work of the playground: a small network learns points of the plane while a page watches.

Pictures are drawn where the network learns, in a process of its own, so that the pages only pass them on.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from lamina._types import Float, Num, Tensor
from lamina.architectures.fnn import FNN
from lamina.architectures.python_code import python_code
from lamina.drawing.charts import Series, chart
from lamina.drawing.heat_map import heat_map
from lamina.drawing.palettes import classed
from lamina.drawing.scene import Scene
from lamina.experiments.trained import EAGER
from lamina.functional.activations import probabilities
from lamina.inspection.gradient_flow import Flow, gradient_flow
from lamina.pages._forms import drawn
from lamina.pages.chapters.ch2.playground._drawing import decision_surface, pictured_network
from lamina.pages.chapters.ch2.playground._setup import (
    OPTIMIZERS,
    STARTS,
    Problem,
    Setup,
    first_network,
    load_arguments,
    problem,
    recipe,
)
from lamina.pages.kit._hands import Hands, data_hands
from lamina.pages.kit._races import checked, paced
from lamina.training.loop import Progress
from lamina.training.objective import Objective
from lamina.training.train import train

SIDE, SMALL = 40, 12
"""How many places the surface and the small maps of neurons have along each axis."""
PAUSE = 0.1
"""Seconds between two looks at the network."""
MOST_POINTS = 300
"""How many points of a part are drawn."""
History = list[tuple[float | None, ...]]
"""Rows of epoch, training loss, validation loss, training score, validation score."""


@torch.no_grad()
def surface(network: FNN, given: Problem) -> Float[Tensor, "layer row column"]:
    """Compute the probabilities of the classes over the plane, one grid per class, or one grid of predicted numbers.

    >>> setup = Setup(hidden=(3,))
    >>> given = problem(setup)
    >>> shares = surface(first_network(setup, given.outputs), given)
    >>> tuple(shares.shape), bool((shares.sum(0) - 1).abs().max() < 1e-12)
    ((2, 40, 40), True)
    """
    network.eval()
    outputs = network(given.prepare.apply(given.grid(SIDE)))
    if given.classes:
        return probabilities(outputs.double()).T.reshape(-1, SIDE, SIDE)
    return given.prepare.untargets(outputs)[:, :1].double().T.reshape(1, SIDE, SIDE)


@torch.no_grad()
def neuron_maps(network: FNN, given: Problem) -> list[list[list[list[float]]]]:
    """Compute what every node answers over the plane, each divided by its largest absolute value."""
    network.eval()
    features = network.features(given.prepare.apply(given.grid(SMALL)))
    return [
        [(node / node.abs().max().clamp(min=1e-12)).reshape(SMALL, SMALL).tolist() for node in y.T] for y in features
    ]


@torch.no_grad()
def judged(network: FNN, given: Problem) -> tuple[float | None, ...]:
    """Measure a network that has not learned yet: the first row of a history.

    >>> setup = Setup(count=40, hidden=(3,))
    >>> given = problem(setup)
    >>> epoch, loss, _, accuracy, _ = judged(first_network(setup, given.outputs), given)
    >>> epoch, 0.5 < loss < 1.5, round(30 * accuracy, 6).is_integer()
    (0.0, True, True)
    """
    network.eval()
    objective = Objective("mse" if not given.classes else "bce" if given.outputs == 1 else "nll")
    found: list[tuple[float, float]] = []
    for part in (given.split.train, given.split.validation):
        inputs, targets = part.take(torch.arange(len(part)))
        outputs, wanted = network(given.prepare.apply(inputs)), given.prepare.targets(targets)
        score = objective.score(outputs, wanted).item() / len(part)
        found.append((objective.loss(outputs, wanted).item(), score))
    (loss, score), (validation_loss, validation_score) = found
    return 0.0, loss, validation_loss, score, validation_score


def flow_of(network: FNN, given: Problem, learning_rate: float) -> Flow:
    """Measure signals and gradients with at most 256 training points."""
    train = given.split.train
    inputs, targets = train.take(torch.arange(min(len(train), 256)))
    kind = "mse" if not given.classes else "bce" if given.outputs == 1 else "nll"
    return gradient_flow(network, given.prepare.apply(inputs), given.prepare.targets(targets), kind, learning_rate)


def examples(part: Any) -> tuple[list[int], Float[Tensor, "point 2"], Num[Tensor, " point"]]:
    """Give the first examples of a part, as many as are drawn, and their places among all."""
    inputs, targets = part.take(torch.arange(min(len(part), MOST_POINTS)))
    return part.indices[: len(inputs)].tolist(), inputs, targets.reshape(-1)


def hands_of(scene: Scene, given: Problem) -> Hands:
    """Let every example that is drawn be dragged; those that are not have no place."""
    parts = given.split.train, given.split.validation
    at: list[Any] = [()] * sum(map(len, parts))
    for part in parts:
        places, inputs, _ = examples(part)
        for place, point in zip(places, inputs.tolist(), strict=True):
            at[place] = point
    return data_hands(scene, at, given.x_range, given.y_range)


def draw_surface(network: FNN, given: Problem) -> Scene:
    """Draw the plane with its examples: training points filled, validation points as rings."""
    shares, points = surface(network, given).tolist(), []
    x_label, y_label = given.spec.features or ("$u_1$", "$u_2$")
    for part, style, size in ((given.split.train, "dot", 3.0), (given.split.validation, "ring", 3.0)):
        places, inputs, targets = examples(part)
        titles = [f"point {place + 1}" for place in places]
        if not given.classes:
            xs, ys = inputs.T.tolist()
            points.append(Series("", xs, ys, "#1b1f24", "ring", size=2.4, titles=titles))
            continue
        for label in range(len(given.classes)):
            own = (targets == label).nonzero()[:, 0]
            color, names = classed(label), [titles[i] for i in own.tolist()]
            xs, ys = inputs[own].T.tolist()
            points.append(Series("", xs, ys, color, style, size=size, titles=names))
    if given.classes:
        return decision_surface(
            shares, given.x_range, given.y_range, points, x_label=x_label, y_label=y_label, width=400, height=350
        )
    return heat_map(
        shares[0], given.x_range, given.y_range, points=points, contours=5, x_label=x_label, y_label=y_label,
        bar_label=given.spec.target, width=400, height=350,
    )  # fmt: skip


def draw_losses(history: History) -> Scene:
    """Draw training and validation loss over the epochs."""
    epochs = [float(row[0] or 0) for row in history]
    lines = [
        Series("training loss", epochs, [row[1] for row in history], "line1"),
        Series("validation loss", epochs, [row[2] for row in history], "line5", "dashed"),
    ]
    known = [value for row in history[:1] for value in row[1:3] if value is not None and value > 0]
    starts = [replace(line, name="", xs=epochs[:1], ys=line.ys[:1], style="ring", size=4.0) for line in lines]
    return chart(
        lines,
        starts,
        x_label="epoch",
        x_range=(0, max(10.0, epochs[-1])),
        y_range=(0.01, max([2.0, *(3 * value for value in known)])) if len(history) == 1 else None,
        log_y=True,
        width=400,
        height=230,
    )


def draw_flow(flow: Flow) -> Scene:
    """Draw the norms of the gradients that reach each layer, of its states and of its weights."""
    layers = [float(place + 1) for place in range(len(flow.layers))]
    states, weights = ([getattr(x, name) for x in flow.layers] for name in ("state_gradient", "weight_gradient"))
    series = [
        Series(r"$\|\partial L/\partial y^{[l]}\|$", layers, states, "line4"),
        Series(r"$\|\partial L/\partial W^{[l-1]}\|$", layers, weights, "line3", "dashed"),
    ]
    marks = [Series("", layers, states, "line4"), Series("", layers, weights, "line3", "square")]
    return chart(
        series,
        marks,
        x_label="layer $l$",
        x_range=(0, len(layers) + 1),
        y_range=(1e-9, 100),
        log_y=True,
        width=400,
        height=230,
    )


def view(network: FNN, given: Problem, setup: Setup, history: History) -> dict[str, Any]:
    """Draw a network as it is, with its losses so far and its gradients, and write it as code."""
    flow = flow_of(network, given, setup.learning_rate)
    weights = [W.tolist() for W in network.weights]
    scenes = {
        "surface": draw_surface(network, given),
        "network": pictured_network(network.config.widths, weights, neuron_maps(network, given)),
        "losses": draw_losses(history),
        "flow": draw_flow(flow),
    }
    return {
        **{name: drawn(scene) for name, scene in scenes.items()},
        "hands": hands_of(scenes["surface"], given),
        "width": scenes["network"].width,
        "epoch": int(history[-1][0] or 0),
        "numbers": history[-1],
        "first": flow.layers[0].weight_gradient,
        "last": flow.layers[-1].weight_gradient,
        "ratio": flow.state_ratio,
        "warnings": list(flow.warnings),
        "code": code(network, given, setup),
        "bad_step": None,
    }


def code(network: FNN, given: Problem, setup: Setup) -> str:
    """Write the network as a program, with the calls that made and trained it as comments.

    >>> setup = Setup(hidden=(3,))
    >>> given = problem(setup)
    >>> "lamina.load('moons', count=300" in code(first_network(setup, given.outputs), given, setup)
    True
    """
    rule, scale = STARTS[setup.start]
    options = f", initialization={rule!r}, scale={scale:g}" if rule else ""
    options += ", batch_norm=True" if setup.batch_norm else ""
    options += f", dropout={setup.dropout:g}" if setup.dropout else ""
    kind, rate = OPTIMIZERS[setup.optimizer], f"{setup.learning_rate:g}"
    optimizer = {"adam": f"Adam({rate})", "minibatch": f"MiniBatch({rate})", "momentum": f"MiniBatch({rate}, 0.9)"}
    penalty = f", penalty=Penalty({setup.penalty:g}, {setup.norm})" if setup.penalty else ""
    made = f"""Made and trained like this (import lamina; from lamina.training.recipe import *):
network = lamina.build("fnn", inputs=2, outputs={given.outputs}, hidden={setup.hidden}, activation={setup.activation!r},
                       seed={setup.seed}{options})
recipe = Recipe({optimizer[kind]}, {setup.epochs}, {setup.batch_size}{penalty}, seed={setup.seed})
data = lamina.load({load_arguments(setup)}){_only(setup)}
run = lamina.fit(network, data.split(seed={setup.seed}, ratios=(3, 1, 0)), recipe)"""
    prepare = given.prepare
    target = (prepare.target_mean[0], prepare.target_std[0]) if not given.classes else (0.0, 1.0)
    return python_code(
        network, mean=prepare.mean, std=prepare.std, classes=given.classes, target=target,
        features=given.spec.features, made=made,
    )  # fmt: skip


def _only(setup: Setup) -> str:
    table = setup.table
    said = [] if table is None else [f"of its columns {table.across!r} and {table.up!r} alone"]
    said += [f"with moved points: {' '.join(setup.moved.split())}"] if setup.moved.strip() else []
    return f"  # {', '.join(said)}" if said else ""


def first_view(setup: Setup) -> dict[str, Any]:
    """Draw the network of a setup before it has learned anything; once for all, unless the data are a visitor's."""
    return _first_view(setup) if setup.table else _shared_first_view(setup)


def _first_view(setup: Setup) -> dict[str, Any]:
    given = problem(setup)
    network = first_network(setup, given.outputs)
    return view(network, given, setup, [judged(network, given)])


_shared_first_view = lru_cache(32)(_first_view)


def learn(setup: Setup) -> Iterator[dict[str, Any]]:
    """Train the network of a setup; give what `view` shows about ten times a second.

    A loss that is not finite ends it: the last row says after which step, and keeps the last sound picture.

    >>> rows = list(learn(Setup(count=40, hidden=(3,), epochs=2)))
    >>> rows[-1]["epoch"], rows[-1]["bad_step"]
    (2, None)
    """
    given = problem(setup)
    network = first_network(setup, given.outputs)
    history: History = [judged(network, given)]
    row = view(network, given, setup, history)
    yield row
    score, at = "accuracy" if given.classes else "mse", Progress()
    keys = ("loss", "validation_loss", score, f"validation_{score}")
    run = train(network, given.split, recipe(setup), runtime=EAGER, at=at)
    for event, due in paced(run, PAUSE):
        if not all(bool(p.isfinite().all()) for p in network.parameters()):
            yield {**row, "bad_step": event.step}
            return
        history.append((event.epoch, *(checked(event).get(key) for key in keys)))
        if due or event.epoch == setup.epochs:
            row = view(network, given, setup, thinned(history))
            yield row
    if at.reason is not None and at.reason.failed:
        yield {**row, "bad_step": at.reason.step}


def thinned(rows: History, most: int = 240) -> History:
    """Keep the first row and of the others at most this many, evenly spaced, the last one among them.

    >>> thinned([(0,), (1,), (2,), (3,), (4,), (5,)], 2)
    [(0,), (2,), (5,)]
    """
    step = -(-(len(rows) - 1) // most)
    return rows[:1] + rows[:0:-1][::step][::-1] if len(rows) > 1 else rows
