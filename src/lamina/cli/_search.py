"""`lamina search`: try many configurations, show the leaders, leave a study with a report."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lamina._errors import ArgumentError, RunError
from lamina.cli._leaders import leaders
from lamina.cli._options import Data, Device, Epochs, Json, Read, Settings, Target, Threads
from lamina.cli._progress import Warnings
from lamina.cli._values import settings

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
    random: Annotated[int | None, Option(metavar="N", help="Try N random configurations.")] = None,
    one_at_a_time: Annotated[
        bool, Option("--one-at-a-time", help="Vary one hyperparameter after another, keeping the best values.")
    ] = False,
    tpe: Annotated[int | None, Option(metavar="N", help="Try N configurations that Optuna's TPE proposes.")] = None,
    halving: Annotated[
        bool, Option("--halving", help="With --grid or --random: drop the worse two thirds early.")
    ] = False,
    epochs: Epochs = None,
    set_: Settings = None,
    metric: Annotated[
        str | None,
        Option(help="What to compare on the validation data: accuracy, loss or rmse; suits the task by default."),
    ] = None,
    seeds: Annotated[int, Option(help="Number of random seeds per configuration; means are compared.")] = 1,
    seed: Annotated[int, Option(help="Random seed for the split, the weights, the batch order and the search.")] = 0,
    folder: Annotated[Path | None, Option(help="The folder of the study; studies/ARCH-DATA by default.")] = None,
    resume: Annotated[Path | None, Option(metavar="FOLDER", help="Continue the study in this folder.")] = None,
    processes: Annotated[int, Option(help="Number of processes on this machine that share the work.")] = 1,
    part: Annotated[
        str | None, Option(metavar="I/N", help="Run only part I of N, without coordination (for job arrays).")
    ] = None,
    batch: Annotated[
        int | None, Option(help="Train at most this many networks at once; as many as fit by default.")
    ] = None,
    release: Annotated[bool, Option("--release", help="Take over what another machine has claimed.")] = False,
    again: Annotated[bool, Option("--again", help="Open the test split even if it was opened before.")] = False,
    device: Device = "cpu",
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Train many configurations of a network, choose one by validation, test it once, and write a report."""
    given = [word for word in words or () if "=" in word]
    names = [word for word in words or () if "=" not in word]
    from lamina.studies.folder import Part
    from lamina.training.runtime import Runtime

    runtime = Runtime(device=device, threads=threads)
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
        from lamina.training.plan import load_for

        space = Space.read(given)
        sampler = _sampler(grid, random, one_at_a_time, tpe, seed)
        same = settings(set_ or []) | ({} if epochs is None else {"epochs": epochs})
        with said:
            how = settings(read or [], "--read") | ({} if target is None else {"target": target})
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
    if not as_json:
        print(*problem.notes, sep="\n")
        print(f"{_size(study)} by {study.metric.replace('_', ' ')}, in {study.folder}", flush=True)
    said.show()
    _run(study, problem, share, as_json, processes=processes, batch=batch, release=release, again=again,
         runtime=runtime)  # fmt: skip


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


def _run(study: "Study", problem: Any, share: Any, as_json: bool, **how: Any) -> None:
    """Search, and say how it went; what was interrupted ends with exit code 1."""
    from lamina.studies.search import go_on

    said = Warnings()
    try:
        with said, leaders(quiet=as_json) as watch:
            go_on(study, problem, part=share, watch=watch, **how)
    except KeyboardInterrupt:
        done = len(study.refresh().state.results)
        print(f"lamina: interrupted after {done:,} configurations; they are saved.", file=sys.stderr)
        again = f" --part {share}" if share else ""
        print(f"Continue with:  {study.resume_command}{again}", file=sys.stderr)
        raise typer.Exit(1) from None
    except RunError as error:
        print(f"lamina: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    said.show()
    _finish(study, share, as_json)


def _finish(study: "Study", share: Any, as_json: bool) -> None:
    from lamina.report import write_report
    from lamina.studies.space import spell_all
    from lamina.training.run import context, in_words

    if share is not None:
        print(
            json.dumps({"study": str(study.folder), "part": str(share), "configurations": len(study.state.results)})
            if as_json
            else f"part {share} is done. When all parts are done, run:  {study.resume_command}"
        )
        return
    best, report, test = study.best, write_report(study.folder), study.test or {}
    metrics = test.get("metrics", {})
    if as_json:
        facts = {"study": str(study.folder), "configurations": len(study.state.results), "best": best.values}
        found = {study.metric: best.outcome.value, "test": metrics, "baselines": test.get("baselines")}
        print(json.dumps({**facts, **found, "report": str(report)}))
        return
    print(f"best: {spell_all(best.values)}  ({study.metric.replace('_', ' ')} {best.outcome.value:.4f})")
    examples, unit = test.get("examples", 0), test.get("unit", "")
    print(f"test: {in_words(metrics, unit)} on {examples} test examples")
    for line in context(test.get("baselines") or (), examples, unit):
        print(line)
    print(f"report: {report}")
