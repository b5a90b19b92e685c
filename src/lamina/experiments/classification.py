"""Classification with two and with many classes, on word counts and pictures of digits (§2.4 and §3 of the notes)."""

from typing import Any, NamedTuple, cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.build import build
from lamina.data.dataset import ArrayDataset, all_targets
from lamina.data.load import load
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.synthetic import spam, spam_logit
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, differences, experiment, summary
from lamina.experiments.trained import Trained, train
from lamina.functional.activations import probabilities
from lamina.functional.losses import binary_cross_entropy, negative_log_likelihood
from lamina.functional.metrics import accuracy, auc, calibration, confusion
from lamina.functional.random import as_generator
from lamina.training.recipe import Adam, Recipe


class _Digits(NamedTuple):
    """How pictures of digits are split and learned, the least accuracies, and by how much LeNet-5 is ahead at least."""

    ratios: tuple[int, int, int]
    epochs: int
    learning_rate: float
    batch_size: int
    fnn: float
    relu: float
    sigmoid: float
    gain: float


SETS = {
    "digits": _Digits((4, 1, 1), 8, 3e-3, 32, 0.92, 0.94, 0.9, -0.015),
    "mnist": _Digits((1, 0, 0), 5, 1e-3, 128, 0.97, 0.985, 0.963, 0.005),
}
"""The embedded digits, enlarged to 28 x 28, for quick runs; and MNIST, all 60,000 training pictures."""


def digits(data: str, seed: int) -> tuple[_Digits, Split]:
    """Give one of `SETS` and a split of it.

    >>> about, parts = digits("digits", seed=0)
    >>> about.epochs, len(parts.train), len(parts.test)
    (8, 1199, 299)
    """
    about = SETS[data]
    return about, load(data).split(seed=seed, ratios=about.ratios)  # type: ignore[attr-defined]


def _learn_digits(name: str, data: str, seed: int, **options: Any) -> tuple[Trained, Split]:
    """Train an architecture for pictures of 28 x 28 and ten classes as `SETS` says."""
    about, parts = digits(data, seed)
    shape = 784 if name == "fnn" else (1, 28, 28)
    network = build(name, inputs=shape, outputs=10, seed=seed, **options)
    recipe = Recipe(Adam(about.learning_rate), epochs=about.epochs, batch_size=about.batch_size, seed=seed)
    return train(network, parts, recipe), parts


def _parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


@experiment("N2.56")
def several_classes(data: tuple[str, ...] = ("iris", "wine", "digits"), seeds: range = range(3)) -> Result:
    r"""Look at the labels of data with three or more classes, and at two classes as the special case.

    Classes are numbered from 0. With two of them the softmax of the logits (0, z) is the sigmoid of z, and the negative
    log-likelihood is the binary cross entropy: the last column is their largest difference for the classes 0 and 1 of
    each set, with random logits.

    Notes: N2.56 (§2.4).
    Corrects: E43, components are counted from 1 in the notes while labels start at 0; here both start at 0.

    Args:
        data: names of sets with at least 3 classes.
        seeds: random logits.
    """
    rows = []
    for name in data:
        loaded = load(name)
        labels, spec = all_targets(loaded), loaded.spec
        binary = labels[labels < 2]
        differences = []
        for seed in seeds:
            z = 5 * torch.randn(len(binary), generator=as_generator(seed), dtype=torch.float64)
            both = torch.stack([torch.zeros_like(z), z], 1)
            losses = negative_log_likelihood(both, binary) - binary_cross_entropy(z, binary.double())
            differences += [losses.abs().item(), (both.softmax(1)[:, 1] - z.sigmoid()).abs().max().item()]
        found = labels.unique().tolist()
        rows.append((name, len(labels), spec.outputs, found[0], found[-1], len(found), max(differences)))
    return Result(
        "labels of data with several classes",
        ("data", "examples", "classes", "first label", "last label", "labels", "two classes apart"),
        rows,
        Claim("there are at least 3 classes", all(row[2] >= 3 for row in rows)),
        Claim("labels are 0, ..., n - 1, all of them present",
              all((row[3], row[4], row[5]) == (0, row[2] - 1, row[2]) for row in rows)),
        Claim("two classes are the case n = 2: softmax and its loss are sigmoid and binary cross entropy, to 1e-12",
              all(row[6] < 1e-12 for row in rows)),
        plot=Plot("data", ("classes",), "bars"),
    )  # fmt: skip


