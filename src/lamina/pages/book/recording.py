"""Run a page and keep what it shows: first, for some places of each of its controls, and while its work runs.

A page without a server cannot compute. So its controls are moved here, one at a time while the others stand where they
begin; the cells that follow are run again, as marimo would, and what they show is kept. Work that a button starts is
run to its end and kept as a few frames. What cannot be kept, such as an upload, stays live only.
"""

import importlib.util
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any

from lamina._errors import RunError
from lamina.pages.kit import _blocks, _jobs

PLACES, STEPS, OPTIONS, FRAMES = 9, 100, 12, 10
"""How many places of a slider, steps of a walk, options of a list and frames of a run are kept.

A walk is played step by step, so that it is kept whole.
"""
LONGEST = 60.0
"""Seconds after which a run is no longer recorded; the frames so far are kept."""
LARGEST = 2_000_000
"""Characters of the different pieces of all that one control shows; a control that shows more stays live only."""
PLAYED = "a recorded run; press the button to play it"
"""What a book says in place of `_jobs.RECORDED`: nothing runs here."""
_ELEMENT = re.compile(r"object-id='([^']*)' random-id='[^']*'")


@dataclass(frozen=True)
class Moves:
    """What a control changes.

    Args:
        kind: "place" for what stands somewhere, "frames" for buttons that play a run, "press" for one button.
        values: its places as the browser knows them, the first one included; for frames their numbers from 1.
        cells: for each cell that changes, what it shows at each of these values.
    """

    kind: str
    values: list[Any]
    cells: dict[int, list[str]]


@dataclass(frozen=True)
class Recording:
    """A page as it is kept.

    Args:
        cells: what each cell shows first.
        moves: what follows from each control, by the name of its variable.
        scenes: the drawings of the first view, with their labels.
    """

    cells: list[str]
    moves: dict[str, Moves] = field(default_factory=dict)
    scenes: list[tuple[str, Any]] = field(default_factory=list)


def record(file: str, *, moves: bool = True) -> Recording:
    """Run a page and keep what it shows.

    Args:
        file: the notebook.
        moves: whether to move its controls, too.

    Raises:
        RunError: a cell of the page fails.
    """
    with _drawings() as scenes:
        page = _Page(file)
    first = page.shown()
    found = {key: page.moved(key, first) for key in page.controls()} if moves else {}
    return Recording(first, {key: kept for key, kept in found.items() if kept is not None}, scenes)


@contextmanager
def _drawings() -> Iterator[list[tuple[str, Any]]]:
    """Collect what `kit.svg` draws meanwhile."""
    scenes: list[tuple[str, Any]] = []
    before, _blocks.collected = _blocks.collected, lambda label, picture: scenes.append((label, picture))
    try:
        yield scenes
    finally:
        _blocks.collected = before


