"""`lamina search`: try many configurations, show the leaders, leave a study with a report."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lamina._errors import ArgumentError, RunError
from lamina.cli._leaders import leaders
from lamina.cli._options import Data, Device, Epochs, Json, Quiet, Read, Settings, Target, Threads, Verbose
from lamina.cli._progress import Warnings
from lamina.cli._tables import show_json
from lamina.cli._train import FLAGS
from lamina.cli._usage import number
from lamina.cli._values import reading, settings
from lamina.cli._voice import Voice, say

if TYPE_CHECKING:
    from lamina.studies.samplers import Sampler
    from lamina.studies.study import Study


def search(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="ARCH NAME=VALUES...",
            help="A name from `lamina list`, then the values to try: learning_rate=1e-4,1e-3 or dropout=0..0.5 or "
            "learning_rate=1e-4..1e-1:log or 'momentum=0,0.9 if optimizer=minibatch'.",
        ),
    ] = None,
    data: Data = "digits",
    target: Target = None,
    read: Read = None,
    grid: Annotated[bool, Option("--grid", help="Try every combination; this is the default.")] = False,
    random: Annotated[int | None, number(help="Try N random configurations.", least=1)] = None,
    one_at_a_time: Annotated[
        bool, Option("--one-at-a-time", help="Vary one hyperparameter after another, keeping the best values.")
    ] = False,
    tpe: Annotated[int | None, number(help="Try N configurations that Optuna's TPE proposes.", least=1)] = None,
    halving: Annotated[
        bool, Option("--halving", help="With --grid or --random: drop the worse two thirds early.")
    ] = False,
    epochs: Epochs = None,
    set_: Settings = None,
    metric: Annotated[
        str | None,
        Option(help="What to compare on the validation data: accuracy, loss or rmse; suits the task by default."),
    ] = None,
    seeds: Annotated[
        int, number(help="Number of random seeds per configuration; means are compared.", least=1, most=10_000)
    ] = 1,
    seed: Annotated[int, number(help="Random seed for the split, the weights, the batch order and the search.")] = 0,
    folder: Annotated[Path | None, Option(help="The folder of the study; studies/ARCH-DATA by default.")] = None,
    resume: Annotated[Path | None, Option(metavar="FOLDER", help="Continue the study in this folder.")] = None,
    on: Annotated[
        str | None,
        Option(
            metavar="WHERE",
            help="Train on processes:4 of this machine, on the Dask cluster dask://HOST:PORT, or on nodes of slurm "
            "(slurm:nodes=4,time=01:00:00,gpus=1,partition=gpu); in this process by default.",
        ),
    ] = None,
    part: Annotated[
        str | None, Option(metavar="I/N", help="Run only part I of N, without coordination (for job arrays).")
    ] = None,
    batch: Annotated[
        int | None, number(help="Train at most this many networks at once; as many as fit by default.", least=1)
    ] = None,
    again: Annotated[bool, Option("--again", help="Open the test split even if it was opened before.")] = False,
    device: Device = "auto",
    threads: Threads = 0,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Train many configurations of a network, choose one by validation, test it once, and write a report."""
    given = [word for word in words or () if "=" in word]
    names = [word for word in words or () if "=" not in word]
    from lamina.studies.engines.choose import Place
    from lamina.studies.folder import Part
    from lamina.training.runtime import Runtime

    place, asked, voice = Place(on), Runtime(device=device, threads=threads), Voice(quiet, verbose, as_json)
    runtime = place.runtime(asked)
    share = None if part is None else Part.read(part)
    said = Warnings()
    if resume is not None:
        if words or read or set_ or epochs is not None:
            raise ArgumentError("`--resume` takes the folder of a study and nothing that would change it.")
        from lamina.studies.search import open_problem
        from lamina.studies.study import Study

        study = Study.open(resume)
        with said:
            problem = open_problem(study)
    else:
        if len(names) != 1 or not given:
            raise ArgumentError(
                f"`lamina search` takes an architecture and values to try, got {' '.join(words or ()) or 'nothing'}: "
                "for example  lamina search fnn learning_rate=1e-4,1e-3 width=32,64"
            )
        from lamina.studies.halving import Halving
        from lamina.studies.search import plan
        from lamina.studies.space import Space
        from lamina.training.plan import check_options, load_for, option_types

        space = Space.read(given)
        sampler = _sampler(grid, random, one_at_a_time, tpe, seed)
        same = settings(set_, option_types(names[0]), flags=FLAGS) | ({} if epochs is None else {"epochs": epochs})
        check_options(names[0], same, seed=seed)
        with said:
            how = reading(read, data, target)
            problem, study = plan(
                names[0],
                load_for(names[0], data, how),
                space,
                sampler,
                options=same,
                seeds=seeds,
                seed=seed,
                metric=metric,
                halving=Halving() if halving else None,
                folder=folder,
                join=share is not None,
                runtime=runtime,
            )
    where = f"on {place}" if place.away else f"{runtime}, in {place}" if on else str(runtime)
    lines = (*problem.notes, where, *_no_kernels(problem))
    voice.say(*lines, f"{_size(study)} by {study.metric.replace('_', ' ')}, in {study.folder}")
    voice.more(f"space: {study.space}")
    said.show(quiet, told=() if voice.silent else lines)
    _run(study, problem, share, voice, on=on, batch=batch, again=again, runtime=asked)


