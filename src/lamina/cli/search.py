"""`lamina search`: try many configurations, show the leaders, leave a study with a report."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina._errors import ArgumentError, RunError
from lamina.cli.leaders import leaders
from lamina.cli.train import _Warnings as Warnings
from lamina.cli.values import settings

if TYPE_CHECKING:
    from lamina.studies.samplers import Sampler
    from lamina.studies.study import Study


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARCH NAME=VALUES...",
            help="A name from `lamina list`, then what varies: learning_rate=1e-4,1e-3 or dropout=0..0.5 or "
            "learning_rate=1e-4..1e-1:log or 'momentum=0,0.9 if optimizer=minibatch'.",
        ),
    ] = None,
    data: Annotated[
        str, typer.Option(help="A name from `lamina data list`, a folder of images, or a table.")
    ] = "digits",
    target: Annotated[str | None, typer.Option(help="The target column of a table.")] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="How to read the data: kind, text, window, horizon, reverse, ..."),
    ] = None,
    grid: Annotated[bool, typer.Option("--grid", help="Every combination; this is the default.")] = False,
    random: Annotated[int | None, typer.Option(metavar="N", help="N random configurations.")] = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Change one hyperparameter, keep its best value, go on.")
    ] = False,
    tpe: Annotated[int | None, typer.Option(metavar="N", help="N configurations that Optuna's TPE proposes.")] = None,
    halving: Annotated[
        bool, typer.Option("--halving", help="With --grid or --random: drop the worse two thirds on the way.")
    ] = False,
    epochs: Annotated[int | None, typer.Option(help="How many epochs; a sensible number by default.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option that is the same in all trials.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="accuracy, loss or mse, on the validation data.")] = None,
    seeds: Annotated[int, typer.Option(help="Train every configuration so many times and compare means.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the split, the order, the first weights and random choices.")] = 0,
    folder: Annotated[Path | None, typer.Option(help="The folder of the study; studies/ARCH-DATA by default.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with a study; nothing else.")] = None,
    processes: Annotated[int, typer.Option(help="How many processes on this machine share the work.")] = 1,
    part: Annotated[str | None, typer.Option(metavar="I/N", help="Do only this part, with no one to ask.")] = None,
    batch: Annotated[int | None, typer.Option(help="How many networks at most are trained at once.")] = None,
    release: Annotated[bool, typer.Option("--release", help="Take over what another machine has claimed.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Open the test split although it was opened.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="CPU threads; all by default.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a network with many configurations, choose by validation, test the best one once, write a report."""
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
                f"`lamina search` takes one architecture and what varies, got {' '.join(words or ()) or 'nothing'}: "
                "as in  lamina search fnn learning_rate=1e-4,1e-3 width=32,64"
            )
        from lamina.studies.halving import Halving
        from lamina.studies.search import plan
        from lamina.studies.space import Space
        from lamina.training.plan import load_for

        space = Space.read(given)
        sampler = _sampler(grid, random, one_at_a_time, tpe, seed)
        same = settings(set_ or []) | ({} if epochs is None else {"epochs": epochs})
        with said:
            problem, study = plan(
                names[0],
                load_for(
                    names[0], data, settings(read or [], "--read") | ({} if target is None else {"target": target})
                ),
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
        raise ArgumentError(f"a search has one way to choose, got {' and '.join(asked)}: leave one of them out.")
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
        print(f"Go on with:  {study.resume_command}{again}", file=sys.stderr)
        raise typer.Exit(1) from None
    except RunError as error:
        print(f"lamina: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    said.show()
    _finish(study, share, as_json)


def _finish(study: "Study", share: Any, as_json: bool) -> None:
    from lamina.report import write_report
    from lamina.studies.space import spell_all

    if share is not None:
        print(
            json.dumps({"study": str(study.folder), "part": str(share), "configurations": len(study.state.results)})
            if as_json
            else f"part {share} is done. When all are:  {study.resume_command}"
        )
        return
    best, report, test = study.best, write_report(study.folder), study.test or {}
    metrics = test.get("metrics", {})
    if as_json:
        facts = {"study": str(study.folder), "configurations": len(study.state.results), "best": best.values}
        print(json.dumps({**facts, study.metric: best.outcome.value, "test": metrics, "report": str(report)}))
        return
    print(f"best: {spell_all(best.values)}  ({study.metric.replace('_', ' ')} {best.outcome.value:.4f})")
    words = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in metrics.items())
    print(f"test: {words} on {test.get('examples', 0)} test examples")
    print(f"report: {report}")
