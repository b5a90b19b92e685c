"""Figures of the notes that are computed from data: clusters, polynomials, batch normalization, digits, a blur."""

from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from lamina._types import Float, Num, Tensor
from lamina.classical import kmeans, polynomial
from lamina.data.dataset import ArrayDataset
from lamina.data.load import digits
from lamina.data.named import load_named
from lamina.data.store import Found, find
from lamina.data.synthetic import blobs
from lamina.drawing.charts import Note, Series, chart, histogram
from lamina.drawing.panels import lettered, panels, picture_grid
from lamina.drawing.scene import Scene, beside
from lamina.experiments.overfitting import trade_off
from lamina.functional.normalization import batch_norm
from lamina.functional.pooling import average_pool
from lamina.functional.random import as_generator

F64 = torch.float64


def kmeans_steps(seed: int = 3, count: int = 60) -> tuple[Tensor, list[kmeans.HalfStep]]:
    """Run the first four half steps of k-means with two centroids on two clouds.

    Notes: N1.34 (§1.2, Fig. 4).

    >>> points, steps = kmeans_steps()
    >>> [step.kind for step in steps], bool(steps[3].distortion <= steps[0].distortion)
    (['assign', 'update', 'assign', 'update'], True)
    """
    points = blobs(count, classes=2, spread=1.3, seed=seed).inputs.to(F64)
    turn = torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=F64)  # from beside each other to a diagonal
    points = points @ turn
    first = kmeans.first_centroids(points, 2, seed=seed)[0]
    return points, list(islice(kmeans.half_steps(points, first), 4))


def kmeans_panels() -> Scene:
    """Draw data, random centroids, and two rounds of assigning and moving, from one seeded run.

    Notes: N1.34 (§1.2, Fig. 4).
    """
    points, steps = kmeans_steps()
    nobody = points.new_zeros(len(points), dtype=torch.long) - 1
    frames = [
        ("data", nobody, None),
        ("random centroids", nobody, steps[0].centroids),
        ("points assigned", steps[0].labels, steps[0].centroids),
        ("centroids moved", steps[1].labels, steps[1].centroids),
        ("assigned again", steps[2].labels, steps[2].centroids),
        ("moved again", steps[3].labels, steps[3].centroids),
    ]
    edge = points.abs().max().item() + 0.4
    scenes = []
    for number, (words, labels, centroids) in enumerate(frames):
        marks = [
            _scattered(points[labels == cluster], color, "dot", 2.8)
            for cluster, color in ((-1, "line6!70"), (0, "line2!70"), (1, "line1!70"))
        ]
        if centroids is not None:
            marks += [
                _scattered(centroids[i : i + 1], color, "cross", 7.0) for i, color in ((0, "line2"), (1, "line1"))
            ]
        scenes.append(
            chart(
                points=marks, title=lettered(number, words), x_range=(-edge, edge), y_range=(-edge, edge), width=230,
                height=220,
            )
        )  # fmt: skip
    return panels(scenes, 3, gap=12, title="k-means with two clusters")


def _scattered(points: Float[Tensor, "batch 2"], color: str, style: str, size: float) -> Series:
    return Series("", points[:, 0].tolist(), points[:, 1].tolist(), color, style, size=size)


class _Fits(NamedTuple):
    """Polynomials fitted to ten noisy points of a sine, one per degree, with their errors there and on 200 others."""

    points: Float[Tensor, " batch"]
    targets: Float[Tensor, " batch"]
    test_points: Float[Tensor, " test"]
    test_targets: Float[Tensor, " test"]
    fits: tuple[polynomial.PolynomialFit, ...]
    training: tuple[float, ...]
    test: tuple[float, ...]


@cache
def polynomial_fits(degrees: tuple[int, ...] = (0, 1, 3, 9), seed: int = 3) -> _Fits:
    """Fit polynomials of several degrees to ten points of a sine with errors of standard deviation 1/4.

    Notes: N1.54 (§1.4, Fig. 6).

    >>> [round(error, 3) for error in polynomial_fits().training]
    [0.328, 0.263, 0.06, 0.0]
    >>> [round(error, 3) for error in polynomial_fits().test]
    [0.282, 0.153, 0.053, 0.137]
    """
    rng = np.random.default_rng(seed)
    places = np.linspace(0, 1, 10)
    values = np.sin(2 * np.pi * places) + 0.25 * rng.normal(size=10)
    others = rng.uniform(0, 1, 200)
    u, s, v, t = map(
        torch.from_numpy, (places, values, others, np.sin(2 * np.pi * others) + 0.25 * rng.normal(size=200))
    )
    fits = tuple(polynomial.fit(u, s, degree) for degree in degrees)
    return _Fits(u, s, v, t, fits, tuple(f.error for f in fits), tuple(polynomial.error(f, v, t) for f in fits))


