"""Examples that have any number of labels: several of them, one, or none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec, all_targets, weights_of
from lamina.data.describe import labels_text
from lamina.training.predictions import Predictions
from lamina.training.tasks._answers import judge_labels
from lamina.training.tasks._baselines import Baseline, each_usual, weighed
from lamina.training.tasks.arrays import Arrays

if TYPE_CHECKING:
    from lamina.training.run import Run


class Labels(Arrays):
    """Pictures, tables and vectors with labels of which an example may have several: one logit for each label.

    The loss is the mean binary cross entropy of the labels, and a label is guessed from a probability of one half on.
    """

    @classmethod
    def score_of(cls, spec: Spec) -> str:
        """Name the score of a check: the share of right answers, the mean over the labels."""
        return "accuracy"

    @classmethod
    def headline_of(cls, spec: Spec) -> str:
        """Name the metric of the test split to look at first: accuracy is high wherever labels are rare."""
        return "micro_f1"

    def judge(self, run: "Run", test: Dataset) -> dict[str, Any]:
        """Judge a trained network on data it has never seen."""
        judged = self.examined(run.model, test)
        found = judge_labels(run.objective, self.spec.classes, *judged)
        found["metrics"] |= self.measured(run, judged[2], judged[1], judged[3])
        return found

    def usual(self, train: Dataset) -> dict[str, Any]:
        """Give the share of the training part that has each label."""
        if (found := getattr(train, "statistics", None)) is not None:  # of a table that stays on disk
            return {"shares": (found.targets.double() / found.rows).tolist()}
        return {"shares": weighed(all_targets(train).double(), weights_of(train)).mean(0).tolist()}

    def baselines(self, usual: Mapping[str, Any], test: Dataset) -> list[Baseline]:
        """Judge what is most frequent, label by label."""
        return [each_usual(usual["shares"], all_targets(test), weights_of(test))]

    def truth(self, target: Tensor) -> str:
        """Name the labels of an example."""
        return labels_text(self.spec.classes, target)

    def told(self, names: tuple[str, ...], outputs: Tensor) -> Predictions:
        """Give the probability of each label, and name those from one half on."""
        values, classes = self.values(outputs), self.spec.classes
        return Predictions(names, classes, values, tuple(labels_text(classes, row) for row in values))

    def values(self, outputs: Tensor) -> Tensor:
        """Give the probability of each label."""
        return outputs.reshape(outputs.shape[0], -1).sigmoid()
