"""The verbs of a run: train, resume, evaluate, predict."""

import csv
import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from lamina._errors import ArgumentError, DataWarning
from lamina.cli.values import settings

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


def train(
    architecture: Annotated[str, typer.Argument(metavar="ARCH", help="A name from `lamina list`.")],
    data: Annotated[
        str, typer.Option(help="A name from `lamina data list`, a folder of images, a table, or a file of texts.")
    ] = "digits",
    target: Annotated[str | None, typer.Option(help="The target column of a table.")] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="How to read the data: kind, text, window, horizon, reverse, ..."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="How many epochs; a sensible number by default.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of recipe or network.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split, the weights, the order and all masks.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The folder of the run; runs/ARCH-DATA by default.")] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Start from the weights of a run or a file (transfer learning).")
    ] = None,
    freeze: Annotated[str | None, typer.Option(help="With --weights: train only what comes after this stage.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="CPU threads; by default as many as the work can use.")] = 0,
    step: Annotated[
        str, typer.Option(help="How an update runs: auto, eager, compiled (on the CPU) or captured (on CUDA).")
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Train a network, open the test split once at the end, and leave a run folder with a report."""
    from lamina.cli.progress import progress
    from lamina.training.fit import fit
    from lamina.training.plan import plan
    from lamina.training.runtime import Runtime

    if freeze is not None and weights is None:
        raise ArgumentError("`--freeze` keeps loaded weights as they are: give them with --weights.")
    said = _Warnings()
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
    epochs: Annotated[int | None, typer.Option(help="Train up to so many epochs instead.")] = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that was killed or interrupted, bit for bit."""
    from lamina.cli.progress import progress
    from lamina.training.fit import resume as resume_run
    from lamina.training.folder import RunFolder

    recipe = RunFolder.open(run).config()["recipe"]
    said = _Warnings()
    with said, progress(epochs or recipe["epochs"], quiet=as_json) as watch:
        result = resume_run(run, observers=(watch,), epochs=epochs)
    said.show()
    _finish(result, as_json)


def _finish(run: Any, as_json: bool) -> None:
    """Evaluate, report, and say how it went; a run that failed ends with exit code 1."""
    if run.reason.failed:
        print(f"lamina: {run.reason.sentence}.", file=sys.stderr)
        if run.reason.name == "interrupted":
            print(f"Go on with:  lamina resume {run.folder}", file=sys.stderr)
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
    again: Annotated[bool, typer.Option(help="Open the test split another time; the record then says so.")] = False,
    as_json: Json = False,
) -> None:
    """Show how the network does on the test split, which is opened once."""
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
        typer.Argument(metavar="INPUT...", help="Pictures, a folder of pictures, tables, texts, or files of texts."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write a CSV file instead of printing.")] = None,
    top: Annotated[int, typer.Option(help="How many classes to show.")] = 5,
    beams: Annotated[int, typer.Option(help="Translations: how many beginnings to keep.")] = 1,
    length_penalty: Annotated[float, typer.Option(help="Translations: 0 favors short ones, 1 does not.")] = 1.0,
    copy: Annotated[bool, typer.Option(help="Translations: copy unknown words of the text.")] = True,
    prompt: Annotated[str | None, typer.Option(help="Language models: how the text begins.")] = None,
    length: Annotated[int, typer.Option(help="Language models: how many characters to write.")] = 200,
    temperature: Annotated[float, typer.Option(help="Language models: 0 for the most probable, 1 as learned.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Language models: choose among so many.")] = None,
    seed: Annotated[int, typer.Option(help="Language models: which draw.")] = 0,
    as_json: Json = False,
) -> None:
    """Predict with a trained network: pictures, rows of a table, texts, what comes next."""
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
    found = trained.predict(list(inputs), beams=beams, length_penalty=length_penalty, copy_unknown=copy)
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
    return [{"name": name, "outputs": row} for name, row in zip(found.names, found.values.tolist(), strict=True)]


class _Warnings:
    """Catch warnings about data and show each once, as a sentence."""

    def __enter__(self) -> None:
        self._catcher = warnings.catch_warnings(record=True)
        self._caught = self._catcher.__enter__()
        warnings.simplefilter("always", DataWarning)

    def __exit__(self, *error: Any) -> None:
        self._messages = list(
            dict.fromkeys(str(w.message) for w in self._caught or () if issubclass(w.category, DataWarning))
        )
        self._catcher.__exit__(*error)

    def show(self) -> None:
        for message in self._messages:
            print(f"note: {message}", file=sys.stderr)
