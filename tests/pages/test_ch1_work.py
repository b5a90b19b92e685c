"""The work and the drawings of chapter 1: numbers by hand, and what the notes say of them."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from lamina.classical.linear_regression import fit, squared_error
from lamina.drawing.scene import Circle, Path, Rectangle
from lamina.experiments.result import Claim, Result
from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, iterate
from lamina.inspection.surfaces import SURFACES, bowl
from lamina.pages import drawings_ch1 as drawings
from lamina.pages.work import ch1 as work

F64 = torch.float64


def test_regression_data_follow_the_line_without_errors():
    inputs, targets = work.regression_data(7, 0.0, 3)
    assert torch.equal(inputs[:, 0], torch.ones(7, dtype=F64))
    assert torch.allclose(targets, 0.5 + 1.5 * inputs[:, 1])


def test_line_surface_is_the_loss_everywhere():
    inputs, targets = work.regression_data(9, 0.4, 1)
    surface = work.line_surface(inputs, targets)
    weight = torch.tensor([[0.3, -1.0], [2.0, 0.0]], dtype=F64)
    expected = [squared_error(w, inputs, targets).item() for w in weight]
    assert surface.function(weight).tolist() == pytest.approx(expected)
    assert surface.function(weight[0]).item() == pytest.approx(expected[0])
    assert surface.lowest == tuple(fit(inputs, targets).weight.tolist())


@pytest.mark.notes("N1.39")
@pytest.mark.parametrize("first", [1e-3, 1.0, 100.0])
def test_line_search_goes_downhill_from_every_first_trial(first):
    _, sizes, losses = work.line_search_path(SURFACES["bent valley"], first, 60)
    assert all(after < before for before, after in pairwise(losses))
    assert losses[-1] < 0.3 and min(sizes) > 0


def test_line_search_halves_until_it_fits():
    # From (-1.7, 1.1) on a bowl of curvature 1 every step up to 2 lowers the loss: 8 is halved to 1, then doubled to 2.
    points, sizes, _ = work.line_search_path(bowl(1.0), 8.0, 2)
    assert sizes[0] == 1.0 and points[1] == [0.0, 0.0]


@pytest.mark.notes("N1.42", "N1.45", "N1.49")
def test_racers_are_the_algorithms_of_the_notes():
    rows = list(work.race(16, 0.2, 16, 0.3, 0.1, 4, seed=2, pause=0))
    inputs, targets = work.regression_data(16, 0.2, 2)

    def slope(params):
        weight = params["W"].detach().requires_grad_()
        return {"W": torch.autograd.grad(squared_error(weight, inputs, targets), weight)[0]}

    start = {"W": torch.full((2,), -1.5, dtype=F64)}
    for name, method, hyper in (("gradient descent", "gd", GradientDescent(0.3)), ("Adam", "adam", Adam(0.1))):
        end = iterate(slope, start, OPTIMIZERS[method], hyper, 4)["W"]
        assert rows[-1]["points"][name] == pytest.approx(end.tolist(), abs=1e-12)
    assert rows[-1]["points"]["mini batch"] == rows[-1]["points"]["gradient descent"]  # b = N
    assert rows[-1]["points"]["SGD"] != rows[-1]["points"]["gradient descent"]
    assert rows[-1]["gradients"] == {"gradient descent": 64, "SGD": 4, "mini batch": 64, "Adam": 64}


@pytest.mark.notes("N1.44")
def test_a_wide_network_overfits():
    rows = list(work.overfit(10, 32, 300, 0, check_every=50))
    assert [row["step"] for row in rows] == [50, 100, 150, 200, 250, 300]
    assert rows[-1]["training"] < rows[0]["training"]
    assert min(row["validation"] for row in rows) < rows[-1]["validation"]


def test_grid_gives_a_row_for_each_momentum():
    rows = list(work.grid(3, 1, 0))
    assert [row["momentum"] for row in rows] == list(work.MOMENTA)
    assert all(row["run"] == 3 and len(row["losses"]) == len(work.RATES) for row in rows)
    assert rows[0]["losses"][0] > rows[0]["losses"][2]  # one epoch with a tiny step learns little


def test_experiment_passes_options_on():
    (row,) = work.experiment("N1.66", 2, sizes=(12,))
    assert row["result"].rows == ((12, 8, 2, 2, True),) and row["run"] == 2


@pytest.mark.notes("N1.74")
@pytest.mark.parametrize(
    ("weight", "bias", "inside", "outside"),
    [
        ((1.0, 1.0), -0.5, (1.0, 1.0), (0.0, 0.0)),
        ((1.0, -1.0), 0.0, (1.0, 0.0), (0.0, 1.0)),
        ((2.0, 0.0), -1.0, (1.0, 0.0), (0.0, 0.0)),
        ((-2.0, 0.0), 1.0, (0.0, 1.0), (1.0, 1.0)),
        ((0.0, -1.0), 0.5, (0.0, 0.0), (1.0, 1.0)),
    ],
)
def test_half_planes_fill_the_side_that_fires(weight, bias, inside, outside):
    (band,), border = drawings._firing(weight, bias)

    def covered(x, y):
        pieces = zip(band.xs, band.xs[1:], band.low, band.low[1:], band.high, band.high[1:], strict=False)
        for a, b, low_a, low_b, high_a, high_b in pieces:
            if a <= x <= b:
                share = (x - a) / (b - a)
                return low_a + share * (low_b - low_a) <= y <= high_a + share * (high_b - high_a)
        return False

    assert covered(*inside) and not covered(*outside) and len(border) == 1
    for x, y in zip(border[0].xs, border[0].ys, strict=True):
        assert weight[0] * x + weight[1] * y + bias == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("bias", "bands"), [(0.0, 1), (-1.0, 0)])
def test_without_weights_the_bias_decides(bias, bands):
    filled, border = drawings._firing((0.0, 0.0), bias)
    assert len(filled) == bands and border == []


def test_split_bar_is_in_proportion():
    widths = [shape.size[0] for shape in drawings.split_bar([4, 1, 1]).shapes if isinstance(shape, Rectangle)]
    assert widths == pytest.approx([544 * 4 / 6, 544 / 6, 544 / 6])


def test_grid_map_is_light_where_errors_are_low():
    scene = drawings.grid_map(
        [[1.0, 0.01], [None, 0.1]],
        ("a", "b"),
        ("c", "d"),
        labels=("x", "y"),
        best=(1, 0),
        way=[(0, 0), (1, 0)],
        numbers=True,
    )
    cells = {shape.title: shape.fill for shape in scene.shapes if isinstance(shape, Rectangle)}
    assert cells["a, c: 1"] == "#2a2456" and cells["b, c: 0.01"] == "#f6f4ec" and cells["a, d: no number"] == "grid"
    (arrow,) = (shape for shape in scene.shapes if isinstance(shape, Path))
    (ring,) = (shape for shape in scene.shapes if isinstance(shape, Circle))
    assert arrow.points[-1] == ring.center == (378.0, 190.0)


def test_clusters_tie_every_point_to_its_centroid():
    points, centroids = [[0.0, 0.0], [2.0, 1.0], [2.0, 2.0]], [[0.5, 0.0], [2.0, 0.0]]
    before, after = (drawings.clusters(points, labels, centroids) for labels in (None, [0, 1, 1]))
    ties = [
        sum(isinstance(shape, Path) and shape.stroke.color.endswith("!35") for shape in scene.shapes)
        for scene in (before, after)
    ]
    assert ties == [0, 3]


def test_outcome_shows_the_table_and_what_holds():
    result = Result("powers", ("n", "2^n"), ((1, 2), (10, 1024)), Claim("it grows", True), Claim("it falls", False))
    text = drawings.outcome(result).text
    assert "1024" in text and "it grows" in text and "does not hold" in text


@pytest.mark.parametrize(("state", "words"), [("idle", "press it"), ("running", "running"), ("failed", "no memory")])
def test_measured_says_what_it_is_doing(state, words):
    job = SimpleNamespace(rows=[], state=state, words=words)
    assert words in drawings.measured("a button", job, "press it").text
