"""The work behind the pages of chapter 4."""

import io
import zipfile

import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import ArgumentError, DataError
from lamina.data.synthetic import moons
from lamina.experiments.euler import damped_block
from lamina.experiments.scalar_chain import scalar_chain
from lamina.inspection import feature_maps
from lamina.pages.chapters.ch4.transfer import own_pictures
from lamina.pages.chapters.ch4.shared import nested_fields, race_chart
from lamina.pages.chapters.ch4.transfer.own_pictures import read_archive
from lamina.pages.kit.shipped import shipped
from lamina.pages.chapters.ch4.euler import work as ch4_euler
from lamina.pages.chapters.ch4.blocks import work as ch4_blocks
from lamina.pages.chapters.ch4.transfer import work as ch4_transfer
from lamina.pages.chapters.ch4.resnet18 import work as ch4_resnet18
from lamina.pages.chapters.ch4.vanishing import work as ch4_vanishing
from lamina.pages.kit.races import race
from lamina.training.recipe import MiniBatch, Recipe


def packed(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def png(value=0, size=(9, 12), mode="L"):
    file = io.BytesIO()
    Image.new(mode, size, value).save(file, "png")
    return file.getvalue()


@pytest.mark.notes("N4.08")
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "identity"])
@pytest.mark.parametrize("residual", [True, False])
def test_chain_of_the_example_equals_autograd(activation, residual):
    chain = scalar_chain((0.5, -0.4, 0.8), 1.3, 0.7, activation, residual=residual)
    assert chain.formula == pytest.approx(chain.autograd, rel=1e-14)
    for place, branch in enumerate(chain.branches):
        before, after = chain.features[place : place + 2]
        assert after == pytest.approx(branch + before * residual, abs=1e-15)


@pytest.mark.notes("N4.08")
def test_chain_by_hand():
    chain = scalar_chain((2.0, -0.5, 1.0), 1.0, 1.0, "identity")
    assert chain.features == (1.0, 3.0, 1.5, 3.0)
    assert chain.factors == (3.0, 0.5, 2.0)
    assert chain.loss == 2.0
    assert chain.formula == (2.0 * 2.0 * 0.5 * 1.0, 2.0 * 2.0 * 3.0, 2.0 * 1.5)


