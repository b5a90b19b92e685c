"""The end of a study: the best configuration looks at the test split, once.

The network that is tested is the one whose validation error was compared: its weights were kept. Where they were not,
the configuration is trained again on the training part alone, with the same recipe and the first seed, and a warning
says so.
"""

import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lamina import _system
from lamina._errors import DataWarning, RunError
from lamina.data.splits import Split
from lamina.populations.members import Member, training_data
from lamina.studies._keeping import Kept
from lamina.studies.problem import Problem
from lamina.studies.study import Study
from lamina.training.fit import adopt, fit, resume
from lamina.training.folder import RunFolder
from lamina.training.loop import Observer, Progress
from lamina.training.run import Evaluation, Run
from lamina.training.runtime import Runtime
from lamina.training.stopping import StopReason


def _refit(
    study: Study, problem: Problem, *, runtime: Runtime | None = None, observers: Sequence[Observer] = ()
) -> Run:
    """Make a run of the best configuration in `best/`: of its kept weights, or trained again."""
    best = study.best
    begun = [event for event in study.state.refits if event["trial"] == best.number]
    member = problem.members(best.values)[0]
    split = _noisy(problem.split, member)
    if begun:
        folder = study.folder / begun[-1]["folder"]
        if (folder / "config.toml").is_file():
            return _continued(folder, split, observers)
        shutil.rmtree(folder, ignore_errors=True)  # killed before it had anything
    else:
        folder = _next(study.folder / "best")
        study.note(event="refit", trial=best.number, folder=folder.name)
    kept = Kept.read(study.folder, best.number)
    if kept is not None:
        return _adopted(kept, member, problem, split, folder, runtime)
    warnings.warn(
        f"the weights of configuration {best.number} were not kept: it is trained again.", DataWarning, stacklevel=2
    )
    data = split if problem.stacks else problem.task.on(split)
    run = fit(member.build(), data, member.recipe, folder=folder, observers=observers, runtime=runtime,
              progress=False)  # fmt: skip
    return _checked(run)


def _adopted(kept: Kept, member: Member, problem: Problem, split: Split, folder: Path, runtime: Runtime | None) -> Run:
    """Make a run of kept weights; it is written under another name and moved, so that it is whole or absent."""
    how = f"one of {kept.together} networks trained as one" if kept.together > 1 else "trained in a search"
    epochs = f"all {member.recipe.epochs} epochs were done in the search"
    sentence = epochs if kept.reason == "epochs" else f"its rule {kept.reason!r} ended it in the search"
    reason = StopReason(kept.reason, sentence)
    progress = Progress(rows=kept.rows, best=kept.weights, best_row=kept.best_row)
    data = split if problem.stacks else problem.task.on(split)
    used = replace((runtime or Runtime()).ready(member.recipe.precision), step="auto")
    making = folder.with_name(f".{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    run = adopt(member.build(), data, member.recipe, progress, reason, folder=making, runtime=used, why=how)
    _system.replace(making, folder)
    run.model.to(used.device)
    return replace(run, folder=folder)


def evaluate(
    study: Study,
    problem: Problem,
    *,
    again: bool = False,
    runtime: Runtime | None = None,
    observers: Sequence[Observer] = (),
) -> Evaluation:
    """Open the test split for the best configuration, once in the life of a study, and write that down.

    Notes: N1.67 (§1.5).

    Args:
        study: where everything was tried.
        problem: what it was tried on.
        again: look another time although that makes the test error less honest; the record counts.
        runtime: device, threads and flags of the refit.
        observers: of the refit.

    Raises:
        RunError: the test split was opened for this study before.
    """
    before = study.refresh().state.tests
    if before and not again:
        raise RunError(
            f"the test split has already been opened for this study, for configuration {before[-1]['trial']}: a second "
            "look would be a choice by the test split. Read the result in study.test, or force it with --again."
        )
    run = _refit(study, problem, runtime=runtime, observers=observers)
    result = run.evaluate(again=bool(before))
    study.note(
        event="test",
        trial=study.best.number,
        folder=run.folder.name,
        examples=result.examples,
        metrics=result.metrics,
        baselines=result.baselines,
        unit=result.unit,
        openings=len(before) + 1,
    )
    return result


def _continued(folder: Path, split: Split, observers: Sequence[Observer]) -> Run:
    """Continue a run, or load it if it ended."""
    home = RunFolder.open(folder)
    state = home.status()["state"]
    if state in ("running", "interrupted"):
        run = resume(folder, data=split, observers=observers, progress=False)
    else:
        run = replace(Run.load(folder), split=split)
    return _checked(run)


def _checked(run: Run) -> Run:
    if run.reason.name == "interrupted":
        raise KeyboardInterrupt  # `fit` has saved everything; the search ends as it does in a trial
    if run.reason.failed:
        raise RunError(f"the best configuration, trained again in {run.folder}, failed: {run.reason.sentence}.")
    return run


def _next(base: Path) -> Path:
    """Find a name that is not taken."""
    number = 1
    while (path := base if number == 1 else base.with_name(f"{base.name}-{number}")).exists():
        number += 1
    return path


def _noisy(split: Split, member: Member) -> Split:
    """Give the split with the training labels that the member saw."""
    if not member.label_noise:
        return split
    return replace(split, train=training_data(member, split.train), origin=None)
