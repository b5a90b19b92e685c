"""Shipped networks: whole, recorded, and as good as their record says."""

import json
from importlib.resources import files

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data.handwriting import as_mnist
from lamina.data.load import digits
from lamina.data.store import find
from lamina.inspection import feature_maps
from lamina.pages.chapters.ch3.lenet._work import STROKES, inked
from lamina.pages.kit import _shipped as module
from lamina.pages.kit._shipped import names, shipped


def reads(network, record, pictures):
    stored = (255 * pictures).round().byte()[:, None]
    with torch.no_grad():
        return network(record.preprocess.apply(stored)).softmax(1)


@pytest.fixture(scope="module")
def lenet():
    return shipped("lenet5-mnist")


def test_digest_parameters_and_record(lenet):
    network, record = lenet
    assert record.weights == "969d272b6e93142f"
    assert sum(p.numel() for p in network.parameters()) == 61_706 and not network.training
    assert record.metrics["accuracy"] == 0.9923 and record.command.startswith("lamina train lenet5 --data mnist ")
    assert record.preprocess.mean == (0.13076753041216488,) and record.preprocess.std == (0.3082563900724463,)


@pytest.mark.parametrize("name", names())
def test_every_shipped_network_loads_and_has_no_path_of_a_machine(name):
    network, _ = shipped(name)
    assert all(p.isfinite().all() for p in network.parameters())
    text = json.dumps(json.loads(files("lamina.pages").joinpath("shipped", f"{name}.json").read_text()))
    assert not any(part in text for part in ("/home", "/root", "/tmp", "/work", "\\\\"))


def test_two_visitors_get_two_networks():
    (one, _), (two, _) = shipped("lenet5-mnist"), shipped("lenet5-mnist")
    assert one is not two and one.get_parameter("features.0.weight") is not two.get_parameter("features.0.weight")


@pytest.mark.notes("N3.07")
@pytest.mark.parametrize("digit", range(10))
def test_a_drawn_digit_is_read(lenet, digit):
    chances = reads(*lenet, as_mnist(inked(STROKES[digit], side=84))[None])[0]
    assert int(chances.argmax()) == digit and chances[digit] > 0.95


def test_a_seven_anywhere_and_of_any_size_is_read(lenet):
    seven = [(0.28, 0.24), (0.7, 0.22), (0.56, 0.5), (0.46, 0.82)]
    for size, right, down in ((0.3, 0.0, 0.0), (0.6, 0.38, 0.1), (1.0, 0.1, 0.1)):
        stroke = [(right + size * x, down + size * y) for x, y in seven]
        assert int(reads(*lenet, as_mnist(inked([stroke], side=112))[None]).argmax()) == 7


def test_accuracy_on_the_embedded_digits(lenet):
    data = digits()
    pictures = torch.stack([as_mnist(picture[0].float() / 255) for picture in data.inputs[:500]])
    share = (reads(*lenet, pictures).argmax(1) == data.targets[:500]).float().mean()
    assert share > 0.85  # 8 x 8 pixels by other people; a guess would be 0.1


@pytest.mark.slow
@pytest.mark.skipif(find("mnist") is None, reason="needs LAMINA_DATA")
def test_accuracy_on_mnist_is_that_of_the_record(lenet):
    from lamina.data.named import load_named

    network, record = lenet
    test = load_named("mnist").split(seed=0).open_test()
    inputs, targets = test.take(torch.arange(len(test)))
    with torch.no_grad():
        outputs = torch.cat([network(record.preprocess.apply(part)) for part in inputs.split(500)])
    assert (outputs.argmax(1) == targets).double().mean().item() == pytest.approx(record.metrics["accuracy"], abs=2e-4)


def test_unknown_name_is_refused():
    with pytest.raises(ArgumentError, match=r"`name` must be one of .*lenet5-mnist.*, got 'lenet'"):
        shipped("lenet")


def test_damaged_weights_are_noticed(monkeypatch):
    monkeypatch.setattr(module, "digest", lambda content: "0" * 16)
    with pytest.raises(DataError, match=r"digest 0000000000000000, not 969d272b6e93142f: .* install lamina again"):
        shipped("lenet5-mnist")


def test_shipped_network_reads_the_digits():
    from lamina.data.load import digits

    network, record = shipped("resnet18-digits")
    data = digits()
    with torch.no_grad():
        answers = network(record.preprocess.apply(data.inputs[:300])).argmax(1)
    assert (answers == data.targets[:300]).double().mean() > 0.97
    assert feature_maps(network, record.preprocess.apply(data.inputs[:1]))["layer4.1"].values.shape == (1, 32, 4, 4)


@pytest.fixture(scope="module")
def translator():
    return shipped("seq2seq-phrasebook")


def test_record_says_what_was_measured(translator):
    _, record = translator
    assert record.command == "lamina train seq2seq --data phrasebook"
    assert record.metrics["exact"] == 0.9715 and record.metrics["examples"] == 2000
