import os
from itertools import pairwise

import pytest
import torch

from lamina.data import store
from lamina.data.load import digits
from lamina.data.named import load_named
from lamina.drawing.scene import Path, Picture, Text
from lamina.experiments import figures_data


def words(scene):
    return [shape.content for shape in scene.shapes if isinstance(shape, Text)]


def named(scene, name):
    return [shape for shape in scene.shapes if getattr(shape, "title", "") == name]


@pytest.fixture(autouse=True)
def _only_embedded_data(monkeypatch, tmp_path):
    """Draw Fig. 14 from the embedded digits, whatever lies on this machine."""
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(figures_data, "find", lambda name: None)


@pytest.mark.notes("N1.34")
def test_kmeans_never_gets_worse_from_panel_to_panel():
    points, steps = figures_data.kmeans_steps()
    values = [step.distortion.item() for step in steps]
    assert all(b <= a for a, b in pairwise(values)) and values[3] < 0.8 * values[0]
    assert not torch.equal(steps[0].labels, steps[2].labels)  # the second assignment is another one
    scene = figures_data.kmeans_panels()
    assert len({w for w in words(scene) if w.startswith("(")}) == 6
    crosses = [s for s in scene.shapes if isinstance(s, Path) and s.stroke.color == "line2"]
    assert len(crosses) == 5 * 2 and len(points) == 60


@pytest.mark.notes("N1.54")
def test_polynomials_have_the_errors_of_the_catalogue():
    found = figures_data.polynomial_fits()
    assert found.training[:3] == pytest.approx((0.328, 0.263, 0.060), abs=5e-4) and found.training[3] < 1e-18
    assert found.test == pytest.approx((0.282, 0.153, 0.053, 0.137), abs=5e-4)
    captions = [w for w in words(figures_data.polynomial_panels()) if "test error" in w]
    assert captions[0] == "training error 0.328, test error 0.282" and len(captions) == 4


@pytest.mark.notes("N1.60")
def test_bias_falls_variance_rises_and_the_best_degree_is_marked():
    scene = figures_data.bias_variance()
    assert "best: degree 3" in words(scene)
    total = [y for _, y in named(scene, "their sum")[0].points]
    assert total.index(max(total)) == 3  # y points down
    variance = [y for _, y in named(scene, "variance")[0].points]
    assert variance == sorted(variance, reverse=True)


@pytest.mark.notes("N2.41")
def test_batch_normalization_gives_mean_zero_and_deviation_one():
    before, after = figures_data.batch_norm_example()
    assert before.mean(0).tolist() == pytest.approx([3.0, 0.8, -2.0], abs=0.1)
    assert after.mean(0).abs().max() < 1e-12 and (after.var(0, correction=0) - 1).abs().max() < 1e-4
    assert words(figures_data.batch_norm_histograms()).count("mean 0.0, deviation 1.0") == 3


@pytest.mark.notes("N2.58")
def test_digits_show_one_seven_and_ten_of_each():
    data = digits()
    seven, grid = figures_data.handwritten_samples(data)
    assert torch.equal(seven, grid[70]) and len(grid) == 100
    for place, picture in enumerate(grid):
        labels = data.targets[(data.inputs[:, 0] == picture).all(-1).all(-1)]
        assert place // 10 in labels.tolist()
    pictures = [s for s in figures_data.handwritten_digits().shapes if isinstance(s, Picture)]
    assert len(pictures) == 101
    assert pictures[0].pixels == [[255 - int(v) for v in row] for row in seven]


@pytest.mark.notes("N3.44")
def test_blur_of_a_constant_picture_is_darker_at_the_border():
    found = figures_data.blurred(torch.ones(3, 9, 9, dtype=torch.float64))
    assert found.shape == (3, 9, 9)
    assert found[:, 0, 0].tolist() == pytest.approx([0.36] * 3)
    assert found[:, 0, 4].tolist() == found[:, 4, 0].tolist() == pytest.approx([0.6] * 3)
    assert found[0, 2:-2, 2:-2].flatten().tolist() == pytest.approx([1.0] * 25)
    picture = figures_data.landscape_picture()
    shown = [s for s in figures_data.blur().shapes if isinstance(s, Picture)]
    expected = (figures_data.blurred(picture) * 255).round().int()
    assert shown[1].pixels[0][0] == expected[:, 0, 0].tolist()


OFFICIAL = os.environ.get("LAMINA_DATA", "")


@pytest.mark.skipif(not OFFICIAL or store.find("mnist") is None, reason="needs LAMINA_DATA")
@pytest.mark.notes("N2.58")
def test_digits_are_those_of_mnist_where_it_is_here(monkeypatch):
    monkeypatch.setenv("LAMINA_DATA", OFFICIAL)
    monkeypatch.setattr(figures_data, "find", store.find)
    source, seven, grid = figures_data.shown_digits()
    assert source == "mnist" and seven.shape == (28, 28) and torch.equal(seven, grid[70])
    data = load_named("mnist")
    assert torch.equal(grid[0], data.inputs[(data.targets == 0).nonzero()[0, 0], 0])
    drawn = figures_data.handwritten_digits()
    assert drawn.title == "Handwritten digits (mnist)"
    pictures = [shape for shape in drawn.shapes if isinstance(shape, Picture)]
    assert pictures[0].pixels == [[255 - int(v) for v in row] for row in seven]
