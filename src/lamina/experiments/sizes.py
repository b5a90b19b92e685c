"""Numbers of parameters and maps that the notes state (§3, §4.2)."""

from itertools import pairwise

from torch import nn

from lamina.architectures.build import build
from lamina.architectures.table import TABLE
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.functional.convolution import filter_parameter_count
from lamina.functional.dense import parameter_count


@experiment("N3.04")
def first_layer_sizes(sides: tuple[int, ...] = (28, 100, 224, 1000), units: int = 1000, filters: int = 96) -> Result:
    r"""Count the weights of a first layer that reads a whole picture, and of one that reads patches of 5 x 5.

    Notes: N3.04 (§3).

    Args:
        sides: heights and widths of gray pictures.
        units: the width of the dense layer.
        filters: how many kernels the convolutional layer has.

    >>> first_layer_sizes((1000,)).column("dense")
    [1000001000]
    """
    rows = tuple((n, n * n, parameter_count((n * n, units)), filter_parameter_count(filters, 5, 1)) for n in sides)
    return Result(
        f"parameters of a first layer with {units} units, or with {filters} kernels of 5 x 5",
        ("side", "pixels", "dense", "convolutional"),
        rows,
        Claim("a dense layer has its width times the number of pixels, and biases",
              all(row[2] == units * row[1] + units for row in rows)),
        Claim("1000 x 1000 pixels and 1000 units: a billion weights",
              all(row[2] >= 10**9 for row in rows if row[0] == units == 1000)),
        Claim("a convolutional layer does not grow with the picture", len({row[3] for row in rows}) == 1),
        plot=Plot("side", ("dense", "convolutional"), log_x=True, log_y=True, y_label="parameters"),
    )  # fmt: skip


@experiment("N3.32")
def channel_growth(names: tuple[str, ...] = ("lenet5", "alexnet", "resnet18")) -> Result:
    r"""List how the number of maps changes along three networks.

    Notes: N3.32 (§3.2).
    Corrects: E39, powers of two that grow are a habit of ResNet18, not of LeNet-5 and AlexNet.

    Args:
        names: architectures from `lamina list`.

    >>> channel_growth(("lenet5",)).column("maps")
    ['6, 16']
    """
    rows = []
    for name in names:
        network = build(name, **({} if name != "lenet5" else {"outputs": 10}))
        layers = [part for part in network.modules() if isinstance(part, nn.Conv2d)]
        maps = [part.out_channels for part in layers if part.kernel_size != (1, 1)]  # no projections beside the chain
        distinct = [m for i, m in enumerate(maps) if i == 0 or m != maps[i - 1]]
        powers = all(m & (m - 1) == 0 for m in maps)
        grows = all(a <= b for a, b in pairwise(maps))
        rows.append((TABLE[name].title, ", ".join(map(str, distinct)), powers, grows))
    return Result(
        "numbers of maps, where they change",
        ("network", "maps", "powers of two", "never shrink"),
        rows,
        Claim("ResNet18 has growing powers of two", all(row[2] and row[3] for row in rows if "18" in row[0])),
        Claim("LeNet-5 and AlexNet have other numbers", all(not row[2] for row in rows if "18" not in row[0])),
    )  # fmt: skip


@experiment("N4.33")
def resnet18_parameters(outputs: tuple[int, ...] = (10, 1000)) -> Result:
    r"""Count the parameters of ResNet18, block by block.

    Notes: N4.33 (§4.2).
    Corrects: E60, block A has weights too, and pooling precedes the dense layer.

    Args:
        outputs: numbers of labels.

    >>> resnet18_parameters((10,)).column("all")
    [11181642]
    """
    rows = []
    for labels in outputs:
        network = build("resnet18", outputs=labels)
        size = {name: sum(p.numel() for p in part.parameters()) for name, part in network.named_children()}
        blocks = (size["conv1"] + size["bn1"], *(size[f"layer{k}"] for k in range(1, 5)), size["fc"])
        rows.append((labels, *blocks, sum(size.values())))
    known = {10: 11_181_642, 1000: 11_689_512}
    return Result(
        "trainable parameters of ResNet18",
        ("labels", "A", "B", "C", "D", "E", "dense", "all"),
        rows,
        Claim("more than 10 million", all(row[-1] > 10**7 for row in rows)),
        Claim("blocks A to E: 9536, 147968, 525568, 2099712, 8393728",
              all(row[1:6] == (9536, 147_968, 525_568, 2_099_712, 8_393_728) for row in rows)),
        Claim("11181642 with 10 labels, 11689512 with 1000",
              all(row[-1] == known.get(row[0], row[-1]) for row in rows)),
        plot=Plot("labels", ("A", "B", "C", "D", "E", "dense"), "bars", y_label="parameters"),
    )  # fmt: skip
