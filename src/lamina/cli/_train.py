"""The verbs of a run: train, resume, evaluate, predict."""

import csv
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
    with said, progress(job.recipe.epochs, job.batches, quiet=as_json, unit=job.task.unit) as watch:
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
    from lamina.training.tasks.kinds import read_task

    home = RunFolder.open(run)
    recipe, unit = home.config()["recipe"], read_task(home.json("preprocess")).unit
    said = Warnings()
    with said, progress(epochs or recipe["epochs"], quiet=as_json, unit=unit) as watch:
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
        facts = {"run": str(run.folder), "stopped": run.reason.name, "test": result.metrics}
        print(json.dumps({**facts, **_compared(result), "report": str(report)}))
        return
    print(f"ended: {run.reason.sentence}")
    print(f"test: {result}", *result.context, sep="\n")
    print(f"report: {report}")


def _compared(result: Any) -> dict[str, Any]:
    """Give what a network is compared with, for JSON."""
    return {"baselines": result.baselines, "beaten": result.beaten}


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
    from lamina.cli._tables import show, show_json
    from lamina.training.run import Run

    said = Warnings()
    with said:
        result = Run.load(run).evaluate(data, again=again)
    said.show()
    if as_json:
        where = {"openings": result.openings} if data is None else {"data": data, "per_class": result.per_class}
        show_json({"examples": result.examples, **where, **result.metrics, **_compared(result)}, None)
        return
    print(f"{'test' if data is None else data}: {result}", *result.context, sep="\n")
    if data is not None and result.per_class:
        names = ("class", "examples", "precision", "recall", "f1")
        rows = [[str(row[name]) if name in names[:2] else f"{row[name]:.3f}" for name in names]
                for row in result.per_class if row["examples"] or row["precision"]]  # fmt: skip
        show(names, rows, right=(1, 2, 3, 4))


def predict(
    run: RunPath,
    inputs: Annotated[
        list[str] | None,
        Argument(metavar="INPUT...", help="Pictures, folders of pictures, tables, texts, or files of texts."),
    ] = None,
    output: Annotated[Path | None, Option("-o", "--output", help="Write a CSV file instead of printing.")] = None,
    top: Annotated[int, Option(help="Number of classes to show, the most probable first.")] = 5,
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
    from lamina.training.run import Run

    trained = Run.load(run)
    if trained.task.writes:
        prompts = [*(inputs or []), *([] if prompt is None else [prompt])] or [""]
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
    said = Warnings()
    with said:
        found = trained.predict(list(inputs), beams=beams, length_penalty=length_penalty, copy_unknown=copy)
    said.show()
    if output is not None:
        with open(output, "w", newline="", encoding="utf-8") as file:
            _write(csv.writer(file), found)
        print(f"{len(found)} predictions written to {output}")
    elif as_json:
        print(json.dumps(_plain(found, top)))
    elif found.texts:
        for name, text in zip(found.names, found.texts, strict=True):
            print(text if len(found) == 1 else f"{name}: {text}")
    elif found.classes:
        for name, ranking in zip(found.names, found.top(top), strict=True):
            print(name + ": " + ", ".join(f"{label} {probability:.1%}" for label, probability in ranking))
    elif found.forecasts():
        for name, moment, values in found.forecasts():
            before = "" if len(found) == 1 else f"{name} "
            print(f"{before}{moment}: " + ", ".join(f"{value:.6g}" for value in values))
    else:
        for name, values in zip(found.names, found.values.tolist(), strict=True):
            print(name + ": " + ", ".join(f"{value:.6g}" for value in values))


def _write(table: Any, found: Any) -> None:
    if found.texts:
        table.writerow(["name", "text", "value"])
        table.writerows([*row] for row in zip(found.names, found.texts, found.values[:, 0].tolist(), strict=True))
    elif found.classes:
        table.writerow(["name", "label", "probability", *(f"p({label})" for label in found.classes)])
        for name, label, row in zip(found.names, found.labels, found.values.tolist(), strict=True):
            table.writerow([name, label, max(row), *row])
    elif found.forecasts():
        table.writerow(["name", "moment", *found.columns])
        table.writerows([name, moment, *values] for name, moment, values in found.forecasts())
    else:
        table.writerow(["name", *(f"output{j + 1}" for j in range(found.values.shape[1]))])
        table.writerows([name, *row] for name, row in zip(found.names, found.values.tolist(), strict=True))


def _plain(found: Any, top: int) -> list[dict[str, Any]]:
    if found.texts:
        rows = zip(found.names, found.texts, found.values[:, 0].tolist(), strict=True)
        return [{"name": name, "text": text, "value": value} for name, text, value in rows]
    if found.classes:
        return [
            {"name": name, "label": ranking[0][0], "top": dict(ranking)}
            for name, ranking in zip(found.names, found.top(top), strict=True)
        ]
    plain = [{"name": name, "outputs": row} for name, row in zip(found.names, found.values.tolist(), strict=True)]
    if not found.forecasts():
        return plain
    return [row | {"moments": list(moments)} for row, moments in zip(plain, found.moments, strict=True)]
