"""Recurrent networks over time: which node feeds which, how many there are, and how dark they are."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.drawing._collisions import overlaps
from lamina.drawing.parts import edges, named
from lamina.drawing.scene import Circle, Path
from lamina.drawing.unrolled import (
    SHAPES,
    bidirectional,
    deep,
    fnn_and_rnn,
    four_shapes,
    sequence_shape,
    shaded,
    unrolled,
    variants,
)
from lamina.functional.recurrent import rnn_step


def _counts(names):
    return tuple(sum(name.startswith(letter) for name in names) for letter in "uhy")


@pytest.mark.notes("N5.04")
def test_column_loop_and_chain():
    scene = fnn_and_rnn()
    found = edges(scene)
    assert found[:2] == [("u", "h"), ("h", "y")]
    assert found[2:5] == [("u of RNN", "h of RNN"), ("h of RNN", "y of RNN"), ("h of RNN", "h of RNN")]
    chain = {(f"h<{t}>", f"h<{t + 1}>") for t in (1, 2)} | {("h<3>", "later")}
    columns = {(f"u<{t}>", f"h<{t}>") for t in (1, 2, 3)} | {(f"h<{t}>", f"y<{t}>") for t in (1, 2, 3)}
    assert set(found[5:]) == chain | columns
    assert len(found) == 14
    loop = next(s for s in scene.shapes if isinstance(s, Path) and s.title == "h of RNN to h of RNN")
    assert loop.curve
    assert loop.arrow == "end"
    words = [s.content for s in scene.shapes if hasattr(s, "content")]
    assert {"FNN", "RNN", "RNN unrolled", r"$\cdots$", "$h^{<3>}$"} <= set(words)


@pytest.mark.notes("N5.13")
def test_the_four_shapes_have_the_counts_of_the_notes():
    assert list(SHAPES.values()) == [(1, 3, 3), (3, 3, 1), (3, 5, 2), (3, 3, 3)]
    scenes = [sequence_shape(*counts) for counts in SHAPES.values()]
    assert [_counts(named(scene)) for scene in scenes] == [(1, 3, 3), (3, 3, 1), (3, 5, 2), (3, 3, 3)]
    assert [len(edges(scene)) for scene in scenes] == [6, 6, 9, 8]
    assert ("h<4>", "y<4>") in edges(scenes[2])
    assert ("h<3>", "y<3>") not in edges(scenes[2])
    whole = four_shapes()
    assert _counts(named(whole)) == (10, 14, 9)
    words = [s.content for s in whole.shapes if hasattr(s, "content")]
    assert words == ["one to many", "many to one", "many to many", "many to many"]


@pytest.mark.notes("N5.29")
def test_shading_follows_the_numbers():
    shares = [1.0, 0.7, 0.5, 0.3, 0.1, 0.0, 0.0]
    fills = {s.title: s.fill for s in shaded(shares).shapes if isinstance(s, Circle)}
    assert len(fills) == 21
    for t, percent in enumerate((80, 56, 40, 24, 8, 0, 0), 1):
        assert fills[f"h<{t}>"] == fills[f"y<{t}>"] == f"accent!{percent}"
        assert fills[f"u<{t}>"] == ("accent!80" if t == 1 else "accent!0")
    assert len(edges(shaded(shares))) == 20


@pytest.mark.notes("N5.29")
def test_shading_from_measured_sensitivities_fades():
    """The norms of dh<t>/du<1> of a small cell, as autograd gives them, never get darker with time."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    weight[:, :4] *= 0.7 / torch.linalg.matrix_norm(weight[:, :4], 2)
    inputs = torch.randn(7, 2, generator=generator, dtype=torch.float64)

    def states(first):
        h, found = torch.zeros(4, dtype=torch.float64), []
        for u in (first, *inputs[1:]):
            h = rnn_step(u, h, weight, torch.zeros(4, dtype=torch.float64))
            found.append(h)
        return torch.stack(found)

    norms = torch.linalg.matrix_norm(torch.autograd.functional.jacobian(states, inputs[0]), 2)
    fills = {s.title: s.fill for s in shaded(norms.tolist()).shapes if isinstance(s, Circle)}
    shades = [int(fills[f"h<{t}>"].split("!")[1]) for t in range(1, 8)]
    assert shades[0] == 80
    assert shades == sorted(shades, reverse=True)
    assert shades == [round(80 * (norm / norms[0]).item()) for norm in norms]


@pytest.mark.notes("N5.23")
def test_bidirectional_reads_past_and_future():
    found = set(edges(bidirectional(3)))
    for t in (1, 2, 3):
        assert {(f"u<{t}>", f"h<{t}>"), (f"u<{t}>", f"g<{t}>"), (f"h<{t}>", f"y<{t}>"), (f"g<{t}>", f"y<{t}>")} <= found
    assert {("h<1>", "h<2>"), ("h<2>", "h<3>"), ("g<3>", "g<2>"), ("g<2>", "g<1>")} <= found
    assert len(found) == 16
    assert _reached(found, "u<3>") >= {"y<1>", "y<2>", "y<3>"}
    assert _reached(found, "u<1>") >= {"y<1>", "y<2>", "y<3>"}


def _reached(pairs, start):
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        new = {b for a, b in pairs if a == here} - reached
        reached |= new
        waiting += new
    return reached


@pytest.mark.notes("N5.23")
def test_deep_stacks_layers():
    found = set(edges(deep(2, 3)))
    assert len(found) == 3 * 3 + 2 * 2
    assert {("u<1>", "h1<1>"), ("h1<1>", "h2<1>"), ("h2<1>", "y<1>"), ("h1<1>", "h1<2>"), ("h2<2>", "h2<3>")} <= found
    assert "y<1>" not in _reached(found, "u<2>")


@pytest.mark.notes("N5.23")
def test_variants_name_their_inputs_x():
    words = [s.content for s in variants().shapes if hasattr(s, "content")]
    assert words.count("$x^{<1>}$") == 2
    assert {"Bidirectional RNN", "Deep RNN"} <= set(words)


@pytest.mark.parametrize(
    "scene",
    [
        fnn_and_rnn(5),
        unrolled(12, dots=True),
        four_shapes(),
        shaded([0.1, 3.0, 0.0]),
        bidirectional(5),
        deep(4, 6),
        variants(),
    ],
    ids=lambda scene: scene.title,
)
def test_nothing_overlaps(scene):
    assert overlaps(scene, lines=True) == []


def test_refusals():
    with pytest.raises(ArgumentError, match=r"`inputs` must be between 0 and `cells` \(2\), got 3: add cells"):
        sequence_shape(3, 2, 1)
    with pytest.raises(ArgumentError, match=r"`outputs` must be in \[1, 3\], got 4"):
        unrolled(3, outputs=[4])
    with pytest.raises(ArgumentError, match=r"`outputs` must have as many numbers as `sensitivities` \(2, .* got 1"):
        shaded([1.0, 0.5], [1.0])
    with pytest.raises(ArgumentError, match="`sensitivities of h` must be at least 0, got -1"):
        shaded([1.0, -1.0])