class _Page:
    """A notebook that has been run, and can be run again in parts.

    Args:
        file: the notebook.
    """

    def __init__(self, file: str) -> None:
        from marimo._ast.app import InternalApp
        from marimo._runtime.app.script_runner import AppScriptRunner

        spec = importlib.util.spec_from_file_location("lamina_page", file)
        if spec is None or spec.loader is None:
            raise RunError(f"{file} is not a page that can be read: install lamina again.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._file, app = file, module.app
        app._maybe_initialize()
        self._graph: Any = app._graph
        setup = {} if app._setup is None else {**app._setup._glbls}
        outputs, self._names = AppScriptRunner(InternalApp(app), filename=file, glbls=setup).run()
        self._order: list[Any] = [cell for cell in app._cell_manager.cell_ids() if cell in outputs]
        self._outputs: dict[Any, Any] = dict(outputs)

    def shown(self) -> list[str]:
        """Return what each cell shows now, in the order of the page; controls carry the names of their variables."""
        outputs = [self._outputs.get(cell) for cell in self._order]
        return self._named(["" if output is None else _text(output) for output in outputs])

    def _named(self, texts: list[str]) -> list[str]:
        keys = {element._id: key for key, (element, _, _) in self._elements().items()}
        return [_ELEMENT.sub(lambda found: f'data-key="{escape(keys.get(found[1], ""))}"', text) for text in texts]

    def _elements(self) -> dict[str, tuple[Any, Any, Any]]:
        """Give all controls by name: each with the group that it belongs to, and its place there."""
        from marimo._plugins.ui._core.ui_element import UIElement

        found: dict[str, tuple[Any, Any, Any]] = {}
        for name, value in self._names.items():
            if isinstance(value, UIElement) and not name.startswith("_"):
                found[name] = value, None, None
                inner: Any = getattr(value, "elements", ())
                places = inner.items() if isinstance(inner, dict) else enumerate(inner)
                found |= {f"{name}.{place}": (child, value, str(place)) for place, child in places}
        return found

    def controls(self) -> list[str]:
        """Return the names of the controls that can be moved."""
        return [key for key, (element, _, _) in self._elements().items() if places(element)[1]]

    def moved(self, key: str, first: list[str]) -> Moves | None:
        """Move a control through its places and back.

        Args:
            key: its name.
            first: what all cells show when it stands where it begins.

        Returns:
            What changes; None where nothing does, or too much to be kept.
        """
        element = self._elements()[key][0]
        start, (kind, values) = element._value_frontend, places(element)
        states = list[list[str]]()
        for value in values:
            if value == start:
                states.append(first)
                continue
            with _runs() as runs:
                self._follow(key, value, runs)
            states.append(self.shown())
            if kind == "press" and runs.frames:
                kind, values, states = "frames", *self._frames(runs, first, states[-1])
        with _runs() as runs:
            self._follow(key, start, runs)
        changed = [i for i, html in enumerate(first) if any(state[i] != html for state in states)]
        cells = {i: [state[i] for state in states] for i in changed}
        size = sum(map(len, {piece for row in cells.values() for html in row for piece in pieces(html)}))
        return Moves(kind, values, cells) if cells and size <= LARGEST else None

    def _frames(self, runs: "_Runs", first: list[str], last: list[str]) -> tuple[list[Any], list[list[str]]]:
        """Return the numbers of the frames, and what all cells show at each: the last is the page when it is done."""
        count = max(map(len, runs.frames.values()))
        states = [*([*first] for _ in range(count - 1)), last]
        for cell, frames in runs.frames.items():
            for state, html in zip(states[count - len(frames) : -1], self._named(frames[:-1]), strict=True):
                state[self._order.index(cell)] = html
        return list(range(1, count + 1)), states

    def _follow(self, key: str, value: Any, runs: "_Runs") -> None:
        """Set a control and run the cells that depend on it, as marimo does."""
        from marimo._runtime.dataflow import topological_sort

        element, group, place = self._elements()[key]
        (element if group is None else group)._update(value if group is None else {place: value})
        name, cells = key.partition(".")[0], set()
        for cell, made in self._graph.cells.items():
            if name in made.refs and name not in made.defs:
                cells |= {cell, *self._graph.descendants(cell)}
        for train in self._names.values():
            if isinstance(train, _jobs.train):
                train.forget()
        for cell in topological_sort(self._graph, cells):
            runs.cell = cell
            made = self._graph.cells[cell]
            try:
                exec(made.body, self._names)
                self._outputs[cell] = eval(made.last_expr, self._names)
            except Exception as error:
                raise RunError(
                    f"{self._file} fails with {key} at {value!r}: {type(error).__name__}: {error}"
                ) from error


def pieces(html: str) -> list[str]:
    """Split markup after every tag: what two states have in common is kept once.

    >>> pieces("<b>1</b>")
    ['<b>', '1</b>']
    """
    return re.split(r"(?<=>)(?!$)", html)


def _text(output: Any) -> str:
    import marimo as mo

    return str(mo.as_html(output).text).replace(_jobs.RECORDED, PLAYED)


class _Runs:
    """The frames of the work that cells start, by cell; who runs the cells says which one is running."""

    def __init__(self) -> None:
        self.cell: Any = None
        self.frames: dict[Any, list[str]] = {}

    def keep(self, job: Any, draw: Any) -> Any:
        """Do the work of a job, and draw it some times."""
        rows, begun, state = list[Any](), time.monotonic(), "done"
        for row in job.here():
            rows.append(row)
            if time.monotonic() - begun > LONGEST:
                state = "paused"
                break
        count = min(FRAMES, len(rows))
        for place in range(1, count + 1):
            job.rows = rows[: math.ceil(place * len(rows) / count)]
            job.state = "running" if place < count else state
            self.frames.setdefault(self.cell, []).append(_text(draw(job)))
        return draw(job)


@contextmanager
def _runs() -> Iterator[_Runs]:
    """Record the work that cells start meanwhile."""
    runs = _Runs()
    before, _jobs.watched = _jobs.watched, runs.keep
    try:
        yield runs
    finally:
        _jobs.watched = before


def places(element: Any) -> tuple[str, list[Any]]:
    """Choose the places at which a control is recorded.

    Args:
        element: a control of marimo.

    Returns:
        What kind of moves it makes, and the values that the browser sends, in order; none for what stays live.
    """
    given, start = element._component_args, element._value_frontend
    match element._args.component_name.removeprefix("marimo-"):
        case "slider" | "number" if given.get("stop") is not None and given.get("start") is not None:
            most = STEPS if "Walk" in type(element).__name__ else PLACES
            return "place", _spread(given["start"], given["stop"], given.get("step") or 1, start, most)
        case "dropdown":
            names = [[name] for name in element.options][:OPTIONS]
            return "place", names if start in names else [start, *names]
        case "switch" | "checkbox":
            return "place", [False, True]
        case "button":
            return "press", [1]
        case "text" if hasattr(element, "words"):
            return "press", ["play 1"]
    return "place", []


def _spread(low: float, high: float, step: float, start: float, most: int) -> list[float]:
    """Choose places of a slider at about equal distances, both ends among them, and the one where it begins.

    >>> _spread(0, 3, 1, 2, 9), _spread(0, 1, 0.05, 0.3, 5), _spread(1, 20, 1, 7, 5)
    ([0, 1, 2, 3], [0.0, 0.25, 0.3, 0.5, 0.75, 1.0], [1, 6, 7, 11, 15, 20])
    """
    last = math.floor((high - low) / step + 1e-9)
    count = min(most - 1, last)
    chosen = {round(low + round(i * last / count) * step, 10) for i in range(count + 1)} if last else {low}
    if not any(math.isclose(value, start, abs_tol=1e-9) for value in chosen):
        chosen.add(start)
    return sorted(chosen)
