"""The drawn cells compute what the equations say, and every wire is drawn where its list says."""

import itertools

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.cells import CELLS, GRU, LSTM, RNN, cell
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Path, Scene
from lamina.drawing.wiring import Part, Wiring, draw, evaluate
from lamina.functional.recurrent import gru_step, lstm_step, output_step, rnn_step

N_H, N_U = 4, 3


def _numbers(gates, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    values = {"u": draw(5, N_U), "h-": draw(5, N_H), "c-": draw(5, N_H)}
    return values, draw(gates * N_H, N_H + N_U), draw(gates * N_H), draw(2, N_H)


def _affine(weight, bias, number):
    rows = slice(number * N_H, (number + 1) * N_H)
    return lambda z: z @ weight[rows].T + bias[rows]


@pytest.mark.notes("N5.06")
def test_drawn_rnn_cell_is_the_equation():
    values, weight, bias, readout = _numbers(1)
    del values["c-"]
    found = evaluate(RNN, values, {"in": _affine(weight, bias, 0), "out": lambda h: h @ readout.T})
    expected = rnn_step(values["u"], values["h-"], weight, bias)
    torch.testing.assert_close(found["h"], expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(found["y"], output_step(expected, readout), rtol=0, atol=1e-14)


@pytest.mark.notes("N5.36")
def test_drawn_gru_is_the_equation():
    values, weight, bias, readout = _numbers(3)
    del values["c-"]
    maps = {name: _affine(weight, bias, k) for k, name in enumerate(("r", "z", "candidate"))}
    found = evaluate(GRU, values, maps | {"y": lambda h: h @ readout.T})
    expected = gru_step(values["u"], values["h-"], weight, bias)
    torch.testing.assert_close(found["h"], expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(found["y"], output_step(expected, readout), rtol=0, atol=1e-14)


@pytest.mark.notes("N5.40")
def test_drawn_lstm_is_the_equation_with_the_old_cell_state():
    values, weight, bias, readout = _numbers(4)
    maps = {name: _affine(weight, bias, k) for k, name in enumerate(("f", "i", "o", "candidate"))}
    found = evaluate(LSTM, values, maps | {"y": lambda h: h @ readout.T})
    h, c = lstm_step(values["u"], (values["h-"], values["c-"]), weight, bias)
    torch.testing.assert_close(found["h"], h, rtol=0, atol=1e-14)
    torch.testing.assert_close(found["c"], c, rtol=0, atol=1e-14)
    torch.testing.assert_close(found["y"], output_step(h, readout), rtol=0, atol=1e-14)
    assert ("c-", "forget") in edges(cell("lstm"))


@pytest.mark.parametrize(("name", "cut"), [(name, k) for name, w in CELLS.items() for k in range(len(w.wires))])
def test_every_wire_matters(name, cut):
    """Without one of its wires a cell no longer computes: the picture has no idle edge."""
    wiring, gates = CELLS[name], {"rnn": 1, "gru": 3, "lstm": 4}[name]
    values, weight, bias, _ = _numbers(gates)
    if name != "lstm":
        del values["c-"]
    boxes = {"rnn": ("in",), "gru": ("r", "z", "candidate"), "lstm": ("f", "i", "o", "candidate")}[name]
    maps = {box: _affine(weight, bias, k) for k, box in enumerate(boxes)}
    full = evaluate(wiring, values, maps)
    wires = wiring.wires[:cut] + wiring.wires[cut + 1 :]
    lacking = Wiring(wiring.title, wiring.frame, wiring.parts, wires)
    try:
        less = evaluate(lacking, values, maps)
    except (ArgumentError, RuntimeError):  # a part gets nothing, or a weight gets too few numbers
        return
    assert any(not torch.allclose(full[out], less[out]) for out in ("h", "y"))


@pytest.mark.notes("N5.06", "N5.36", "N5.40")
@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_the_picture_shows_exactly_the_wires(name):
    """Each arrow leaves its source, or a wire of its source, and ends at the border of its target."""
    wiring, scene = CELLS[name], cell(name)
    assert sorted(edges(scene)) == sorted((wire.source, wire.target) for wire in wiring.wires)
    assert set(named(scene)) == {"cell"} | {part.name for part in wiring.parts}
    arrows = {s.title: s.points for s in scene.shapes if isinstance(s, Path) and " to " in s.title}
    centers = _centers(scene)
    for wire in wiring.wires:
        points = arrows[f"{wire.source} to {wire.target}"]
        assert _distance(points[-1], centers[wire.target]) < 40
        if wire.fork is None:
            assert _distance(points[0], centers[wire.source]) < 40
        else:
            others = [w for w in wiring.wires if w.source == wire.source and w is not wire]
            assert any(_on(points[0], arrows[f"{w.source} to {w.target}"]) for w in others), wire
        for one, two in itertools.pairwise(points):  # wires are straight or bend at right angles
            assert abs(one[0] - two[0]) < 1e-9 or abs(one[1] - two[1]) < 1e-9


def _centers(scene: Scene):
    shapes = [s for s in scene.shapes if getattr(s, "title", "") and not isinstance(s, Path)]

    def where(s):
        return s.center if hasattr(s, "center") else (s.corner[0] + s.size[0] / 2, s.corner[1] + s.size[1] / 2)

    return {s.title: where(s) for s in shapes}


def _distance(a, b):
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def _on(point, line):
    pieces = itertools.pairwise(line)
    return any(abs(_distance(a, point) + _distance(point, b) - _distance(a, b)) < 1e-6 for a, b in pieces)


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_nothing_overlaps(kind):
    assert overlaps(cell(kind), lines=True) == []


def test_the_legend_can_be_left_out():
    def words(scene):
        return [s.content for s in scene.shapes if hasattr(s, "content")]

    assert "Hadamard product" in words(cell("gru"))
    assert "Hadamard product" not in words(cell("gru", legend=False))
    only = Wiring("a sum", (0, 0, 10, 10), (Part("a", "sum", (5, 5)),), ())
    assert words(draw(only)) == ["add"]
