"""Convolution and pooling at work (§3.2 to §3.5 of the notes): shifts, blur, mirrored kernels, responses."""

from itertools import pairwise, repeat
from typing import Any, cast

import torch
from torch import nn

from lamina._types import Float, Tensor
from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, experiment, quotients, summary
from lamina.experiments.together import squared_errors, train_members
from lamina.functional.convolution import correlation
from lamina.functional.normalization import local_response_norm
from lamina.functional.pooling import average_pool, max_pool
from lamina.functional.random import as_generator
from lamina.layers.convolution import TrueConv2d
from lamina.layers.detector import Detector
from lamina.layers.initialized import conv2d

F64 = torch.float64


def _around(pictures: Tensor, width: int) -> Tensor:
    """Continue pictures at their other side."""
    return nn.functional.pad(pictures, (width,) * 4, mode="circular")


def _features(picture: Tensor, kernel: Tensor) -> Tensor:
    """Smooth a picture by a mean over 5 x 5 pixels and correlate it with a kernel of 3 x 3."""
    return correlation(_around(average_pool(_around(picture, 2), 5, 1), 1), kernel)


SHIFTED = {2: 1.0, 4: 0.95, 7: 0.8, 14: 0.6}
"""How much features change at most after pooling in windows of a side, relative to no pooling."""


@experiment("N3.05", "N3.47")
def shift_sensitivity(
    seeds: range = range(20), windows: tuple[int, ...] = (1, 2, 4, 7, 14, 28), shift: int = 1
) -> Result:
    r"""Shift a picture by a pixel and see how much its features change, before and after pooling.

    The change is $\sum|\hat Y' - \hat Y| / \sum|\hat Y|$ for the features of a smooth picture of 28 x 28 pixels and of
    the same picture, shifted along the diagonal; window 1 is no pooling. Pictures continue at their other side, so that
    nothing leaves them. A convolution itself commutes with the shift (column "features apart": the features of the
    shifted picture less the shifted features), so that it finds what it knows anywhere.

    Notes: N3.05, N3.47 (§3, §3.4).

    Args:
        seeds: pictures and kernels.
        windows: sides m of the windows of max pooling, with stride m; 1 first.
        shift: by how many pixels.
    """
    changes: dict[int, list[float]] = {m: [] for m in windows}
    apart = 0.0
    for seed in seeds:
        g = as_generator(seed)
        picture = torch.rand(1, 1, 28, 28, generator=g, dtype=F64)
        kernel = torch.randn(1, 1, 3, 3, generator=g, dtype=F64)
        before, after = (_features(u, kernel) for u in (picture, picture.roll((shift, shift), (2, 3))))
        apart = max(apart, (after - before.roll((shift, shift), (2, 3))).abs().max().item())
        for m in windows:
            a, b = (max_pool(features, m) for features in (before, after))
            changes[m].append(((b - a).abs().sum() / a.abs().sum()).item())
    rows = tuple((m, *summary(each), apart) for m, each in changes.items())
    whole = [row for row in rows if row[0] == 28]
    return Result(
        f"features of a picture shifted by {shift} pixel, max pooling in windows of m x m, {len(seeds)} pictures",
        ("m", "change", "spread", "least", "largest", "features apart"),
        rows,
        Claim("a convolution commutes with the shift", apart < 1e-12),
        *(
            Claim.on_average(
                f"the larger the window, the less features change: the change with m = {n}, divided by that "
                "without pooling,",
                quotients(changes[n], changes[windows[0]]),
                most=bound,
            )
            for n, bound in SHIFTED.items()
            if n in windows
        ),
        Claim("with one window for all they do not change at all", all(row[4] < 1e-12 for row in whole)),
        plot=Plot("m", ("change",), log_x=True, y_label="relative change"),
    )