def polynomial_panels() -> Scene:
    """Draw fits of degree 0, 1, 3 and 9 with the truth, the training points, the test points and both errors.

    Notes: N1.54 (§1.4, Fig. 6).
    """
    found = polynomial_fits()
    u = torch.linspace(0, 1, 201, dtype=F64)
    scenes = []
    for number, fit in enumerate(found.fits):
        seen, unseen = found.training[number], found.test[number]
        errors = f"training error {seen:.3f}, test error {unseen:.3f}"
        scenes.append(
            chart(
                [
                    Series("truth", u.tolist(), torch.sin(2 * torch.pi * u).tolist(), "line3", "dashed"),
                    Series(f"fit, degree {fit.degree}", u.tolist(), fit.predict(u).tolist(), "line2", size=2.2),
                ],
                [
                    Series("test", found.test_points.tolist(), found.test_targets.tolist(), "line1!55", size=1.8),
                    Series("training", found.points.tolist(), found.targets.tolist(), "line3", size=3.6),
                ],
                title=lettered(number, f"$r = {fit.degree}$"), x_label=errors, x_range=(0, 1), y_range=(-2, 2),
                width=380, height=250,
            )
        )  # fmt: skip
    return panels(scenes, 2, title="Polynomials of degree 0, 1, 3 and 9 on ten noisy points")


def bias_variance() -> Scene:
    """Draw squared bias, variance and their sum over the degree of a polynomial.

    Notes: N1.60 (§1.4, Fig. 7).
    """
    result = trade_off().check()
    degree = [float(value) for value in result.column("degree")]
    names = (("total", "line4!45", 5.5), ("squared bias", "line1", 2.2), ("variance", "line2", 2.2))
    lines = [
        Series(name if name != "total" else "their sum", degree, result.column(name), color, size=size)
        for name, color, size in names
    ]
    dots = [Series("", line.xs, line.ys, line.color, size=3.0) for line in lines[1:]]
    best = min(range(len(degree)), key=lambda i: result.column("total")[i])
    dots.append(Series("", [best], [result.column("total")[best]], "line4", "ring", size=6.0))
    notes = [
        Note(0.75, 0.6, "underfitting", (0, 0), "muted"),
        Note(best, 0.1, f"best: degree {best}", (8, 0), anchor="start"),
        Note(8.4, 0.6, "overfitting", (0, 0), "muted"),
    ]
    return chart(
        lines,
        dots,
        notes=notes,
        x_label="model complexity (degree of the polynomial)",
        y_label="error of the predictions",
        y_range=(0, 0.65),
        x_range=(-0.2, 9.2),
        description="Bias falls and variance rises with the degree; their sum is smallest between both.",
        width=500,
        height=310,
    )


