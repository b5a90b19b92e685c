"""Judge a run on its test split: the only place that opens it."""

import base64
import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from lamina._types import Tensor
from lamina.data.text import text_of
from lamina.functional.activations import probabilities
from lamina.functional.metrics import accuracy, auc, calibration, confusion, f1_scores, r2
from lamina.training.folder import RunFolder
from lamina.training.judging import SHOWN as SHOWN_TEXT
from lamina.training.judging import forecast_metrics, judge_words
from lamina.training.sequence_objective import TOKEN_TASKS

if TYPE_CHECKING:
    from lamina.training.run import Run

WORST = 24
SHOWN = 64


@dataclass(frozen=True)
class Evaluation:
    """What a network does on examples it has never seen.

    Args:
        examples: how many there were.
        metrics: loss, accuracy, macro F1 and AUC; or loss, mean squared error, mean absolute error and R^2, for a
            series also the errors against the naive forecast; or of words loss, perplexity and accuracy, for
            translations the share of exact ones, BLEU and chrF.
        openings: how often the test split was opened for this run; more than 1 means that it was looked at again.
        confusion: how often each class (row) was taken for each (column).
        per_class: precision, recall and F1 of each class.
        calibration: how often predictions of some confidence were right.
        worst: the mistakes made with the most confidence, with thumbnails of pictures; or the largest errors.
        predictions: guess and confidence of every example, or target and output.
        weights: the digest of the weights that were judged; other weights are another look at the test split.
    """

    examples: int
    metrics: dict[str, float]
    openings: int = 1
    confusion: list[list[int]] | None = None
    per_class: list[dict[str, Any]] | None = None
    calibration: dict[str, Any] | None = None
    worst: list[dict[str, Any]] | None = None
    predictions: list[list[float]] | None = None
    weights: str = ""

    def __str__(self) -> str:
        values = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in self.metrics.items())
        again = "" if self.openings == 1 else f"; the test split was opened {self.openings} times"
        return f"{values} on {self.examples} test examples{again}"


def evaluate(run: "Run", *, again: bool = False) -> Evaluation:
    """Open the test split of a run once, judge, and store the result in its folder."""
    home = RunFolder(run.folder)
    before = home.json("evaluation") if home.has("evaluation.json") else None
    weights = home.weights_digest()
    if before is not None and not again and before["weights"] == weights:
        return Evaluation(**before)
    from lamina.training.fit import reload

    split = run.split or reload(home.config()["data"])
    test = split.open_test()
    openings = 1 + (before or {}).get("openings", 0)
    if run.preprocess.spec.task in TOKEN_TASKS:
        examples, metrics, worst = judge_words(run, test)
        result = Evaluation(examples, metrics, openings, worst=worst)
    else:
        inputs, targets = test.take(torch.arange(len(test)))
        judge = _classes if run.preprocess.spec.task == "classification" else _numbers
        result = judge(run, inputs, targets, run.outputs(inputs), openings)
    home.write_json("evaluation", {**vars(result), "weights": weights})
    return Evaluation(**home.json("evaluation"))