def bars_and_disk(size: int = 64) -> Float[Tensor, "1 1 height width"]:
    """Draw a test picture: vertical bars that grow finer, a disk, and light all around.

    >>> bars_and_disk(32).unique().tolist()
    [0.0, 1.0]
    """
    place = (torch.arange(size, dtype=F64) + 0.5) / size
    y, x = torch.meshgrid(place, place, indexing="ij")
    bars = (torch.sin(12 * torch.pi * x * (1 + x)) > 0) & (y < 0.5)
    disk = (x - 0.5) ** 2 + (y - 0.72) ** 2 < 0.04
    frame = torch.maximum((x - 0.5).abs(), (y - 0.5).abs()) > 0.46
    return (bars | disk | frame).to(F64)[None, None]


@experiment("N3.43", "N3.44")
def blur(seeds: range = range(10), windows: tuple[int, ...] = (1, 3, 5, 7, 9), size: int = 64) -> Result:
    r"""Blur pictures by averaging m x m pixels with stride 1; a frame of zeros keeps the size.

    Of white noise the mean of m² pixels keeps a share of about 1/m² of the variance, where no border is near. "edges"
    is what is left of the jumps between neighbors in a test picture. The frame enters at the border: a picture of
    ones gets dark corners and edges.

    Notes: N3.43, N3.44 (§3.4, Fig. 23).
    Corrects: E50, every pixel is the mean of its neighbors only away from the border.

    Args:
        seeds: pictures of noise.
        windows: sides m of the window, odd.
        size: height and width of the test picture; pictures of noise have twice that.

    >>> blur(seeds=1, windows=(5,)).column("corner")
    [0.36]
    """
    test, one = bars_and_disk(size), torch.ones(1, 1, size, size, dtype=F64)
    rows: list[tuple[Any, ...]] = []
    left = {}
    for m in windows:
        p = m // 2
        noise = [torch.rand(1, 1, 2 * size, 2 * size, generator=as_generator(seed), dtype=F64) for seed in seeds]
        shares = [(average_pool(picture, m, 1).var() / picture.var()).item() for picture in noise]
        left[m] = [share * m**2 for share in shares]
        flat, blurred = average_pool(one, m, 1, p)[0, 0], average_pool(test, m, 1, p)
        edges = ((blurred.diff(dim=3).square().mean()) / test.diff(dim=3).square().mean()).item()
        corner, edge, inside = (round(flat[i, j].item(), 12) for i, j in ((0, 0), (0, size // 2), (size // 2,) * 2))
        rows.append((m, *_mean_and_spread(shares), 1 / m**2, edges, corner, edge, inside))
    five = [row for row in rows if row[0] == 5]
    return Result(
        f"average pooling, stride 1, padding m // 2, {size} x {size} pixels, {len(seeds)} pictures of noise",
        ("m", "variance left", "spread", "1/m^2", "edges", "corner", "edge", "inside"),
        rows,
        *(Claim.on_average(f"the share of the variance of noise that is left, times m^2, for m = {m}",
                           each, least=0.8, most=1.2) for m, each in left.items()),
        Claim("edges are softened the more the larger the window", all(a[4] > b[4] for a, b in pairwise(rows))),
        Claim("a constant picture with m = 5: corner 0.36, edge 0.6, inside 1",
              all(row[5:] == (0.36, 0.6, 1.0) for row in five)),
        plot=Plot("m", ("variance left", "edges"), log_y=True, y_label="share left"),
    )  # fmt: skip


def _two_layers(true: bool, seed: int) -> nn.Sequential:
    """Make a network of two convolutions, as the notes define them or as torch does, from mirrored kernels."""
    g = as_generator(seed)
    if true:
        layers: list[nn.Module] = [TrueConv2d(2, 3, 3, padding=1, seed=g), TrueConv2d(3, 2, 2, stride=2, seed=g)]
    else:
        layers = [conv2d(2, 3, 3, padding=1, seed=g), conv2d(3, 2, 2, stride=2, seed=g)]
        for layer in layers:
            weight = cast(nn.Conv2d, layer).weight
            weight.data = weight.data.flip(2, 3)
    return nn.Sequential(layers[0], Detector("tanh"), layers[1]).double()


@experiment("N3.20")
def mirrored_kernels(seeds: range = range(3), steps: int = 100) -> Result:
    r"""Train with convolutions and with cross-correlations, from kernels that mirror each other.

    Both networks have two layers and learn random targets by Adam. A convolution with K is a cross-correlation with K
    flipped in rows and columns; so are their gradients, and everything else stays equal.

    Notes: N3.20 (§3.2).

    Args:
        seeds: kernels, pictures and targets.
        steps: updates.
    """
    rows: list[tuple[Any, ...]] = []
    for seed in seeds:
        g = as_generator(1000 + seed)
        u, s = torch.randn(8, 2, 6, 6, generator=g, dtype=F64), torch.randn(8, 2, 3, 3, generator=g, dtype=F64)
        trials = [
            train_members([_two_layers(true, seed)], repeat((u, s)).__next__, squared_errors, steps=steps,
                          learning_rate=0.02, bound=None)
            for true in (True, False)
        ]  # fmt: skip
        networks = [trial.networks[0] for trial in trials]
        ours, theirs = (trial.losses[:, 0].tolist() for trial in trials)
        pairs = [[net.get_parameter(name) for net in networks] for name in ("0.weight", "2.weight")]
        mirror = max((a - b.flip(2, 3)).abs().max().item() for a, b in pairs)
        same = min((a - b).abs().max().item() for a, b in pairs)
        apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        rows.append((seed, ours[0], ours[-1], theirs[-1], apart, mirror, same))
    return Result(
        f"convolution and cross-correlation trained from mirrored kernels, {steps} Adam steps",
        ("seed", "first loss", "convolution", "correlation", "losses apart", "from mirrored", "from equal"),
        rows,
        Claim("both learn, and their losses are equal in every step, to 1e-9",
              all(row[2] < 0.9 * row[1] and row[4] < 1e-9 for row in rows)),
        Claim("the learned kernels mirror each other, to 1e-9, and are not equal",
              all(row[5] < 1e-9 and row[6] > 0.1 for row in rows)),
        plot=Plot("seed", ("convolution", "correlation"), "bars", y_label="last loss"),
    )  # fmt: skip


@experiment("N3.48")
def response_sizes(activities: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)) -> Result:
    r"""Send activities of different sizes through the response normalization of AlexNet.

    A single active channel of size y becomes $y / (2 + 10^{-4} y^2)^{3/4}$: activities of usual size are only scaled,
    and huge ones pressed together. That is weaker than what batch normalization does, and nothing is claimed about
    training: with ReLU nothing saturates.

    Notes: N3.48 (§3.5).
    Corrects: E51, its authors report better generalization, not steadier training.

    Args:
        activities: sizes of the active channel, increasing.

    >>> [round(value, 3) for value in response_sizes((1.0, 1000.0)).column("after")]
    [0.595, 31.157]
    """
    rows = []
    for size in activities:
        y = torch.zeros(1, 9, 1, 1, dtype=F64)
        y[0, 4] = size
        beside = torch.full((1, 9, 1, 1), size, dtype=F64)
        alone, among = local_response_norm(y)[0, 4].item(), local_response_norm(beside)[0, 4].item()
        rows.append((size, alone, among, alone / size))
    known = {1.0: 0.595, 10.0: 5.92, 100.0: 43.9, 1000.0: 31.2}
    return Result(
        "an activity after local response normalization with AlexNet's constants",
        ("before", "after", "among equals", "factor"),
        rows,
        Claim("1, 10, 100, 1000 become 0.595, 5.92, 43.9, 31.2",
              all(abs(row[1] / known[row[0]] - 1) < 2e-3 for row in rows if row[0] in known)),
        Claim("the larger the activity, the smaller the factor", all(a[3] > b[3] for a, b in pairwise(rows))),
        Claim("active neighbors weaken it further", all(row[2] < row[1] for row in rows)),
        plot=Plot("before", ("after", "among equals"), log_x=True, log_y=True, y_label="activity after"),
    )  # fmt: skip