@pytest.mark.notes("N4.19", "N4.23")
def test_branch_of_zero_leaves_relu_or_the_identity():
    y = torch.randn(8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(damped_block("original", y, 0.0), y.relu())
    assert torch.equal(damped_block("preactivation", y, 0.0), y)
    with pytest.raises(ArgumentError, match="kind"):
        damped_block("plain", y)


@pytest.mark.notes("N4.30", "N4.33")
def test_stored_table_is_what_the_summary_says():
    found, fresh = ch4_resnet18.stored(), next(ch4_resnet18.stages(**ch4_resnet18.CHOICES))
    assert found == fresh
    sizes = {row["part"]: row["parameters"] for row in found["rows"]}
    assert [sizes[f"layer{k}"] for k in range(1, 5)] == [147_968, 525_568, 2_099_712, 8_393_728]
    shapes = {row["block"]: row["output"] for row in found["rows"]}
    assert [shapes[name] for name in "ABCDE"] == [[64, 56, 56], [64, 56, 56], [128, 28, 28], [256, 14, 14], [512, 7, 7]]


def test_shipped_network_reads_the_digits():
    from lamina.data.load import digits

    network, record = shipped("resnet18-digits")
    data = digits()
    with torch.no_grad():
        answers = network(record.preprocess.apply(data.inputs[:300])).argmax(1)
    assert (answers == data.targets[:300]).double().mean() > 0.97
    assert feature_maps(network, record.preprocess.apply(data.inputs[:1]))["layer4.1"].values.shape == (1, 32, 4, 4)


@pytest.mark.notes("N4.17")
def test_learned_step_sizes_move_and_stay_positive():
    *_, last = ch4_euler.flow("ResNet, learned steps", 4)
    assert last["accuracy"] > 0.95 and min(last["steps"]) > 0
    assert max(last["steps"]) - min(last["steps"]) > 0.1
    assert last["losses"][-1][1] < 0.1 * last["losses"][0][1]


def test_a_network_that_diverges_says_so_and_the_others_go_on():
    def networks(*scales):
        options = {"inputs": 2, "outputs": 2, "hidden": (16, 16), "initialization": "gaussian"}
        return {f"scale {scale:g}": lamina.build("fnn", scale=scale, **options) for scale in scales}

    split, recipe = moons(60).split(), Recipe(MiniBatch(1e-3), epochs=3, batch_size=10)
    *_, last = race(networks(1e-3, 1e18), split, recipe)
    assert last["epoch"] == 3 and last["scale 0.001"]["step"] == 12 and "bad_step" not in last["scale 0.001"]
    assert last["scale 1e+18"] == {"bad_step": 0}
    (only,) = race(networks(1e17, 1e18), split, recipe)  # all of them at once, before the first check
    assert only == {"epoch": 0, "scale 1e+17": {"bad_step": 0}, "scale 1e+18": {"bad_step": 0}}


def test_equal_steps_do_not_move():
    model = ch4_euler.network("ResNet, equal steps", 5)
    assert model.step_sizes.tolist() == pytest.approx([0.8] * 5)
    points = torch.randn(3, 2)
    assert torch.equal(ch4_euler.paths(model, points)[0], points)
    with pytest.raises(ArgumentError, match="kind"):
        ch4_euler.network("no such", 2)


@pytest.mark.slow
@pytest.mark.notes("N4.13")
def test_twenty_layers_learn_only_with_skip_connections():
    *_, last = ch4_vanishing.both(20, "sigmoid, Xavier")
    assert last["FNN"]["validation_accuracy"] < 0.6 and last["ResNet"]["validation_accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.notes("N4.28")
def test_deep_stack_of_preactivation_blocks_trains_best():
    *_, last = ch4_blocks.stacks(50)
    assert last["preactivation"]["loss"] < last["original"]["loss"] < last["plain"]["loss"]
    assert last["plain"]["step"] == ch4_blocks.STEPS


@pytest.mark.slow
@pytest.mark.notes("N4.40")
def test_transfer_is_ahead_of_a_random_start():
    rows = list(ch4_transfer.digits_twice(200))
    tenth = rows[ch4_transfer.BEFORE + 9]
    assert tenth["with transfer"]["validation_accuracy"] > tenth["from scratch"]["validation_accuracy"] + 0.1


@pytest.mark.notes("N4.36", "N4.37")
def test_own_pictures_train_the_adapted_network():
    files = {f"{kind}/{i}.png": png(value + i, mode="RGB") for kind, value in (("a", 20), ("b", 200)) for i in range(8)}
    row = next(ch4_transfer.own_pictures(packed(files)))
    assert sorted(row) == ["epoch", "from scratch", "with transfer"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a/1.png": png()}, "1 folders with pictures, at least 2"),
        ({f"{k}/{i}.png": png() for k in "ab" for i in range(3)}, "3 pictures in a, at least 4"),
        ({f"{k}/{i}.png": b"no picture" for k in "ab" for i in range(4)}, "the archive|cannot be read|is not"),
    ],
)
def test_bad_archives_are_refused(files, words):
    with pytest.raises(DataError, match=words):
        read_archive(packed(files))


def test_large_and_foreign_files_are_refused(monkeypatch):
    with pytest.raises(DataError, match=r"not a \.zip file"):
        read_archive(b"text")
    files = packed({f"{k}/{i}.png": png(i) for k in "ab" for i in range(4)})
    for name, value, words in (
        ("LARGEST", 10, "a page takes"),
        ("MOST", 7, "8 pictures, a page takes 7"),
        ("UNPACKED", 1, "unpacked"),
    ):
        with monkeypatch.context() as changed, pytest.raises(DataError, match=words):
            changed.setattr(own_pictures, name, value)
            read_archive.__wrapped__(files)


def test_archive_cannot_write_elsewhere():
    evil = {f"../../{k}/{i}.png": png(i) for k in ("up", "down") for i in range(4)} | {"__MACOSX/up/x.png": png()}
    data = read_archive(packed(evil))
    assert data.spec.classes == ("down", "up") and len(data) == 8


def test_drawings_hold_the_numbers():
    rows = [{"a": {"step": 5, "loss": 0.5}}, {"a": {"step": 10, "loss": 0.25}}]
    scene = race_chart(rows, {"a": "line1"}, "loss", until=10, y_label="loss", y_range=(0, 1))
    assert any(getattr(shape, "title", "") == "a" for shape in scene.shapes)
    fields = nested_fields({"A": 11, "E": 435}, 224, "E")
    assert "435 x 435" in fields.description
    assert any(getattr(shape, "stroke", None) and shape.stroke.dash for shape in fields.shapes)