@experiment("N2.57")
def digit_pictures(data: str = "digits") -> Result:
    r"""Look at pictures of digits as they are stored: shapes, gray values, counts.

    Bytes 0 to 255 stand for gray values in [0, 1]. MNIST has 60,000 + 10,000 pictures of 28 x 28; the embedded digits,
    8 x 8, are the substitute where MNIST is not at hand, enlarged to 28 x 28 for the networks.

    Notes: N2.57 (§2.4).
    Corrects: E77, the pictures are gray, not black and white.

    Args:
        data: "digits" or "mnist".

    >>> digit_pictures().check().rows
    (('all', 1797, '1x8x8', 0.0, 1.0, 17, 174),)
    """
    loaded = cast(ArrayDataset, load(data))
    parts = {"all" if loaded.official_test is None else "official training": loaded}
    if loaded.official_test is not None:
        parts["official test"] = cast(ArrayDataset, loaded.official_test)
    rows = []
    for part, dataset in parts.items():
        gray, counts = dataset.inputs.unique().double() / 255, dataset.targets.bincount(minlength=10)
        shape = "x".join(map(str, dataset.inputs.shape[1:]))
        rows.append((part, len(dataset), shape, gray[0].item(), gray[-1].item(), len(gray), int(counts.min())))
    prepared = Preprocess.fit(loaded, 784).apply(loaded.inputs[:2])
    sizes = [(60_000, "1x28x28"), (10_000, "1x28x28")] if data == "mnist" else [(1797, "1x8x8")]
    return Result(
        f"pictures of {data}",
        ("part", "pictures", "shape", "least", "largest", "gray values", "in the rarest class"),
        rows,
        Claim(f"there are {' + '.join(str(size) for size, _ in sizes)} pictures of {sizes[0][1]}",
              [(row[1], row[2]) for row in rows] == sizes),
        Claim("values fill [0, 1], and there are more than black and white",
              all(row[3] == 0 and row[4] == 1 and row[5] > 2 for row in rows)),
        Claim("there are ten classes, 0 to 9, each in every part",
              loaded.spec.classes == tuple("0123456789") and all(row[6] > 0 for row in rows)),
        Claim("a network gets each of them as 784 numbers", tuple(prepared.shape) == (2, 784)),
    )  # fmt: skip


@experiment("N2.63")
def fnn_on_digits(seeds: range = range(3), data: str = "digits") -> Result:
    r"""Train 784-128-64-10 with ReLU, softmax and negative log-likelihood on pictures of digits.

    The table is the confusion matrix of the test part, all seeds added: how often each digit (row) was taken for each.
    "right" is the share of right answers, in the mean over the seeds.

    Notes: N2.63 (§2.4).
    Corrects: E43, the network gives logits; their softmax gives the probabilities.

    Args:
        seeds: weights, order of the pictures and, where there is no official test part, splits.
        data: a name of `SETS`.
    """
    about, matrices, sums, parameters = SETS[data], [], [], 0
    for seed in seeds:
        trained, parts = _learn_digits("fnn", data, seed, hidden=(128, 64))
        logits, labels = trained.outputs(parts.open_test())
        p, parameters = probabilities(logits.double()), _parameters(trained.network)
        sums.append((p.sum(1) - 1).abs().max().item())
        matrices.append(confusion(p.argmax(1), labels, 10))
    total = torch.stack(matrices).sum(0)
    shares = torch.stack([m.diagonal() / m.sum(1) for m in matrices], 1).tolist()
    rows: list[tuple[Any, ...]] = [
        (str(digit), *counts, *_mean_and_spread(share))
        for digit, (counts, share) in enumerate(zip(total.tolist(), shares, strict=True))
    ]
    whole = [(m.trace() / m.sum()).item() for m in matrices]
    rows.append(("all", *total.sum(0).tolist(), *_mean_and_spread(whole)))
    return Result(
        f"784-128-64-10 on {data}, {about.epochs} epochs of Adam, {len(seeds)} seeds: test pictures taken for",
        ("digit", *map(str, range(10)), "right", "spread"),
        rows,
        Claim.on_average("the test accuracy", whole, least=about.fnn),
        Claim.often("every digit is recognized more often than taken for any other",
                    [bool((m.diagonal() == m.amax(1)).all()) for m in matrices]),
        Claim("probabilities sum to 1, to 1e-12", max(sums) < 1e-12),
        Claim("the network has 109,386 parameters", parameters == 109_386),
        plot=Plot("digit", ("right",), "bars", y_label="share of right answers"),
    )  # fmt: skip


