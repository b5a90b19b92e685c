"""The verbs of a run: train, resume, evaluate, predict."""

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._config import from_config, with_config
from lamina.cli._names import architectures
from lamina.cli._options import (
    Data,
    Device,
    Epochs,
    Json,
    Quiet,
    RanksOption,
    Read,
    RunPath,
    Settings,
    Shares,
    Target,
    Threads,
    Track,
    Verbose,
)
from lamina.cli._tables import show, show_json
from lamina.cli._usage import number
from lamina.cli._values import reading, settings, shares
from lamina.cli._voice import Voice, say

_MOST_PIPED = 2 * 10**9
"""Bytes that `predict` takes from the standard input."""

FLAGS = ("seed", "data", "target", "read", "split", "out", "again", "weights", "freeze", "device", "threads", "ranks",
         "track", "config")  # fmt: skip
"""Options of `lamina train` that `--set` does not take."""


def train(
    context: typer.Context,
    architecture: Annotated[
        str, Argument(metavar="ARCH", help="A name from `lamina list`.", autocompletion=architectures)
    ],
    config: Annotated[
        Path | None,
        Option(
            is_eager=True,
            callback=from_config,
            help="Take options from a TOML or JSON file, or from the folder of a run; those typed win.",
        ),
    ] = None,
    data: Data = "digits",
    target: Target = None,
    read: Read = None,
    split: Shares = "4:1:1",
    epochs: Epochs = None,
    set_: Settings = None,
    seed: Annotated[
        int, number(help="Random seed for the split, the initial weights, the batch order and the dropout masks.")
    ] = 0,
    out: Annotated[
        Path | None,
        Option(
            help="The folder of the run; by default runs/ARCH-DATA, or with the next free number, runs/ARCH-DATA-2."
        ),
    ] = None,
    again: Annotated[
        bool, Option("--again", help="If the folder of --out exists, take its name with the next free number.")
    ] = False,
    weights: Annotated[
        str | None,
        Option(
            help="Start from the weights of a run, a file, a pushed folder, or a name such as resnet18-imagenet "
            "(transfer learning)."
        ),
    ] = None,
    freeze: Annotated[
        str | None,
        Option(help="With --weights: keep the stages up to this one as they are, but train layers that start anew."),
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    step: Annotated[
        str, Option(help="How to execute updates: auto, eager, compiled (on the CPU) or captured (on CUDA).")
    ] = "auto",
    ranks: RanksOption = None,
    batch_norm: Annotated[
        str,
        Option(help="With several ranks: normalize over the whole batch (global) or over each rank's part (local)."),
    ] = "global",
    track: Track = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Train a network, evaluate it once on the test split, and write a run folder with a report."""
    together = _ranks(ranks)
    from lamina.cli._progress import Warnings
    from lamina.training.fit import fit
    from lamina.training.plan import check_options, option_types, plan
    from lamina.training.ranks import found_again
    from lamina.training.runtime import Runtime
    from lamina.training.tracking import trackers

    watching = trackers(track or ())
    if freeze is not None and weights is None:
        raise ArgumentError("`--freeze` keeps loaded weights as they are: name them with --weights.")
    taken = together.first and out is not None and out.exists() and not again
    if taken and out is not None and found_again(out, together.agents) is None:
        raise ArgumentError(
            f"`--out` {out} exists, and no run overwrites another: choose another name, or add --again, which appends "
            "the next free number."
        )
    said, voice, begun = Warnings(), Voice(quiet or not together.first, verbose, as_json), time.monotonic()
    chosen = settings(with_config(context, "set_", set_), option_types(architecture), flags=FLAGS)
    check_options(architecture, chosen, epochs, seed)
    ratios = shares(split)
    asked = Runtime(device=device, threads=threads, step=step, batch_norm=batch_norm)
    runtime = together.runtime(asked.ready(chosen.get("precision", "float32")))
    options = reading(with_config(context, "read", read), data, target)
    with said:
        job = plan(architecture, data, data_options=options, options=chosen, epochs=epochs, seed=seed, out=out,
                   weights=weights, freeze=freeze, ratios=ratios)  # fmt: skip
        runtime = job.task.threads(runtime, job.model, job.recipe)
    voice.say(*job.notes, f"{runtime}{together}")
    if not voice.silent:
        notes = together.notes(runtime.device, job.task.examples(job.recipe), step)
        say(*(f"note: {note}" for note in notes), stream=sys.stderr)
    voice.more(*(f"{key}: {value}" for key, value in options.items()))
    said.show(voice.quiet, told=() if voice.silent else job.notes)
    with said:
        run = fit(
            job.model,
            job.task,
            job.recipe,
            folder=job.folder,
            observers=watching,
            runtime=runtime,
            start={"weights": str(weights), **({"freeze": freeze} if freeze else {})} if weights else None,
            progress=not voice.silent,
        )
    said.show(voice.quiet)
    _finish(run, voice, begun, together)


def resume(
    run: RunPath,
    epochs: Annotated[
        int | None,
        number(
            help="Total number of epochs, those that are done included; more than planned train longer, also a run "
            "that has ended.",
            least=1,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Continue with another learning_rate, schedule, penalty, patience, ...; the run records both. May be "
            "repeated.",
        ),
    ] = None,
    ranks: RanksOption = None,
    track: Track = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Continue a run that was killed or interrupted, bit for bit as if it had never stopped, or train it longer."""
    from lamina.cli._progress import Warnings
    from lamina.training.fit import resume as resume_run
    from lamina.training.folder import RunFolder
    from lamina.training.recipe import option_types
    from lamina.training.tracking import trackers

    together = _ranks(ranks)
    if together.first:
        RunFolder.open(run)
    options, watching = settings(set_, option_types(), flags=("epochs",)), trackers(track or ())
    said, voice, begun = Warnings(), Voice(quiet or not together.first, verbose, as_json), time.monotonic()
    with said:
        result = resume_run(run, observers=watching, epochs=epochs, options=options, progress=not voice.silent)
    said.show(voice.quiet)
    _finish(result, voice, begun, together)


def _ranks(number: int | None) -> Any:
    """Give the ranks among which this process is one; start them if they are asked for, and end as they do."""
    from lamina.training.ranks import join, launch, started_by_torchrun

    if number is not None and not started_by_torchrun():
        raise typer.Exit(launch(number))
    together = join()
    if number is not None and number != together.size:
        raise ArgumentError(f"`--ranks` {number} does not fit torchrun, which started {together.size}: leave it out.")
    return together


def _finish(run: Any, voice: Voice, begun: float, together: Any) -> None:
    """Evaluate, report, and say how it went; a run that failed ends with exit code 1. Only the first rank does."""
    if not together.first:
        raise typer.Exit(1 if run.reason.failed else 0)
    if run.reason.failed:
        print(f"lamina: {run.reason.sentence}.", file=sys.stderr)
        if run.reason.name == "interrupted":
            print(f"Continue with:  lamina resume {run.folder}{together.option}", file=sys.stderr)
        if voice.as_json:
            show_json({"run": str(run.folder), "stopped": run.reason.name, "test": None}, None)
        raise typer.Exit(1)
    result = run.evaluate()
    from lamina.report._commands import linear, spell
    from lamina.report._commands import predict as predicting
    from lamina.report._record import read as read_record
    from lamina.report.render import write_report
    from lamina.training.folder import RunFolder

    report = write_report(run.folder)
    if voice.as_json:
        facts = {"run": str(run.folder), "stopped": run.reason.name, "test": result.metrics}
        show_json({**facts, **_compared(result), "report": str(report)}, None)
        return
    if voice.quiet:
        print(run.folder)
        return
    used = RunFolder(run.folder).json("environment")
    voice.more(f"updates: {used['step']}" + (f", because {used['step_reason']}" if used.get("step_reason") else ""))
    voice.more(f"time: {time.monotonic() - begun:.1f} s")
    record, lines = read_record(run.folder), result.context
    if record.simpler and (words := linear(record)):
        lines[-1] += f" Train one with:  {shlex.join([*words[:4], record.source, *words[5:]])}"
    say(f"ended: {run.reason.sentence}", f"test: {result}", *lines, f"report: {report}")
    words = predicting(record)
    voice.next(spell([*words[:2], str(run.folder), *words[3:]]))


def _compared(result: Any) -> dict[str, Any]:
    """Give what a network is compared with, for JSON."""
    return {"baselines": result.baselines, "beaten": result.beaten, "linear": result.linear}


def evaluate(
    run: RunPath,
    data: Annotated[
        str | None,
        Argument(
            metavar="DATA",
            help="New data with their answers: a table, a folder of pictures, a file of texts or a series like the "
            "training data, or a name from `lamina data list`; the test split by default.",
        ),
    ] = None,
    again: Annotated[
        bool, Option("--again", help="Open the test split once more, and record that it was opened.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how well a trained network does on the test split, which is opened only once, or on new labeled data."""
    from lamina.cli._progress import Warnings
    from lamina.training.run import Run

    with (said := Warnings()):
        result = Run.load(run).evaluate(data, again=again)
    said.show()
    if as_json:
        where = {"openings": result.openings} if data is None else {"data": data, "per_class": result.per_class}
        show_json({"examples": result.examples, **where, **result.metrics, **_compared(result)}, None)
        return
    say(f"{'test' if data is None else data}: {result}", *result.context)
    if data is not None and result.per_class:
        names = ("class", "examples", "precision", "recall", "f1")
        rows = [
            [str(row[name]) if name in names[:2] else f"{row[name]:.3f}" for name in names]
            for row in result.per_class
            if row["examples"] or row["precision"]
        ]
        show(names, rows, right=(1, 2, 3, 4))


def predict(
    run: Annotated[
        Path, Argument(metavar="RUN", help="The folder of a run, an exported .safetensors file or a pushed folder.")
    ],
    inputs: Annotated[
        list[str] | None,
        Argument(
            metavar="INPUT...",
            help="Pictures, folders of pictures, tables, texts, or files of texts; - reads standard input.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Write a .csv, .tsv, .parquet or .jsonl file, with the columns that were read, instead of printing.",
        ),
    ] = None,
    top: Annotated[int, number(help="Number of classes to show, the most probable first.", least=1)] = 5,
    coverage: Annotated[
        float | None,
        number(
            help="Also give intervals, or sets of classes, that hold the truth this often, such as 0.9.",
            kind=float,
            metavar="X",
        ),
    ] = None,
    beams: Annotated[int, number(help="Translation: number of beams in the search.", least=1)] = 1,
    length_penalty: Annotated[
        float, number(help="Translation: 0 favors short translations, 1 does not.", kind=float, metavar="X")
    ] = 1.0,
    copy: Annotated[bool, Option(help="Translation: copy unknown words from the input.")] = True,
    prompt: Annotated[str | None, Option(help="Language models: the beginning of the text.")] = None,
    length: Annotated[int, number(help="Language models: number of characters to write.")] = 200,
    temperature: Annotated[
        float,
        number(
            help="Language models: 0 always takes the most probable character, 1 samples as learned.",
            kind=float,
            metavar="X",
        ),
    ] = 1.0,
    top_k: Annotated[
        int | None,
        number(help="Language models: sample from the K most probable characters; all by default.", least=1),
    ] = None,
    seed: Annotated[int, number(help="Language models: random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Predict with a trained network: label pictures, table rows or texts, translate, or continue a text."""
    from lamina.cli._progress import Warnings
    from lamina.report._commands import spell
    from lamina.training.predictions import check_suffix
    from lamina.training.run import Run

    if output is not None:
        check_suffix(output)
    if coverage is not None and not 0 < coverage < 1:
        raise ArgumentError(f"`--coverage` must lie between 0 and 1, such as 0.9, got {coverage:g}.")
    trained = Run.load(run)
    piped = "-" in (inputs or [])
    if piped and inputs != ["-"]:
        raise ArgumentError("`-` reads standard input and must be the only INPUT: name files, or pipe one of them.")
    if trained.task.writes:
        given = [_piped().decode("utf-8", "replace").removesuffix("\n")] if piped else inputs or []
        prompts = [*given, *([] if prompt is None else [prompt])] or [""]
        texts = [trained.write(p, length, temperature=temperature, top_k=top_k, seed=seed) for p in prompts]
        print(json.dumps(texts) if as_json else "\n".join(texts))
        return
    if prompt is not None:
        raise ArgumentError(
            f"`--prompt` is for language models, but the run was trained for {trained.preprocess.spec.task}: give "
            "the input alone."
        )
    if not inputs:
        raise ArgumentError("`INPUT` is missing: name a picture, a table or a text to predict.")
    if output is not None and len(inputs) == 1 and not piped and trained.task.blocks(inputs[0]) is not None:
        with (said := Warnings()):
            count = trained.predict_file(inputs[0], output, coverage=coverage)
        said.show()
        _written(count, output, run)
        return
    options: dict[str, Any] = {"beams": beams, "length_penalty": length_penalty, "copy_unknown": copy}
    with (said := Warnings()):
        what: Any = _piped() if piped else list(inputs)
        found = trained.predict(what, coverage=coverage, **options)
    said.show()
    if output is not None:
        found.save(output)
        _written(len(found), output, run)
    elif as_json:
        show_json(_plain(found, top), None)
    else:
        bare = piped and trained.task.reads_texts  # line by line, so that they can be piped on
        lines = list(zip(found.names, found.answers, strict=True)) if bare else found.lines(top)
        alone = bare or (bool(found.texts) and not found.classes and len(found) == 1)
        print(*(words if alone else f"{name}: {words}" for name, words in lines), sep="\n")
        if sys.stdout.isatty():
            Voice().next(spell(["lamina", "predict", str(run), *inputs, "-o", "predictions.csv"]))


def _piped() -> bytes:
    """Read the standard input, which may never end."""
    content = sys.stdin.buffer.read(_MOST_PIPED + 1)
    if len(content) > _MOST_PIPED:
        raise ArgumentError(
            f"standard input has more than {_MOST_PIPED / 1e9:.0f} GB: write it into a file, and give that."
        )
    return content


def _written(count: int, output: Path, run: Path) -> None:
    """Say how many predictions are in a file, and what could come next."""
    from lamina.report._commands import spell

    print(f"{count} prediction{'s' * (count != 1)} written to {output}")
    Voice().next(spell(["lamina", "report", str(run)]))


def _plain(found: Any, top: int) -> list[dict[str, Any]]:
    """Give plain values for JSON, null for an example that has no answer."""
    values = [[None if value != value else value for value in row] for row in found.values.tolist()]
    if found.texts and found.classes:
        return [
            {"name": name, "labels": text, "probabilities": dict(zip(found.classes, row, strict=True))}
            for name, text, row in zip(found.names, found.texts, values, strict=True)
        ]
    if found.texts:
        rows = zip(found.names, found.texts, values, strict=True)
        return [{"name": name, "text": text, "value": row[0]} for name, text, row in rows]
    if found.classes:
        sets = [{"set": list(classes)} for classes in found.sets] or [{}] * len(found)
        ranked = zip(found.names, found.labels, found.top(top), sets, strict=True)
        return [{"name": name, "label": label or None, "top": dict(best), **held} for name, label, best, held in ranked]
    ends: list[dict[str, Any]] = [{"intervals": row} for row in found.intervals] or [{} for _ in found.names]
    if found.forecasts():
        ends = [end | {"moments": list(moments)} for end, moments in zip(ends, found.moments, strict=True)]
    return [{"name": name, "outputs": row, **end} for name, row, end in zip(found.names, values, ends, strict=True)]
