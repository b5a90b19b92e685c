"""Judge a run on its test split: the only place that opens it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamina.training.folder import RunFolder
from lamina.training.rebuild import reload

if TYPE_CHECKING:
    from lamina.training.run import Run


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
    split = run.split or reload(home.config()["data"])
    test = split.open_test()
    openings = 1 + (before or {}).get("openings", 0)
    result = Evaluation(**run.task.judge(run, test), openings=openings)
    home.write_json("evaluation", {**vars(result), "weights": weights})
    return Evaluation(**home.json("evaluation"))