@experiment("N2.64")
def spam_filter(seeds: range = range(3), count: int = 6000, epochs: int = 10) -> Result:
    r"""Tell spam from other messages by word counts, with probabilities that can be trusted.

    The data are made up, so that the exact probability of spam is known; no model can be better on average. The
    calibration error is the mean distance between the predicted probability of spam and the share of spam among the
    messages with that prediction, in ten bins.

    Notes: N2.64 (§2.4).
    Corrects: E30, the output is the modeled probability of label 1, $P(S = 1 \mid u, \theta)$.

    Args:
        seeds: messages, splits and weights.
        count: messages, of which a sixth is the test part.
        epochs: passes through the training part.
    """
    numbers: dict[str, list[tuple[float, ...]]] = {
        name: [] for name in ("always 'not spam'", "20-1", "20-16-1", "exact")
    }
    for seed in seeds:
        data = spam(count, seed=seed)
        parts = data.split(seed=seed)
        test = parts.open_test()
        counts, labels = test.take(torch.arange(len(test)))
        share = all_targets(parts.train).double().mean()
        logits = {"always 'not spam'": share.logit().expand(len(labels)), "exact": spam_logit(counts)}
        for name, hidden in (("20-1", ()), ("20-16-1", (16,))):
            network = build("fnn", inputs=20, outputs=1, hidden=hidden, seed=seed)
            recipe = Recipe(optimizer=Adam(3e-3), epochs=epochs, batch_size=50, seed=seed)
            logits[name] = train(network, parts, recipe).outputs(test)[0][:, 0].double()
        for name, z in logits.items():
            loss = binary_cross_entropy(z, labels.double()).item()
            error = calibration(z.sigmoid(), labels).error
            numbers[name].append((accuracy((z >= 0).long(), labels), auc(z, labels), loss, error))
    rows: list[tuple[Any, ...]] = []
    for name, runs in numbers.items():
        shares, *others = zip(*runs, strict=True)
        rows.append((name, *_mean_and_spread(shares), *(_mean_and_spread(values)[0] for values in others)))
    losses = {name: [run[2] for run in runs] for name, runs in numbers.items()}
    ahead = {name: [run[0] - other[0] for run, other in zip(runs, numbers["always 'not spam'"], strict=True)]
             for name, runs in numbers.items()}  # fmt: skip
    excess = {name: differences(each, losses["exact"]) for name, each in losses.items()}
    models = ("20-1", "20-16-1")
    return Result(
        f"spam by word counts, {count} messages, {epochs} epochs of Adam, {len(seeds)} seeds: means on the test part",
        ("model", "accuracy", "spread", "AUC", "loss", "calibration error"),
        rows,
        *(Claim.on_average(f"the accuracy of {name}, less that of the most frequent class,", ahead[name], least=0.2)
          for name in models),
        *(Claim.on_average(f"the calibration error of {name}", [run[3] for run in numbers[name]], most=0.05)
          for name in models),
        *(Claim.on_average(f"the loss of {name}, less that of the exact probabilities,", excess[name], least=-0.005)
          for name in models),
        Claim.on_average("one neuron is enough here: the same difference for 20-1", excess["20-1"], most=0.03),
        plot=Plot("model", ("accuracy", "AUC"), "bars", y_label="accuracy, AUC"),
    )  # fmt: skip


NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "784-128-64-10": ("fnn", {"hidden": (128, 64)}),
    "LeNet-5, ReLU, max": ("lenet5", {"activation": "relu", "pooling": "max"}),
    "LeNet-5, sigmoid, average": ("lenet5", {"activation": "sigmoid", "pooling": "average"}),
}
"""The networks that are compared on digits; the last is the one the notes draw."""