def batch_norm_example(batch: int = 2000, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Draw outputs of three nodes with different means and spreads, and normalize them over the batch.

    Notes: N2.41 (§2.3, Fig. 12).

    >>> before, after = batch_norm_example()
    >>> after.mean(0).abs().max().item() < 1e-12, (after.std(0, correction=0) - 1).abs().max().item() < 1e-4
    (True, True)
    """
    draws = torch.randn(batch, 3, generator=as_generator(seed), dtype=F64)
    before = draws * torch.tensor([0.7, 1.6, 1.1], dtype=F64) + torch.tensor([3.0, 0.8, -2.0], dtype=F64)
    return before, batch_norm(before)


def batch_norm_histograms() -> Scene:
    """Draw the distributions of three nodes before and after batch normalization.

    Notes: N2.41 (§2.3, Fig. 12).
    """
    before, after = batch_norm_example()
    scenes = []
    for words, values, color in (("before", before, "line1"), ("after", after, "line2")):
        for node in range(3):
            column = values[:, node]
            mean, spread = column.mean().item() + 0.0, column.std(correction=0).item()
            scenes.append(
                chart(
                    bars=[histogram("", column.tolist(), low=-6, high=6, bins=48, color=color)],
                    title=f"node {node + 1}, {words}", x_label=f"mean {_rounded(mean)}, deviation {_rounded(spread)}",
                    x_range=(-6, 6), y_range=(0, 0.65), width=240, height=185,
                )
            )  # fmt: skip
    return panels(scenes, 3, gap=10, title="Batch normalization of a layer with three nodes")


def _rounded(value: float) -> str:
    return f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−")


def handwritten_samples(
    data: ArrayDataset, each: int = 10
) -> tuple[Num[Tensor, "height width"], list[Num[Tensor, "height width"]]]:
    """Take the first 7, and the first pictures of every label, label by label.

    Notes: N2.58 (§2.4, Fig. 14).

    >>> seven, grid = handwritten_samples(digits())
    >>> seven.shape, len(grid)
    (torch.Size([8, 8]), 100)
    """
    first = [(data.targets == label).nonzero()[:each, 0] for label in range(10)]
    grid = [data.inputs[place, 0] for places in first for place in places.tolist()]
    return data.inputs[first[7][0], 0], grid


def shown_digits() -> tuple[str, Num[Tensor, "height width"], list[Num[Tensor, "height width"]]]:
    """Take the samples of MNIST if it is here, else of the embedded digits, and say of which; MNIST is read once."""
    place = find("mnist")
    if place is None:
        return "digits", *handwritten_samples(digits())
    return _shown_digits(place)


@lru_cache(maxsize=1)
def _shown_digits(_place: Found) -> tuple[str, Num[Tensor, "height width"], list[Num[Tensor, "height width"]]]:
    return "mnist", *handwritten_samples(load_named("mnist"))


def handwritten_digits() -> Scene:
    """Draw one 7 and ten samples of each digit of MNIST if it is here, else of the embedded ones, dark ink on white.

    Notes: N2.58 (§2.4, Fig. 14).
    """
    source, seven, grid = shown_digits()
    ink = [(255 - picture.int()).tolist() for picture in (seven, *grid)]
    return beside(
        picture_grid(ink[:1], 1, cell=298, title="the digit 7"),
        picture_grid(ink[1:], 10, cell=28, gap=2),
        gap=8,
        title=f"Handwritten digits ({source})",
        description="One 7 on the left, ten samples of each of the ten digits on the right.",
    )


def landscape_picture(size: int = 64) -> Float[Tensor, "3 size size"]:
    """Paint a picture with sharp edges: sky, sun, hills, a sailing boat on striped water.

    >>> landscape_picture(8).shape
    torch.Size([3, 8, 8])
    """
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")

    def color(*shade: float) -> Tensor:
        return torch.tensor(shade)[:, None, None]

    picture = color(0.62, 0.80, 0.95) * (1 - 0.35 * y) + color(0.98, 0.86, 0.70) * (0.35 * y)

    def paint(where: Tensor, *shade: float) -> None:
        nonlocal picture
        picture = torch.where(where, color(*shade), picture)

    paint((x - 0.76).square() + (y - 0.22).square() < 0.012, 1.0, 0.86, 0.25)
    paint(y > 0.62 - 0.22 * (1 - ((x - 0.22) / 0.26).abs()).clamp(min=0), 0.36, 0.50, 0.42)
    paint(y > 0.62 - 0.15 * (1 - ((x - 0.55) / 0.30).abs()).clamp(min=0), 0.27, 0.41, 0.35)
    water = y > 0.62
    paint(water, 0.13, 0.40, 0.62)
    paint(water & ((y * 16).floor() % 2 == 0), 0.22, 0.52, 0.74)
    paint((y > 0.74) & (y < 0.82) & ((x - 0.5).abs() < 0.24 - (y - 0.74)), 0.62, 0.20, 0.16)
    paint((y > 0.30) & (y < 0.74) & ((x - 0.5).abs() < 0.012), 0.25, 0.18, 0.12)
    paint((y > 0.32) & (y < 0.70) & (x > 0.525) & (x < 0.525 + 0.5 * (y - 0.32)), 0.97, 0.96, 0.93)
    paint((y > 0.38) & (y < 0.70) & (x < 0.475) & (x > 0.475 - 0.42 * (y - 0.38)), 0.90, 0.88, 0.84)
    return picture.clamp(0, 1)


def blurred(picture: Float[Tensor, "channel height width"]) -> Float[Tensor, "channel height width"]:
    """Blur by 5 x 5 averages, stride 1, with 2 zeros around: same size, darker at the border.

    Notes: N3.44 (§3.4, Fig. 23).

    >>> blurred(torch.ones(1, 7, 7))[0, [0, 0, 3], [0, 3, 3]].tolist()
    [0.36000001430511475, 0.6000000238418579, 1.0]
    """
    return average_pool(picture, 5, stride=1, padding=2)


def blur() -> Scene:
    """Draw a picture and its blur by average pooling.

    Notes: N3.44 (§3.4, Fig. 23).
    """
    picture = landscape_picture()
    scenes = []
    for number, (words, colors) in enumerate((("picture", picture), ("5 × 5 average", blurred(picture)))):
        pixels = (colors * 255).round().int().permute(1, 2, 0).tolist()
        scenes.append(picture_grid([pixels], 1, cell=290, caption=lettered(number, words), title=words))
    return beside(*scenes, gap=8, title="A picture and its blur by average pooling")
