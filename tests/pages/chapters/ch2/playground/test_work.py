"""The work of the page ch2/playground: numbers by hand, and what the notes say of them."""

import pickle
from dataclasses import replace

import pytest
import torch

from lamina.architectures.python_code import _folded
from lamina.experiments.trained import EAGER, train
from lamina.functional.losses import binary_cross_entropy
from lamina.pages.chapters.ch2.playground._setup import Setup, Table, first_network, problem, read_columns, recipe
from lamina.pages.chapters.ch2.playground._work import (
    SIDE,
    code,
    draw_surface,
    first_view,
    flow_of,
    hands_of,
    learn,
    neuron_maps,
    surface,
)

SMALL = Setup(count=80, hidden=(4,), epochs=3, batch_size=20)


class File:
    def __init__(self, name, text):
        self.name, self.contents = name, text.encode()


TABLE = "a,b,c,kind\n" + "\n".join(f"{i},{(i * 7) % 11},{'xy'[i % 2]},{'no' if i % 3 else 'yes'}" for i in range(30))


def test_the_surface_is_the_network_at_the_centers_of_the_cells():
    given = problem(SMALL)
    network = first_network(SMALL, 1)
    shares = surface(network, given)
    place = given.grid(SIDE)[5 * SIDE + 7]
    (a, b), (c, d) = given.x_range, given.y_range
    assert torch.allclose(place, torch.tensor([a + (b - a) * 7.5 / 40, c + (d - c) * 5.5 / 40], dtype=torch.float64))
    with torch.no_grad():
        wanted = network(given.prepare.apply(place[None])).sigmoid().item()
    assert abs(shares[1, 5, 7].item() - wanted) < 1e-6
    maps = neuron_maps(network, given)
    assert [len(layer) for layer in maps] == [2, 4, 1]
    assert max(abs(v) for row in maps[1][0] for v in row) == pytest.approx(1)


def test_learning_gives_plain_rows_and_lowers_the_loss():
    rows = list(learn(replace(SMALL, epochs=25, learning_rate=0.03)))
    assert rows[0]["epoch"] == 0 and rows[-1]["epoch"] == 25
    epoch, loss, validation, share, _ = rows[-1]["numbers"]
    assert epoch == 25 and loss < 0.4 and validation < 0.6 and share > 0.8
    assert rows[-1]["surface"].startswith("<svg") and rows[-1]["surface"] != rows[0]["surface"]
    assert len(pickle.dumps(rows[-1])) < 300_000


def test_a_network_that_has_not_learned_is_judged_too():
    given, network = problem(SMALL), first_network(SMALL, 1)
    row = first_view(SMALL)
    epoch, loss, validation, share, of_others = row["numbers"]
    for part, found, right in ((given.split.train, loss, share), (given.split.validation, validation, of_others)):
        inputs, targets = part.take(torch.arange(len(part)))
        with torch.no_grad():
            p = network(given.prepare.apply(inputs))[:, 0].double().sigmoid()
        wanted = torch.where(targets.reshape(-1) == 1, p, 1 - p)
        assert found == pytest.approx(-wanted.log().mean().item(), rel=1e-5)
        assert right == pytest.approx((wanted >= 0.5).double().mean().item())
    assert epoch == 0 and "training loss" in row["losses"], "the chart is not empty before the first epoch"


def test_learning_is_that_of_the_library():
    setup = replace(SMALL, epochs=2)
    given, network = problem(setup), first_network(setup, 1)
    trained = train(network, given.split, recipe(setup), runtime=EAGER)
    assert list(learn(setup))[-1]["numbers"][1] == trained.rows[-1]["loss"]


def test_a_loss_that_is_no_number_ends_it_with_the_last_sound_picture():
    setup = replace(
        SMALL, hidden=(12,) * 6, activation="relu", start="Gaussian, large (1)", optimizer="mini batches",
        learning_rate=3.0, epochs=20,
    )  # fmt: skip
    last = list(learn(setup))[-1]
    assert last["bad_step"] is not None and last["epoch"] < 20 and last["surface"].startswith("<svg")


def test_gradients_of_the_flow_are_those_of_autograd():
    given, network = problem(SMALL), first_network(SMALL, 1)
    flow = flow_of(network, given, 0.01)
    inputs, targets = given.split.train.take(torch.arange(60))
    loss = binary_cross_entropy(network(given.prepare.apply(inputs))[:, 0], targets)
    gradient = torch.autograd.grad(loss, network.weights[0])[0]
    assert flow.layers[0].weight_gradient == pytest.approx(gradient.norm().item(), rel=1e-5)


