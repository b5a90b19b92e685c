"""Dropout against overfitting in large dense layers (§3 of the notes)."""

from itertools import product

import torch

from lamina._types import Tensor
from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset, Subset
from lamina.data.load import load
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, differences, experiment
from lamina.experiments.trained import parts, train
from lamina.functional.losses import negative_log_likelihood
from lamina.functional.random import as_generator
from lamina.training.recipe import Adam, Recipe


@experiment("N3.57")
def dropout_gap(
    seeds: range = range(3), count: int = 200, width: int = 256, epochs: int = 60, wrong: float = 0.2
) -> Result:
    r"""Train large dense layers on few pictures of digits, with and without dropout, and compare with unseen ones.

    Two hidden layers of `width` units, Adam on batches of 50. The gap is the accuracy on the training part, less that
    on all other digits. Where a share of the training labels is wrong, a network that learns them by heart pays for
    it, and dropout keeps it from that. With right labels both know 200 of these easy pictures by heart, and there is
    little left to gain: those rows are reported, and nothing is claimed of them.

    Notes: N3.57 (§3).
    Corrects: E46, kept units are scaled up while training, so that nothing changes afterwards.

    Args:
        seeds: pictures, wrong labels and initial weights.
        count: pictures to train with.
        width: units of each hidden layer.
        epochs: passes through them.
        wrong: the share of training labels that are replaced by random ones.
    """
    found = {
        case: [
            list(each) for each in zip(*(_learned(count, *case, width, epochs, seed) for seed in seeds), strict=True)
        ]
        for case in product((wrong, 0.0), (0.0, 0.5))
    }
    seen, unseen, _ = ({case: columns[k] for case, columns in found.items()} for k in range(3))
    gaps = {case: differences(seen[case], unseen[case]) for case in found}
    mean = {case: [_mean_and_spread(each)[0] for each in columns] for case, columns in found.items()}
    rows = [(*case, *mean[case][:2], *_mean_and_spread(gap), mean[case][2]) for case, gap in gaps.items()]
    narrower, better = (differences(each[wrong, 0.5], each[wrong, 0.0]) for each in (gaps, unseen))
    return Result(
        f"{count} digits, {width} + {width} hidden ReLU units, {epochs} epochs of Adam, {len(seeds)} seeds",
        ("wrong labels", "dropout", "seen", "unseen", "gap", "spread", "loss on unseen"),
        rows,
        Claim.on_average("without dropout wrong labels are learned by heart too: the accuracy on the training part",
                         seen[wrong, 0.0], least=0.99),
        Claim.on_average("the gap to unseen pictures with dropout, less that without,", narrower, most=-0.02),
        Claim.on_average("the accuracy on unseen pictures with dropout, less that without,", better, least=0.01),
        plot=Plot("dropout", ("seen", "unseen"), "bars", by=("wrong labels",), y_label="accuracy"),
    )  # fmt: skip


def few_digits(count: int, wrong: float, seed: int) -> tuple[ArrayDataset, Subset]:
    """Give some of the embedded digits to train with, a share of them with random labels, and all others as they are.

    >>> [len(part) for part in few_digits(200, 0.2, seed=0)]
    [200, 1597]
    """
    full, g = load("digits"), as_generator(seed)
    assert isinstance(full, ArrayDataset)
    order = torch.randperm(len(full), generator=g)
    labels: Tensor = full.targets[order[:count]].clone()
    changed = torch.rand(count, generator=g) < wrong
    labels[changed] = torch.randint(10, (int(changed.sum()),), generator=g)
    return ArrayDataset(full.inputs[order[:count]], labels, full.spec), Subset(full, order[count:])


def _learned(count: int, wrong: float, rate: float, width: int, epochs: int, seed: int) -> tuple[float, float, float]:
    """Return the accuracy on the training part and on the other digits, and the loss on these."""
    seen, other = few_digits(count, wrong, seed)
    network = build("fnn", inputs=64, outputs=10, hidden=(width, width), dropout=rate, seed=seed)
    trained = train(network, parts(seen), Recipe(optimizer=Adam(1e-3), epochs=epochs, batch_size=50, seed=seed))
    outputs, targets = trained.outputs(other)
    return trained.accuracy(seen), trained.accuracy(other), negative_log_likelihood(outputs, targets).item()