def _classes(run: "Run", inputs: Tensor, labels: Tensor, outputs: Tensor, openings: int) -> Evaluation:
    p = probabilities(outputs)
    guesses, certain = p.argmax(1), p.max(1).values
    counts = confusion(guesses, labels, p.shape[1])
    right = guesses == labels
    present = counts.sum(1) > 0
    areas = [auc(p[:, k], (labels == k).long()) for k in present.nonzero().flatten().tolist()]
    areas = [area for area in areas if area == area]
    metrics = {"loss": float(run.objective.loss(outputs, labels)), "accuracy": accuracy(guesses, labels)}
    metrics["f1"] = float(f1_scores(counts)[present].mean())
    if areas:
        metrics["auc"] = sum(areas) / len(areas)
    names = run.preprocess.spec.classes
    found = counts.diagonal().double()
    precision, recall = found / counts.sum(0).clamp(min=1), found / counts.sum(1).clamp(min=1)
    per_class = [
        {
            "class": name,
            "examples": int(counts[k].sum()),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "f1": float(f),
        }
        for k, (name, f) in enumerate(zip(names, f1_scores(counts).tolist(), strict=True))
    ]
    mistakes = (~right).nonzero().flatten()
    order = mistakes[certain[mistakes].argsort(descending=True, stable=True)][:WORST].tolist()
    worst = [
        {
            "index": i,
            "label": names[labels[i]],
            "guess": names[guesses[i]],
            "confidence": float(certain[i]),
            **shown_example(run, inputs[i]),
        }
        for i in order
    ]
    columns = labels.tolist(), guesses.tolist(), certain.tolist()
    predictions = [[a, b, round(c, 6)] for a, b, c in zip(*columns, strict=True)]
    return Evaluation(
        len(labels),
        metrics,
        openings,
        counts.tolist(),
        per_class,
        asdict(calibration(certain, right.long())),
        worst,
        predictions,
    )


def _numbers(run: "Run", inputs: Tensor, targets: Tensor, outputs: Tensor, openings: int) -> Evaluation:
    wanted = targets.double().reshape(len(targets), -1)
    given = run.preprocess.untargets(outputs).double().reshape(len(outputs), -1)
    loss = float(run.objective.loss(outputs, run.preprocess.targets(targets)))
    errors = given - wanted
    metrics = {
        "loss": loss,
        "mse": float((errors**2).mean()),
        "mae": float(errors.abs().mean()),
        "r2": r2(given, wanted),
        **forecast_metrics(run, inputs, targets, given),
    }
    order = errors.square().sum(1).argsort(descending=True, stable=True)[:WORST].tolist()
    worst = [
        {"index": i, "target": wanted[i, 0].item(), "output": given[i, 0].item(), **shown_example(run, inputs[i])}
        for i in order
    ]
    columns = wanted[:, 0].tolist(), given[:, 0].tolist()
    predictions = [[round(a, 6), round(b, 6)] for a, b in zip(*columns, strict=True)]
    return Evaluation(len(targets), metrics, openings, worst=worst, predictions=predictions)


def shown_example(run: "Run", example: Tensor) -> dict[str, Any]:
    """Give what the report shows of an example: a small picture, or its values by name."""
    spec = run.preprocess.spec
    if spec.kind == "image":
        return {"picture": thumbnail(example)}
    if spec.kind == "text":
        return {"values": {"text": text_of(example)[:SHOWN_TEXT]}}
    if spec.kind == "tokens":
        words = [spec.symbols[i] if i < len(spec.symbols) else str(i) for i in example.tolist()]
        return {"values": {"tokens": " ".join(words)[:SHOWN_TEXT]}}
    if spec.kind == "series":
        return {
            "values": {f"last {name}": round(float(x), 6) for name, x in zip(spec.features, example[-1], strict=False)}
        }
    names = spec.features or tuple(f"x{j + 1}" for j in range(example.numel()))
    return {
        "values": {
            name: _cell(spec, j, value)
            for j, (name, value) in enumerate(zip(names, example.flatten().tolist(), strict=False))
            if j < 12
        }
    }


def _cell(spec: Any, column: int, value: float) -> Any:
    levels = spec.levels[column] if spec.levels else ()
    if value != value:
        return None
    return levels[int(value)] if levels else round(value, 6)


def thumbnail(image: Tensor) -> str:
    """Encode a picture as a small PNG in a data address, for a report that needs no other file."""
    from PIL import Image

    pixels = image if image.dtype == torch.uint8 else (image.clamp(0, 1) * 255).round().to(torch.uint8)
    array = pixels[0].numpy() if pixels.shape[0] == 1 else pixels[:3].permute(1, 2, 0).contiguous().numpy()
    picture = Image.fromarray(array)
    picture.thumbnail((SHOWN, SHOWN))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