def _no_kernels(problem: Any) -> list[str]:
    """Say that networks are stacked without kernels of our own, if they are."""
    import torch

    from lamina.kernels import native

    if not problem.stacks or torch.cuda.is_available() or native.works():
        return []
    return ["note: no C++ compiler was found, so torch computes the stacked networks: equal up to rounding, but slower"]


def _sampler(grid: bool, random: int | None, one_at_a_time: bool, tpe: int | None, seed: int) -> "Sampler":
    from lamina.studies.samplers import Grid, OneAtATime, Random
    from lamina.studies.tpe import TPE

    chosen = {
        "--grid": grid,
        "--random": random is not None,
        "--one-at-a-time": one_at_a_time,
        "--tpe": tpe is not None,
    }
    asked = [name for name, wanted in chosen.items() if wanted]
    if len(asked) > 1:
        raise ArgumentError(f"a search has one strategy, got {' and '.join(asked)}: leave one of them out.")
    if random is not None:
        return Random(random, seed)
    if tpe is not None:
        return TPE(tpe, seed=seed)
    return OneAtATime() if one_at_a_time else Grid()


def _size(study: "Study") -> str:
    total = study.total
    how = study.sampler.name + (" with halving" if "halving" in study.description else "")
    return f"{how}: {'configurations' if total is None else f'{total:,} configurations'}"


def _run(study: "Study", problem: Any, share: Any, voice: Voice, **how: Any) -> None:
    """Search, and say how it went; what was interrupted ends with exit code 1."""
    from lamina.studies.search import go_on

    said, begun = Warnings(), time.monotonic()
    try:
        with said, leaders(quiet=voice.silent) as watch:
            go_on(study, problem, part=share, watch=watch, **how)
    except (KeyboardInterrupt, RunError) as error:
        done = len(study.refresh().state.results)
        interrupted = f"interrupted after {done:,} configurations; they are saved."
        print(f"lamina: {error if isinstance(error, RunError) else interrupted}", file=sys.stderr)
        again = (f" --part {share}" if share else "") + (f" --on {how['on']}" if how["on"] else "")
        if not (isinstance(error, RunError) and study.complete):
            print(f"Continue with:  {study.resume_command}{again}", file=sys.stderr)
        raise typer.Exit(1) from None
    said.show(voice.quiet)
    voice.more(f"time: {time.monotonic() - begun:.1f} s")
    _finish(study, share, voice)


def _finish(study: "Study", share: Any, voice: Voice) -> None:
    from lamina.report import write_report
    from lamina.studies.space import spell_all
    from lamina.training.run import context, in_words

    if share is not None:
        facts = {"study": str(study.folder), "part": str(share), "configurations": len(study.state.results)}
        if voice.as_json:
            show_json(facts, None)
        elif voice.quiet:
            print(study.folder)
        else:
            say(f"part {share} is done. When all parts are done, run:  {study.resume_command}")
        return
    best, report, test = study.best, write_report(study.folder), study.test or {}
    metrics = test.get("metrics", {})
    if voice.as_json:
        facts = {"study": str(study.folder), "configurations": len(study.state.results), "best": best.values}
        found = {study.metric: best.outcome.value, "test": metrics, "baselines": test.get("baselines")}
        show_json({**facts, **found, "report": str(report)}, None)
        return
    if voice.quiet:
        print(study.folder)
        return
    examples, unit = test.get("examples", 0), test.get("unit", "")
    say(
        f"best: {spell_all(best.values)}  ({study.metric.replace('_', ' ')} {best.outcome.value:.4f})",
        f"test: {in_words(metrics, unit)} on {examples} test examples",
        *context(test.get("baselines") or (), examples, unit),
        f"report: {report}",
    )
    voice.next(f"lamina predict {study.folder / test.get('folder', 'best')} INPUT")
