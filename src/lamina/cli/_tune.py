"""The verb tune."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from lamina.cli._options import Device, Json, Quiet, RunPath, Threads, Verbose
from lamina.cli._tables import show_json
from lamina.cli._usage import number
from lamina.cli._voice import Voice, say

if TYPE_CHECKING:
    from lamina.training.loop import Event


def tune(
    run: RunPath,
    rates: Annotated[int, number(help="Number of learning rates, from low to high.", least=3, most=4096)] = 64,
    low: Annotated[float | None, Option(help="The lowest rate; by default a thousandth of the run's own.")] = None,
    high: Annotated[float | None, Option(help="The highest rate; by default a hundred times the run's own.")] = None,
    epochs: Annotated[
        int | None, number(help="Number of epochs for each rate; by default a tenth of the run's.", least=1)
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", help="Draw to this file; rates.svg in the folder of the run by default.")
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Find a learning rate for a run: train many rates as one stack for a few epochs, and draw the curve."""
    from lamina._screen import progress
    from lamina.cli._progress import Warnings
    from lamina.drawing.save import suffix_of
    from lamina.studies.rates import short, tune_rate
    from lamina.training.folder import RunFolder
    from lamina.training.runtime import Runtime

    if output is not None:
        suffix_of(output)
    voice, said = Voice(quiet, verbose, as_json), Warnings()
    runtime = Runtime(device=device, threads=threads)
    epochs = epochs or short(RunFolder.open(run).config()["recipe"]["epochs"])
    with said, progress(not voice.silent, epochs, 1) as watch:
        found = tune_rate(
            run,
            count=rates,
            low=low,
            high=high,
            epochs=epochs,
            runtime=runtime,
            watch=lambda event: watch(_lowest(event)),
        )
    said.show(quiet)
    best, file = found.best, found.save(output or run / "rates.svg")
    if as_json:
        show_json({**asdict(found), "best": best, "largest": found.largest, "drawing": str(file)}, None)
        return
    if quiet:
        print(f"{best:.3g}")
        return
    at = found.rates.index(best)
    together = f", {found.together} as one" if found.together > 1 else ", one after another"
    end = f"; from {found.largest:.3g} on it diverges" if found.largest is not None else ""
    say(
        f"{len(found.rates)} rates from {found.rates[0]:.3g} to {found.rates[-1]:.3g}, "
        f"{found.epochs} epoch{'s' * (found.epochs != 1)} each{together}",
        f"best: {best:.3g} with a validation loss of {found.losses[at]:.4g}; the run has {found.present:.3g}{end}",
        *([found.edge] if found.edge else []),
        f"drawn to {file}",
    )
    words = _again(run, best)
    if words:
        voice.next(words)


def _lowest(event: "Event") -> "Event":
    """Show the lowest validation loss among all members."""
    members = (event.row or {}).get("members", [])
    losses = [row["validation_loss"] for row in members if row and row.get("validation_loss") is not None]
    return replace(event, step=event.epoch, row={"validation_loss": min(losses)} if losses else None)


def _again(run: Path, rate: float) -> str:
    """Give the command that trains the same network with another rate; "" where a command cannot."""
    from lamina.report._commands import spell, train
    from lamina.report._record import read

    words, _ = train(read(run))
    said = "learning_rate="
    return spell([f"{said}{rate:.3g}" if word.startswith(said) else word for word in words]) if words else ""
