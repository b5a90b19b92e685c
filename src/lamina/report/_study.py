"""Read everything that a report shows from the folder of a study."""

from pathlib import Path
from typing import Any

from lamina.architectures.build import find
from lamina.data.tables import spell_targets
from lamina.report._commands import flat_recipe
from lamina.report._formatting import plain, scrub
from lamina.report._study_record import Axis, StudyRecord, Tried
from lamina.studies.space import Choices, Domain, Hyperparameter, spell
from lamina.studies.study import Study

FOLDERS = ("studies", "runs")


def read(folder: str | Path) -> StudyRecord:
    """Turn the folder of a study into the plain values of its report."""
    study = Study.open(folder)
    problem: dict[str, Any] = study.description.get("problem", {})
    source = str(problem.get("data", {}).get("source", ""))
    whole = study.folder.resolve()
    name = f"{whole.parent.name}/{whole.name}" if whole.parent.name in FOLDERS else whole.name
    axes = tuple(_axis(each) for each in study.space.hyperparameters)
    return StudyRecord(
        name,
        f"{problem['architecture']} on {_data(source)}" if problem else whole.name,
        tuple(scrub(line, source) for line in _lines(problem)),
        study.metric,
        study.direction,
        _how(study),
        axes,
        tuple(_tried(study, result) for result in study.results),
        study.total,
        study.complete,
        tuple(problem["examples"]) if problem else None,
        study.test,
        tuple(_same(study, problem)),
        tuple(_command(study, problem, source)),
        ("lamina", "search", "--resume", name),
        len(problem.get("seeds", (0,))),
    )


def _data(source: str) -> str:
    return scrub(source, source) or "data in memory"


def _lines(problem: dict[str, Any]) -> list[str]:
    if not problem:
        return []
    entry = find(problem["architecture"])
    title = entry.title[:1].upper() + entry.title[1:]
    return [f"{title} ({entry.place}).", problem["notes"][0]]


def _how(study: Study) -> str:
    words = {
        "grid": "every combination",
        "random": "drawn at random",
        "one-at-a-time": "one hyperparameter changed at a time",
        "tpe": "proposed by TPE",
    }[study.sampler.name]
    return words + ("; the worse ones were dropped along the way" if "halving" in study.description else "")


def _axis(each: Hyperparameter) -> Axis:
    domain: Domain = each.domain
    if isinstance(domain, Choices) or domain.points is not None:
        return Axis(each.name, tuple(_say(value) for value in domain.grid()))
    return Axis(each.name, ends=(float(domain.low), float(domain.high)), log=domain.log)


def _say(value: Any) -> str:
    """Write a value for people: 0.5 and 1e-05, not 0.50 and 0.00001."""
    return f"{value:g}" if isinstance(value, float) else spell(value)


def _tried(study: Study, result: Any) -> Tried:
    listed = {each.name: not _axis(each).ends for each in study.space.hyperparameters}
    values = {name: _say(value) if listed[name] else float(value) for name, value in result.values.items()}
    outcome = result.outcome
    return Tried(
        result.number,
        values,
        outcome.value,
        outcome.state,
        outcome.tie,
        outcome.epochs,
        outcome.curve,
        outcome.seconds,
    )


def _same(study: Study, problem: dict[str, Any]) -> list[tuple[str, str]]:
    if not problem:
        return []
    flat = flat_recipe(problem["recipe"])
    shown = [(name, plain(value)) for name, value in flat.items() if name not in study.space.names]
    shown = [pair for pair in shown if pair[0] not in ("seed", "check_every", "sampling")]
    return [*(tuple(word.split("=", 1)) for word in problem["options"]), *shown]


def _command(study: Study, problem: dict[str, Any], source: str) -> list[str]:
    if not problem or not problem["data"].get("reload", False):
        return []
    words = ["lamina", "search", problem["architecture"], "--data", _data(source)]
    target = problem["data"].get("options", {}).get("target")
    words += ["--target", spell_targets(target)] if target else []
    sampler: Any = study.sampler
    words += {
        "grid": ["--grid"],
        "random": ["--random", str(getattr(sampler, "trials", 0))],
        "one-at-a-time": ["--one-at-a-time"],
        "tpe": ["--tpe", str(getattr(sampler, "trials", 0))],
    }[sampler.name]
    words += study.space.words()
    words += ["--halving"] if "halving" in study.description else []
    seeds = problem["seeds"]
    words += ["--epochs", str(problem["recipe"]["epochs"])]
    words += ["--seeds", str(len(seeds))] if len(seeds) > 1 else []
    words += ["--seed", str(problem["recipe"]["seed"])] if problem["recipe"]["seed"] else []
    for word in (*problem["options"], *problem["fixed"]):
        words += ["--set", word] if not word.startswith("epochs=") else []
    natural = "accuracy" if problem["task"] in ("classification", "multilabel") else "rmse"
    metric = study.metric.removeprefix("validation_")
    return words + (["--metric", metric] if metric != natural else [])
