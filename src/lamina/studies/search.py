"""Search for the best configuration of a network: plan, try, choose by validation, test once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lamina._errors import ArgumentError
from lamina.data.dataset import Dataset
from lamina.data.splits import Split
from lamina.studies._dispatch import Dispatcher
from lamina.studies.engines.choose import Place
from lamina.studies.finish import evaluate
from lamina.studies.folder import Part
from lamina.studies.halving import Halving
from lamina.studies.problem import Problem
from lamina.studies.records import Moment
from lamina.studies.samplers import Grid, OneAtATime, Sampler
from lamina.studies.space import Space
from lamina.studies.study import Study, Watch
from lamina.training.folder import slug
from lamina.training.loop import Event
from lamina.training.recipe import Recipe
from lamina.training.runtime import Runtime


def search(
    architecture: str,
    data: str | Dataset | Split,
    space: Space | Mapping[str, Any],
    sampler: Sampler | None = None,
    *,
    recipe: Recipe | None = None,
    epochs: int | None = None,
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 1,
    metric: str | None = None,
    halving: Halving | None = None,
    folder: str | Path | None = None,
    on: Any = None,
    runtime: Runtime | None = None,
) -> Study:
    """Train a network with many configurations, choose the best one by validation, and test it once.

    Configurations of one shape are trained as one. The study is kept in a folder; continue a killed one with
    `resume_search`, or `lamina search --resume FOLDER`.

    Notes: N1.66, N1.67, N1.71 (§1.5).

    Args:
        architecture: a name from `lamina list`.
        data: a name, a path, a dataset or its split; divided 4:1:1 unless it is.
        space: what varies: flat names of the recipe, options of the network, `width`, `depth`, `label_noise`.
        sampler: what is tried: `Grid()`, `Random(100)`, `OneAtATime()` or `TPE(100)`.
        recipe: how to train where the space says nothing; what is recommended by default.
        epochs: how many epochs.
        options: what is the same in every trial, under flat names.
        seeds: how often every configuration is trained; its mean is compared.
        metric: "accuracy", "loss" or "rmse" on the validation data.
        halving: drop the worse configurations on the way.
        folder: where the study is kept; `studies/<architecture>-<data>` by default.
        on: where the networks are trained: "processes:4" on this machine, "dask://HOST:PORT", a `distributed.Client`,
            "slurm" or "slurm:nodes=4,time=01:00:00"; in this process by default.
        runtime: device, threads and flags.

    Returns:
        The study: `best`, `leaders()`, `test`, and in `best/` of its folder the network.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     study = search("fnn", "iris", {"learning_rate": [0.001, 0.03]}, epochs=8, folder=f"{place}/iris")
    >>> study.best.values, study.test["examples"]
    ({'learning_rate': 0.03}, 24)
    """
    place = Place(on)
    problem, study = plan(
        architecture,
        data,
        space,
        sampler,
        recipe=recipe,
        options={**(options or {}), **({} if epochs is None else {"epochs": epochs})},
        seeds=seeds,
        metric=metric,
        halving=halving,
        folder=folder,
        runtime=place.runtime(runtime or Runtime()),
    )
    return go_on(study, problem, on=on, runtime=runtime)


def plan(
    architecture: str,
    data: str | Dataset | Split,
    space: Space | Mapping[str, Any],
    sampler: Sampler | None = None,
    *,
    recipe: Recipe | None = None,
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 1,
    seed: int = 0,
    metric: str | None = None,
    halving: Halving | None = None,
    folder: str | Path | None = None,
    join: bool = False,
    runtime: Runtime | None = None,
) -> tuple[Problem, Study]:
    """Check everything and make the folder of a study; nothing is trained yet."""
    problem = Problem.make(architecture, data, recipe=recipe, options=options, seeds=seeds, seed=seed)
    space = problem.check(Space.of(space))
    varied = space.domain("precision").grid() if "precision" in space.names else ()
    for precision in (problem.recipe.precision, *varied):
        (runtime or Runtime()).ready(precision, stacked=True)
    sampler = sampler or Grid()
    if isinstance(sampler, OneAtATime) and not sampler.start:
        sampler = replace(sampler, start=tuple(problem.start(space).items()))
    if halving is not None and not sampler.static:
        raise ArgumentError(
            f"halving drops configurations of a stack that is known in advance, but {sampler.name!r} decides by "
            "results: use it with a grid or random search."
        )
    name, direction = problem.score(metric)
    if sampler.static:
        for values in sampler.propose(space, ())[:2000]:
            problem.members(values)
    study = Study.create(
        folder or Path("studies") / slug(f"{architecture}-{problem.split.train.spec.source or 'data'}"),
        space,
        sampler,
        direction=direction,
        metric=name,
        join=join,
        **({} if halving is None else {"halving": asdict(halving)}),
        problem=problem.describe(),
    )
    return problem, study


def resume_search(
    folder: str | Path,
    *,
    data: Split | None = None,
    on: Any = None,
    runtime: Runtime | None = None,
    watch: Watch = lambda study, moment: None,
    **how: Any,
) -> Study:
    """Continue a study that was killed, or finish one whose parts are done."""
    study = Study.open(folder)
    return go_on(study, open_problem(study, data), on=on, runtime=runtime, watch=watch, **how)


def open_problem(study: Study, data: Split | None = None) -> Problem:
    """Load network, data and recipe of a study again."""
    if "problem" not in study.description:
        raise ArgumentError(
            f"{study.folder} is a study of a function in Python: open it with Study.open(...) and call run(function)."
        )
    return Problem.restore(study.description["problem"], data)


def go_on(
    study: Study,
    problem: Problem,
    *,
    on: Any = None,
    part: Part | None = None,
    runtime: Runtime | None = None,
    batch: int | None = None,
    again: bool = False,
    watch: Watch = lambda study, moment: None,
) -> Study:
    """Try what is left; when nothing is, make a run of the best configuration and test it.

    Args:
        study: the study.
        problem: what it is about.
        on: where the networks are trained; see `search`.
        part: do only this part; the test is left to whoever finishes the study.
        runtime: device, threads and flags.
        batch: how many networks at most are trained at once.
        again: open the test split although it was opened before.
        watch: told about every result and every epoch.

    Raises:
        RunError: another process writes to the study.
    """
    with study.writing(part):
        work(study, problem, on=on, part=part, runtime=runtime, batch=batch, watch=watch)
        if part is None and study.complete and (again or not study.state.tests):
            epochs = problem.members(study.best.values)[0].recipe.epochs

            def refitting(event: Event) -> None:
                if event.row is not None:
                    watch(study, Moment(1, event.epoch, epochs))

            mine = Place(on).runtime(runtime or Runtime(), problem.recipe.precision)
            evaluate(study, problem, again=again, runtime=mine, observers=(refitting,))
        watch(study, None)
    return study


def work(
    study: Study,
    problem: Problem,
    *,
    on: Any = None,
    part: Part | None = None,
    runtime: Runtime | None = None,
    batch: int | None = None,
    watch: Watch = lambda study, moment: None,
) -> Study:
    """Train what is left until nothing is; the test is left to `go_on`."""
    if study.refresh().complete:
        return study  # no worker need be started
    with Place(on).engine(study, problem, runtime or Runtime()) as engine:
        dispatcher = Dispatcher(study, problem, engine, part=part, batch=batch, watch=watch)
        return study.run(dispatcher, part=part, watch=watch)