@pytest.mark.parametrize(
    "setup",
    [
        replace(SMALL, epochs=3),
        replace(SMALL, data="blobs", hidden=(5, 5), activation="relu", batch_norm=True),
        replace(SMALL, hidden=(), dropout=0.0),
        replace(
            SMALL, hidden=(6,), activation="leaky_relu", dropout=0.2, penalty=0.001, start="Gaussian, small (0.01)"
        ),
    ],
    ids=["moons", "four classes, batch norm", "no hidden layer", "dropout"],
)
def test_the_exported_program_gives_the_surface(setup):
    given = problem(setup)
    network = first_network(setup, given.outputs)
    train(network, given.split, replace(recipe(setup), epochs=1))
    shares = surface(network, given)
    program = code(network, given, setup)
    space: dict = {"__name__": "exported"}
    exec(compile(program, "network.py", "exec"), space)
    mine = space["predict"](given.grid(SIDE).tolist())
    assert torch.allclose(mine.double().T.reshape(shares.shape), shares, atol=1e-5)
    assert [tuple(W.shape) for W, _ in _folded(network)] == [tuple(W.shape) for W in network.weights]


def test_the_comments_of_the_program_make_the_same_network_and_data():
    setup = replace(SMALL, data="rings", start="Xavier", penalty=0.001, optimizer="momentum 0.9")
    given = problem(setup)
    program = code(first_network(setup, 1), given, setup)
    lines = [line[2:] for line in program.splitlines() if line.startswith("# ")][1:]
    space: dict = {}
    exec("import lamina\nfrom lamina.training.recipe import *\n" + "\n".join(lines[:-1]), space)
    assert space["recipe"] == recipe(setup)
    assert space["network"].weights[0].equal(first_network(setup, 1).weights[0])
    assert (
        space["data"]
        .split(seed=0, ratios=(3, 1, 0))
        .train.take(torch.arange(60))[0]
        .equal(given.split.train.take(torch.arange(60))[0])
    )
    assert lines[-1].startswith("run = lamina.fit(network, data.split(seed=0, ratios=(3, 1, 0)), recipe)")


def test_two_columns_of_a_table_are_learned():
    columns, target = read_columns(File("mine.csv", TABLE))
    assert columns == ("a", "b") and target == "kind"
    setup = replace(SMALL, table=Table("mine.csv", TABLE.encode(), "kind", "a", "b"), epochs=2)
    given = problem(setup)
    assert given.classes == ("no", "yes") and given.spec.features == ("a", "b") and given.note == ""
    row = list(learn(setup))[-1]
    assert row["epoch"] == 2 and ">a<" in row["surface"] and "target='kind'" in row["code"]


def test_a_table_with_numbers_as_target_is_regression():
    text = "a,b,price\n" + "\n".join(f"{i},{(i * 7) % 11},{2.5 * i + 0.25}" for i in range(40))
    setup = replace(SMALL, table=Table("mine.csv", text.encode(), "price", "a", "b"), epochs=2)
    given = problem(setup)
    assert given.classes == () and given.outputs == 1
    row = list(learn(setup))[-1]
    space: dict = {"__name__": "exported"}
    exec(compile(row["code"], "network.py", "exec"), space)
    assert space["predict"]([[10.0, 4.0]]).shape == (1, 1) and "price" in row["surface"]


def test_a_moved_point_is_learned_where_it_is_and_the_plane_stays():
    setup = Setup(count=40, hidden=(3,), epochs=1)
    before, after = problem(setup), problem(replace(setup, moved="3=0.5 0.25; 7=-1 1"))
    assert (after.x_range, after.y_range) == (before.x_range, before.y_range)
    changed = []
    for part, other in ((before.split.train, after.split.train), (before.split.validation, after.split.validation)):
        assert torch.equal(part.indices, other.indices), "a point stays in its part"
        (inputs, labels), (now, same) = (p.take(torch.arange(len(p))) for p in (part, other))
        assert torch.equal(labels, same)
        changed += [(int(i) + 1, point.tolist()) for i, old, point in zip(part.indices, inputs, now, strict=True)
                    if not torch.equal(old, point)]  # fmt: skip
    assert sorted(changed) == [(3, [0.5, 0.25]), (7, [-1.0, 1.0])]
    network = first_network(setup, after.outputs)
    scene = draw_surface(network, after)
    places = {shape.title: shape.center for shape in scene.shapes if getattr(shape, "title", "").startswith("point")}
    data = hands_of(scene, after)["points"]
    assert len(places) == len(data["at"]) == 40 and data["at"][2] == [0.5, 0.25] and data["follow"] == ""
    left, right, low, high = data["across"]
    assert places["point 3"][0] == pytest.approx(left + (right - left) * (0.5 - low) / (high - low))
    assert "# with moved points: 3=0.5 0.25; 7=-1 1" in code(network, after, replace(setup, moved="3=0.5 0.25; 7=-1 1"))


def test_a_point_that_is_not_drawn_has_no_hand():
    setup = Setup(count=1000, hidden=())
    given = problem(setup)
    at = hands_of(draw_surface(first_network(setup, given.outputs), given), given)["points"]["at"]
    assert len(at) == 1000 and sum(len(place) == 2 for place in at) == 300 + 250


def test_a_first_view_is_drawn_once_for_all_but_not_of_a_visitors_table():
    assert first_view(Setup()) is first_view(Setup())
    table = Table(
        "t.csv", b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, i * i % 7, i % 2) for i in range(40)), "c", "a", "b"
    )
    one, two = first_view(Setup(table=table)), first_view(Setup(table=table))
    assert one is not two and one["code"] == two["code"]
