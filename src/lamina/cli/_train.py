"""The verbs of a run: train, resume, evaluate, predict."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._options import Data, Device, Epochs, Json, Read, RunPath, Settings, Target, Threads
from lamina.cli._values import settings


def train(
    architecture: Annotated[str, Argument(metavar="ARCH", help="A name from `lamina list`.")],
    data: Data = "digits",
    target: Target = None,
    read: Read = None,
    epochs: Epochs = None,
    set_: Settings = None,
    seed: Annotated[
        int, Option(help="Random seed for the split, the initial weights, the batch order and the dropout masks.")
    ] = 0,
    out: Annotated[Path | None, Option(help="The folder of the run; runs/ARCH-DATA by default.")] = None,
    weights: Annotated[Path | None, Option(help="Start from the weights of a run or file (transfer learning).")] = None,
    freeze: Annotated[str | None, Option(help="With --weights: train only what comes after this stage.")] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    step: Annotated[
        str, Option(help="How to execute updates: auto, eager, compiled (on the CPU) or captured (on CUDA).")
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Train a network, evaluate it once on the test split, and write a run folder with a report."""
    from lamina.cli._progress import Warnings, progress
    from lamina.training.fit import fit
    from lamina.training.plan import plan
    from lamina.training.runtime import Runtime

    if freeze is not None and weights is None:
        raise ArgumentError("`--freeze` keeps loaded weights as they are: name them with --weights.")
    said = Warnings()
    options: dict[str, Any] = settings(read or [], "--read") | ({"target": target} if target is not None else {})
    with said:
        job = plan(
            architecture, data, data_options=options, options=settings(set_ or []), epochs=epochs, seed=seed, out=out
        )
        model, notes = job.model, list(job.notes)
        if weights is not None:
            from lamina.training.weights import prepare_transfer

            model, sentence = prepare_transfer(model, weights, freeze=freeze)
            notes.append(sentence)
    if not as_json:
        print(*notes, sep="\n")
    said.show()
    with said, progress(job.recipe.epochs, job.batches, quiet=as_json) as watch:
        run = fit(
            model,
            job.task,
            job.recipe,
            folder=job.folder,
            observers=(watch,),
            runtime=Runtime(device=device, threads=threads, step=step),
            start={"weights": str(weights), **({"freeze": freeze} if freeze else {})} if weights else None,
        )
    said.show()
    _finish(run, as_json)


def resume(
    run: RunPath,
    epochs: Annotated[int | None, Option(help="Total number of epochs; as planned by default.")] = None,
    as_json: Json = False,
) -> None:
    """Continue a run that was killed or interrupted, bit for bit as if it had never stopped."""
    from lamina.cli._progress import Warnings, progress
    from lamina.training.fit import resume as resume_run
    from lamina.training.folder import RunFolder

    recipe = RunFolder.open(run).config()["recipe"]
    said = Warnings()
    with said, progress(epochs or recipe["epochs"], quiet=as_json) as watch:
        result = resume_run(run, observers=(watch,), epochs=epochs)
    said.show()
    _finish(result, as_json)


def _finish(run: Any, as_json: bool) -> None:
    """Evaluate, report, and say how it went; a run that failed ends with exit code 1."""
    if run.reason.failed:
        print(f"lamina: {run.reason.sentence}.", file=sys.stderr)
        if run.reason.name == "interrupted":
            print(f"Continue with:  lamina resume {run.folder}", file=sys.stderr)
        raise typer.Exit(1)
    result = run.evaluate()
    from lamina.report.render import write_report

    report = write_report(run.folder)
    if as_json:
        print(
            json.dumps(
                {"run": str(run.folder), "stopped": run.reason.name, "test": result.metrics, "report": str(report)}
            )
        )
        return
    print(f"ended: {run.reason.sentence}")
    print(f"test: {result}")
    print(f"report: {report}")


def evaluate(
    run: RunPath,
    again: Annotated[
        bool, Option("--again", help="Open the test split once more, and record that it was opened.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how well a trained network does on the test split, which is opened only once."""
    from lamina.training.run import Run

    result = Run.load(run).evaluate(again=again)
    print(
        json.dumps({"examples": result.examples, "openings": result.openings, **result.metrics})
        if as_json
        else f"test: {result}"
    )


def predict(
    run: RunPath,
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
    top: Annotated[int, Option(help="Number of classes to show, the most probable first.")] = 5,
    coverage: Annotated[
        float | None,
        Option(help="Also give intervals, or sets of classes, that hold the truth this often, such as 0.9."),
    ] = None,
    beams: Annotated[int, Option(help="Translation: number of beams in the search.")] = 1,
    length_penalty: Annotated[float, Option(help="Translation: 0 favors short translations, 1 does not.")] = 1.0,
    copy: Annotated[bool, Option(help="Translation: copy unknown words from the input.")] = True,
    prompt: Annotated[str | None, Option(help="Language models: the beginning of the text.")] = None,
    length: Annotated[int, Option(help="Language models: number of characters to write.")] = 200,
    temperature: Annotated[
        float, Option(help="Language models: 0 always takes the most probable character, 1 samples as learned.")
    ] = 1.0,
    top_k: Annotated[
        int | None, Option(help="Language models: sample from the K most probable characters; all by default.")
    ] = None,
    seed: Annotated[int, Option(help="Language models: random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Predict with a trained network: label pictures, table rows or texts, translate, or continue a text."""
    from lamina.cli._progress import Warnings
    from lamina.training.predictions import check_suffix
    from lamina.training.run import Run

    if output is not None:
        check_suffix(output)
    trained = Run.load(run)
    piped = "-" in (inputs or [])
    if piped and inputs != ["-"]:
        raise ArgumentError("`-` reads standard input and must be the only INPUT: name files, or pipe one of them.")
    if trained.task.writes:
        given = [sys.stdin.read().removesuffix("\n")] if piped else inputs or []
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
    options: dict[str, Any] = {"beams": beams, "length_penalty": length_penalty, "copy_unknown": copy}
    with (said := Warnings()):
        what: Any = sys.stdin.buffer.read() if piped else list(inputs)
        found = trained.predict(what, coverage=coverage, **options)
    said.show()
    if output is not None:
        print(f"{len(found)} predictions written to {found.save(output)}")
    elif as_json:
        print(json.dumps(_plain(found, top)))
    elif found.texts and found.classes:
        for name, text, row in zip(found.names, found.texts, found.values.tolist(), strict=True):
            chances = ", ".join(f"{label} {p:.1%}" for label, p in zip(found.classes, row, strict=True))
            print(f"{name}: {text} ({chances})")
    elif found.texts or (piped and trained.task.reads_texts):  # line by line, so that they can be piped on
        named = len(found) > 1 and not piped
        for name, answer in zip(found.names, found.answers, strict=True):
            print(f"{name}: {answer}" if named else answer)
    elif found.classes:
        sets = [f"{{{', '.join(classes)}}}; " for classes in found.sets] or [""] * len(found)
        for name, held, ranking in zip(found.names, sets, found.top(top), strict=True):
            print(f"{name}: {held}" + ", ".join(f"{label} {probability:.1%}" for label, probability in ranking))
    else:
        for name, answer in zip(found.names, found.answers, strict=True):
            print(f"{name}: {answer}")


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
    ends = [{"intervals": row} for row in found.intervals] or [{}] * len(found)
    return [{"name": name, "outputs": row, **end} for name, row, end in zip(found.names, values, ends, strict=True)]