@experiment("N3.56")
def lenet_against_fnn(seeds: range = range(2), data: str = "digits") -> Result:
    r"""Train LeNet-5 in two forms and a feedforward network on pictures of digits.

    LeNet-5 with ReLU and max pooling is ahead, with little more than half as many parameters. On the small embedded set
    that is so on average, by 0.012 with a standard error of 0.002 over 30 seeds, but not with every split. On MNIST it
    is 0.9862 against 0.9745, and 0.9707 in the form with sigmoids, over three seeds.
    (From torch's smaller starting weights it is 0.9886; here they are He's.)

    Notes: N3.56 (§3).
    Corrects: E37, LeNet-5 as the notes draw it is the common modern form, not the network of 1998.

    Args:
        seeds: weights, order of the pictures and, where there is no official test part, splits.
        data: a name of `SETS`.
    """
    about, rows, runs = SETS[data], [], {}
    for title, (name, options) in NETWORKS.items():
        shares = []
        for seed in seeds:
            trained, parts = _learn_digits(name, data, seed, **options)
            shares.append(trained.accuracy(parts.open_test()))
        runs[title] = shares
        rows.append((title, _parameters(trained.network), *summary(shares)))
    least = dict(zip(NETWORKS, (about.fnn, about.relu, about.sigmoid), strict=True))
    fnn, relu, _ = runs.values()
    claims = [
        Claim.on_average(f"the accuracy of {title}", shares, least=least[title]) for title, shares in runs.items()
    ]
    claims.append(
        Claim("LeNet-5 has 61,706 parameters, the FNN 109,386", [r[1] for r in rows] == [109_386, 61_706, 61_706])
    )
    gains = differences(relu, fnn)
    claims.append(
        Claim.often("LeNet-5 with ReLU is more accurate than the FNN", [gain > 0 for gain in gains], rate=0.5)
    )
    claims.append(Claim.on_average("the accuracy of LeNet-5 with ReLU, less that of the FNN,", gains, least=about.gain))
    return Result(
        f"{data}, {about.epochs} epochs of Adam, {len(seeds)} seeds: test accuracy",
        ("network", "parameters", "accuracy", "spread", "least", "largest"),
        rows,
        *claims,
        plot=Plot("network", ("accuracy",), "bars"),
    )


LENET_SHAPES = ("6x28x28", "6x14x14", "16x10x10", "16x5x5", "120", "84", "10")
ALEXNET_SHAPES = (
    *("96x55x55", "96x27x27", "256x27x27", "256x13x13", "384x13x13", "384x13x13", "256x13x13", "256x6x6"),
    *("4096", "4096", "1000"),
)


@experiment("N3.58")
def picture_shapes() -> Result:
    r"""Send random pictures of the sizes that the notes name through networks and list the shapes of their layers.

    Gray pictures of 28 x 28 as in MNIST, RGB pictures of 32 x 32, and 227 x 227 RGB pictures for AlexNet.

    Notes: N3.58 (§3).
    Corrects: E52, 227 x 227 pixels fit AlexNet without padding, 224 x 224 need one.
    """
    rows = []
    for title, name, shape in (
        ("LeNet-5", "lenet5", (1, 28, 28)),
        ("LeNet-5", "lenet5", (3, 32, 32)),
        ("AlexNet", "alexnet", (3, 227, 227)),
    ):
        shapes = _layer_shapes(build(name, inputs=shape), torch.rand(1, *shape, generator=as_generator(0)))
        rows.append((title, "x".join(map(str, shape)), " ".join(shapes)))
    gray, color, large = (tuple(row[2].split()) for row in rows)
    return Result(
        "shapes behind every convolution, pooling and dense layer",
        ("network", "picture", "shapes"),
        rows,
        Claim("LeNet-5 makes of 28 x 28 gray pixels the shapes of the notes", gray == LENET_SHAPES),
        Claim("and of 32 x 32 RGB pixels, which it does not pad, the same", color == LENET_SHAPES),
        Claim("AlexNet makes of 227 x 227 RGB pixels 55, 27, 13 and 6 pixels a side", large == ALEXNET_SHAPES),
    )


def _layer_shapes(network: nn.Module, inputs: Tensor) -> list[str]:
    """List the shapes behind all convolutions, poolings and dense layers of a network, in the order of their use."""
    found: list[str] = []

    def note(module: nn.Module, _: Any, outputs: Tensor) -> None:
        found.append("x".join(map(str, outputs.shape[1:])))

    kinds = nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d, nn.Linear
    hooks = [module.register_forward_hook(note) for module in network.modules() if isinstance(module, kinds)]
    with torch.no_grad():
        network.eval()(inputs)
    for hook in hooks:
        hook.remove()
    return found
