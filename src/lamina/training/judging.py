"""Judge answers that are words, labels at every step, or forecasts, on the test split."""

import math
from typing import TYPE_CHECKING, Any, cast

import torch

from lamina._errors import MissingExtraError
from lamina._types import Tensor
from lamina.data.dataset import Dataset, all_targets
from lamina.data.descriptions import DescriptionPreprocess
from lamina.data.text import answers_of, texts_of
from lamina.data.tokens import TextPreprocess, TokenSource
from lamina.data.translation_metrics import bleu, chrf, exact_share
from lamina.functional.metrics import forecast_errors, sequence_accuracy
from lamina.training.folder import RunFolder
from lamina.training.sequence_objective import TokenObjective
from lamina.training.sequence_step import sequence_loss_and_score, stream_loss_and_score
from lamina.training.streams import StreamSource
from lamina.training.texts import describe, translate

if TYPE_CHECKING:
    from lamina.training.run import Run

WORST = 24
SHOWN = 200
"""Characters of a text that a record shows."""

Judged = tuple[int, dict[str, float], list[dict[str, Any]] | None]
"""How many examples (characters of a running text), the metrics, and the worst mistakes."""


def judge_words(run: "Run", test: Dataset) -> Judged:
    """Judge a network with an answer at every step: a language model, a tagger or a translator."""
    task = run.preprocess.spec.task
    judge = {"language": _language, "tagging": _tagging, "translation": _translation, "description": _description}[task]
    return judge(run, test)


def _language(run: "Run", test: Dataset) -> Judged:
    recipe = RunFolder(run.folder).config()["recipe"]
    tokens = cast(TextPreprocess, run.preprocess).stream(test)
    rows, window = int(recipe.get("batch_size", 64)), int(recipe.get("window", 100))
    source = StreamSource.to_check(tokens, rows, window, _device(run))
    loss, score = stream_loss_and_score(run.model, source, run.objective)
    return len(tokens), _word_metrics(loss, score), None


def _tagging(run: "Run", test: Dataset) -> Judged:
    inputs, targets = test.take(torch.arange(len(test)))
    outputs = run.outputs(inputs)
    objective = cast(TokenObjective, run.objective)
    loss, score = float(objective.loss(outputs, targets)), int(objective.score(outputs, targets))
    metrics = _word_metrics(loss, score / max(1, int(objective.count(targets))))
    metrics["exact"] = sequence_accuracy(outputs.argmax(-1), targets, objective.ignore)
    return len(test), metrics, None


def _translation(run: "Run", test: Dataset) -> Judged:
    preprocess = cast(TextPreprocess, run.preprocess)
    source = TokenSource(preprocess.encode(test), _device(run))
    metrics = _word_metrics(*sequence_loss_and_score(run.model, source, run.objective))
    texts, answers = texts_of(test), answers_of(test)
    written, worth = translate(run.model, preprocess, texts)
    metrics["exact"] = exact_share(written, answers)
    try:
        metrics["bleu"], metrics["chrf"] = bleu(written, answers).score, chrf(written, answers).score
    except MissingExtraError:
        pass  # the extra `language` brings them
    wrong = [i for i in worth.argsort(descending=True).tolist() if written[i] != answers[i]]
    worst = [
        {"index": i, "text": texts[i][:SHOWN], "target": answers[i][:SHOWN], "output": written[i][:SHOWN]}
        for i in wrong[:WORST]
    ]
    return len(test), metrics, worst


def _description(run: "Run", test: Dataset) -> Judged:
    from lamina.training.evaluate import shown_example

    preprocess, objective = cast(DescriptionPreprocess, run.preprocess), cast(TokenObjective, run.objective)
    inputs = test.take(torch.arange(len(test)))[0]
    answers = answers_of(test)
    outputs, targets = run.outputs(inputs), preprocess.targets(all_targets(test))
    loss, score = float(objective.loss(outputs, targets)), int(objective.score(outputs, targets))
    metrics = _word_metrics(loss, score / max(1, int(objective.count(targets))))
    written, sure = describe(preprocess, outputs)
    metrics["exact"] = exact_share(written, answers)
    wrong = [i for i in sure.argsort(descending=True).tolist() if written[i] != answers[i]]
    worst = [
        {"index": i, "target": answers[i][:SHOWN], "output": written[i][:SHOWN], **shown_example(run, inputs[i])}
        for i in wrong[:WORST]
    ]
    return len(test), metrics, worst


def forecast_metrics(run: "Run", inputs: Tensor, targets: Tensor, given: Tensor) -> dict[str, float]:
    """Compare forecasts of a series with the naive one, which repeats the last value; nothing for other targets.

    Args:
        run: trained on a series.
        inputs: the windows.
        targets: what came, in its units.
        given: the forecasts, in the same.
    """
    spec = run.preprocess.spec
    columns = [i for i, name in enumerate(spec.features) if name in spec.target.split(", ")]
    if spec.kind != "series" or not columns or inputs.shape[1] < 2:
        return {}
    past = inputs[:, :, columns].double().movedim(1, 2)  # [example, column, time]
    if spec.task == "structured":  # an answer at every step: the naive one is the value of that step
        wanted, naive = targets.double().reshape(inputs.shape[0], -1), past.movedim(1, 2).flatten(1)
        errors = (given.double().reshape(wanted.shape) - wanted).abs()
        mae, naive_mae = errors.mean().item(), (naive - wanted).abs().mean().item()
        return {
            "rmse": errors.square().mean().sqrt().item(),
            "mase": mae / (past[..., 1:] - past[..., :-1]).abs().mean().item(),
            "naive_mae": naive_mae,
        }
    shape = (len(inputs), -1, len(columns))
    outputs, wanted = (values.double().reshape(shape).movedim(1, 2) for values in (given, targets))
    found = forecast_errors(outputs, wanted, past)
    return {"rmse": found.rmse, "mase": found.mase, "naive_mae": found.naive_mae}


def _word_metrics(loss: float, score: float) -> dict[str, float]:
    return {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "token_accuracy": score}


def _device(run: "Run") -> torch.device:
    return next(run.model.parameters()).device
