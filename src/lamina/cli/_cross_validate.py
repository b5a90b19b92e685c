"""`lamina cross-validate`: judge an architecture on every example of small data, with a mean and its spread."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lamina._screen import Quiet, clock
from lamina.cli._names import architectures
from lamina.cli._options import Data, Device, Epochs, Json, Read, Settings, Target, Threads
from lamina.cli._progress import Warnings
from lamina.cli._tables import show, show_json
from lamina.cli._train import FLAGS
from lamina.cli._usage import number
from lamina.cli._values import reading, settings
from lamina.cli._voice import say

if TYPE_CHECKING:
    from lamina.training.cross_validation import CrossValidation, Fold
    from lamina.training.loop import Event


def cross_validate(
    architecture: Annotated[
        str, Argument(metavar="ARCH", help="A name from `lamina list`.", autocompletion=architectures)
    ],
    data: Data = "digits",
    target: Target = None,
    read: Read = None,
    folds: Annotated[int, number(help="Number of parts; each of them is the test part once.", least=2)] = 5,
    repeats: Annotated[int, number(help="Number of different divisions into folds.", least=1)] = 1,
    epochs: Epochs = None,
    set_: Settings = None,
    seed: Annotated[
        int, number(help="Random seed for the folds, the initial weights, the batch order and the dropout masks.")
    ] = 0,
    out: Annotated[Path | None, Option(help="The folder of the results; runs/ARCH-DATA-folds by default.")] = None,
    device: Device = "auto",
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Train on all folds but one and test on that one, for each fold; the same command continues after Ctrl-C."""
    from lamina.report.render import write_report
    from lamina.training.cross_validation import Crossing, place_of
    from lamina.training.folder import slug
    from lamina.training.plan import check_options, load_for, option_types, plan
    from lamina.training.runtime import Runtime
    from lamina.training.tasks.recommended import check_fit

    given, said = settings(set_, option_types(architecture), flags=FLAGS), Warnings()
    check_options(architecture, given, epochs, seed)
    runtime = Runtime(device=device, threads=threads).ready(given.get("precision", "float32"))
    options = reading(read, data, target)
    chosen = {"architecture": architecture, "data": data, "read": options, "set": given, "epochs": epochs}
    with said:
        dataset = load_for(architecture, data, options)
        check_fit(architecture, dataset.spec)
    notes = () if as_json else dataset.spec.notes
    say(*notes)
    said.show(told=notes)
    kind = _Folds if as_json else _Live if sys.stdout.isatty() else _Plain
    watch = kind(folds * repeats)
    with watch:

        def prepare(split: Any, number: int) -> Any:
            job = plan(architecture, split, options=given, epochs=epochs, seed=seed + number)
            watch.epochs = job.recipe.epochs
            return job.model, job.task, job.recipe

        base = out or Path("runs") / slug(f"{architecture}-{Path(data).stem or data}-folds")
        place = place_of(base, {**chosen, "k": folds, "repeats": repeats, "seed": seed})
        crossing = Crossing(prepare, dataset, folds, repeats, seed, place, chosen)
        if crossing.done and not as_json:
            print(f"{len(crossing.done)} of {crossing.total} folds were finished before, in {place}")
        with said:
            for fold in crossing.run(observers=(watch,), runtime=runtime):
                watch.finished(fold, crossing.result)
    said.show()
    found = crossing.result
    if len(found.folds) < found.total:
        print(f"lamina: interrupted after {len(found.folds)} of {found.total} folds.", file=sys.stderr)
        print("Continue with the same command.", file=sys.stderr)
        raise typer.Exit(1)
    report = write_report(place)
    if as_json:
        show_json(_plain(found) | {"folder": str(place), "report": str(report)}, indent=None)
        return
    _show(found)
    print(f"report: {report}")


class _Folds(Quiet):
    """Show nothing."""

    epochs = 0

    def __init__(self, total: int) -> None:
        self.total = total

    def finished(self, fold: "Fold", found: "CrossValidation") -> None:
        """Do nothing."""


class _Plain(_Folds):
    """Print a line per fold, with the time that is left."""

    def finished(self, fold: "Fold", found: "CrossValidation") -> None:
        """Say how a fold went."""
        print(self.line(fold, found), flush=True)

    def line(self, fold: "Fold", found: "CrossValidation") -> str:
        """Write how a fold went, and how long the others may take."""
        done, words = len(found.folds), _words(found.metric, fold.metrics[found.metric])
        left = (self.total - done) * sum(f.seconds for f in found.folds) / done
        rest = f"; about {clock(left)} left" if done < self.total else ""
        where = f"fold {done} of {self.total}"
        return f"{where}: {words} on {fold.examples[2]} test examples, epoch {fold.epoch}, {fold.seconds:.1f} s{rest}"


class _Live(_Plain):
    """Keep a line up to date below those of the finished folds."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(total)
        self.screen = Progress(TextColumn("{task.description}"), BarColumn(None), TimeRemainingColumn(), transient=True)
        self.task, self.done = self.screen.add_task("fold 1", total=float(total)), 0

    def __call__(self, event: "Event") -> None:
        """Redraw after a check."""
        if event.row is not None:
            words = f"fold {self.done + 1} of {self.total}, epoch {event.epoch}/{self.epochs}"
            share = event.epoch / max(1, self.epochs)
            self.screen.update(self.task, completed=self.done + share, description=words)

    def finished(self, fold: "Fold", found: "CrossValidation") -> None:
        """Say how a fold went, above the line."""
        self.done = len(found.folds)
        self.screen.console.print(self.line(fold, found), highlight=False)
        self.screen.update(self.task, completed=float(self.done))


def _words(name: str, value: float) -> str:
    return f"{name.replace('_', ' ')} {value:.4f}"


def _names(found: "CrossValidation") -> list[str]:
    """Choose the metrics of the table: those that are not about prepared targets or squares."""
    return [name for name in found.folds[0].metrics if name not in ("loss", "mse")]


def _show(found: "CrossValidation") -> None:
    names = _names(found)
    bases = [name for name in names if name in found.folds[0].baseline][:1]
    repeated = found.folds[-1].repeat > 1
    head = (*(["repeat"] if repeated else []), "fold", "training", "test", *(name.replace("_", " ") for name in names))
    rows = [
        (
            *([str(fold.repeat)] if repeated else []),
            *map(str, (fold.fold, fold.examples[0], fold.examples[2])),
            *(f"{fold.metrics[name]:.4f}" for name in names),
            *(f"{fold.baseline[name]:.4f}" for name in bases),
        )
        for fold in found.folds
    ]
    blank = [""] * (2 + repeated)
    for place, word in enumerate(("mean", "spread")):
        values = [found.of(name)[place] for name in names] + [found.of(name, "baseline")[place] for name in bases]
        rows.append((word, *blank, *(f"{value:.4f}" for value in values)))
    show((*head, *(f"baseline {name}" for name in bases)), rows, right=range(1, len(head) + 1))
    print(found)
    for name in bases:
        mean, usual = found.of(name)[0], found.of(name, "baseline")[0]
        if (mean >= usual) if name == "mae" else (mean <= usual):
            print(f"The networks do not beat the baseline: {_words(name, mean)} against {usual:.4f} without looking.")


def _plain(found: "CrossValidation") -> dict[str, Any]:
    return {
        "metric": found.metric,
        "mean": found.mean,
        "spread": found.spread,
        "means": {name: found.of(name)[0] for name in found.folds[0].metrics},
        "baseline": {name: found.of(name, "baseline")[0] for name in found.folds[0].baseline},
        "folds": [vars(fold) for fold in found.folds],
    }
