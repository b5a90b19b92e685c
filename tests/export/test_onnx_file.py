"""ONNX files: every architecture and every recurrent variant with free axes, preparation inside, what is refused."""

import json
from itertools import product

import numpy as np
import onnx
import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import DataWarning, MissingExtraError, RunError
from lamina.architectures.table import TABLE
from lamina.export import onnx_file
from lamina.export.onnx_file import OPSET, as_onnx, check, difference
from lamina.export.save import deployed_network, save
from lamina.training.deployment import Deployed, Port, below

_PICTURE = {"inputs": (1, 16, 16), "width": 0.0625}
_ALEXNET = {"inputs": (1, 67, 67), "width": 0.05}
_SMALL = {
    "perceptron": {},
    "logic-gate": {},
    "fnn": {"inputs": 5, "outputs": 3, "hidden": (4, 6), "batch_norm": True},
    "lenet5": {"inputs": (1, 12, 12)},
    "lenet5-1998": {},
    "alexnet": _ALEXNET,
    "alexnet-2012": _ALEXNET,
    "alexnet-torchvision": {"inputs": (1, 63, 63), "width": 0.05},
    "alexnet-cifar": {"inputs": (1, 16, 16), "width": 0.05, "normalization": "batch"},
    "dense-resnet": {"hidden": 4, "depth": 2},
    "neural-ode": {"steps": 2, "method": "rk4"},
    "resnet18": _PICTURE,
    "resnet34": _PICTURE,
    "resnet50": _PICTURE,
    "resnet18-cifar": _PICTURE,
    "cifar-resnet": {"depth": 8, "width": 0.25},
    "resnet164": {"depth": 11, "bottleneck": True, "width": 0.25},
    "resnet1001": {"depth": 11, "bottleneck": True, "width": 0.25},
    "one-to-many": {"inputs": 3, "outputs": 3, "hidden": 4, "steps": 4, "feedback": True},
    "many-to-one": {"inputs": 9, "outputs": 2, "hidden": 4, "embedding": 3, "padding": 0, "bidirectional": True},
    "many-to-many": {"inputs": 3, "outputs": 2, "hidden": 4},
    "seq2seq": {"inputs": 7, "outputs": 7, "hidden": 4, "embedding": 3},
}
_CELLS = ({"cell": "rnn"}, {"cell": "lstm"}, {"cell": "gru"}, {"cell": "gru", "reset": "after"})
_STACKS = (("one", 1), ("deep", 2), ("masked", 2))
_RECURRENT = {
    f"{'-'.join(cell.values())} {stack} {'both ways' if both else 'forward'}": (cell | {"layers": layers}, stack, both)
    for cell, (stack, layers), both in product(_CELLS, _STACKS, (False, True))
}


def shaken(network: torch.nn.Module) -> torch.nn.Module:
    """Make all biases, means and variances differ from where they start, so that a forgotten one is seen."""
    g = torch.Generator().manual_seed(1)
    for name, tensor in network.state_dict().items():
        if tensor.is_floating_point() and tensor.ndim == 1:
            drawn = torch.rand(tensor.shape, generator=g)
            tensor.copy_(drawn + 0.5 if "var" in name or "bn" in name else 0.2 * drawn - 0.1)
    return network.eval()


def variant(name: str) -> Deployed:
    """Give an architecture in its smallest configuration, or a recurrent variant."""
    if name in _SMALL:
        return deployed_network(shaken(lamina.build(name, **_SMALL[name])))
    options, stack, both = _RECURRENT[name]
    network = lamina.build("many-to-many", inputs=3, outputs=2, hidden=4, bidirectional=both, **options)
    lengths = (Port("lengths", ("batch",), below(9)),) if stack == "masked" else ()
    return Deployed(shaken(network), (Port("inputs", ("batch", "time", 3)), *lengths))


def round_trip(deployed: Deployed, answer, close) -> bytes:
    """Export a network and compare it with onnxruntime for sizes that the export itself does not try."""
    content = as_onnx(deployed)
    named = [port.name for port in deployed.inputs]
    for sizes in ((2, 3, 6), (5, 2, 1), (1, 13, 4)):
        inputs = deployed.examples(dict(zip(deployed.free, sizes, strict=False)), seed=sum(sizes))
        with torch.no_grad():
            wanted = deployed.module(*inputs)
        close(answer(content, dict(zip(named, inputs, strict=True)))["outputs"], wanted)
    model = onnx.load_from_string(content)
    axes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    assert axes == {port.name: list(port.axes) for port in deployed.inputs}
    assert {part.domain: part.version for part in model.opset_import}[""] == OPSET
    return content


def test_the_table_is_whole():
    assert list(_SMALL) == list(TABLE) and len(_SMALL) == 22 and len(_RECURRENT) == 24


_LONG = ("resnet34", "resnet50", "resnet18-cifar", "resnet1001")  # other depths of what the others are
_NAMES = [pytest.param(name, marks=pytest.mark.slow if name in _LONG else ()) for name in (*_SMALL, *_RECURRENT)]


@pytest.mark.parametrize("name", _NAMES)
def test_onnxruntime_computes_the_same(name, answer, close):
    round_trip(variant(name), answer, close)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_onnxruntime_computes_the_same_in_full_size(name, answer, close):
    smaller = {"scale": 0.5} if name == "resnet1001" else {}  # untrained, a thousand layers overflow otherwise
    round_trip(deployed_network(lamina.build(name, **smaller).eval()), answer, close)


@pytest.mark.parametrize(("cell", "kind"), [("rnn", "RNN"), ("lstm", "LSTM"), ("gru", "GRU")])
def test_recurrent_layers_are_onnx_s_own_and_weights_are_stored_once(cell, kind):
    network = lamina.build("many-to-many", inputs=30, outputs=2, hidden=40, cell=cell, layers=2)
    content = as_onnx(deployed_network(network))
    assert [node.op_type for node in onnx.load_from_string(content).graph.node].count(kind) == 2
    # ONNX has two biases for our one; beside them there are names and a few shapes
    assert len(content) < 4 * sum(p.numel() for p in network.parameters()) + 4 * 2 * 4 * 40 + 4000
    assert b"recurrent.py" not in content and b"/src/" not in content  # nothing about this machine


def test_float64_becomes_float32(answer):
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=4).double()
    content = as_onnx(deployed_network(network))
    found = answer(content, {"inputs": torch.ones(1, 2)})["outputs"]
    assert found.dtype == "float32" and network.layers[0].affine.weight.dtype == torch.float64
    torch.testing.assert_close(torch.from_numpy(found), network(torch.ones(1, 2).double()).float().detach())


def test_what_differs_is_refused():
    one, other = (deployed_network(lamina.build("fnn", inputs=2, outputs=2, hidden=4, seed=seed)) for seed in (0, 1))
    content = as_onnx(one)
    assert check(content, one) < 1e-6
    with pytest.raises(RunError, match="something else than the trained network: outputs differ by .* more than 1e-05"):
        check(content, other)
    with pytest.raises(RunError, match="onnxruntime cannot read the exported network"):
        check(content[: len(content) // 2], one)
    wide = deployed_network(lamina.build("fnn", inputs=3, outputs=2, hidden=4))
    with pytest.raises(RunError, match=r"cannot run the exported network on inputs of shape \(1, 3\)"):
        check(content, wide)


def test_a_wrong_translation_is_refused(monkeypatch):
    """The two GRUs differ in one attribute of ONNX's."""
    right = onnx_file.translations()
    recurrent = next(name for name in right if "onnx_recurrent" in str(name))
    wrong = {**right, recurrent: lambda *args: right[recurrent](*args[:-1], 1 - args[-1])}
    monkeypatch.setattr(onnx_file, "translations", lambda: wrong)
    network = shaken(lamina.build("many-to-many", inputs=3, outputs=2, hidden=4))
    with pytest.raises(RunError, match="computes something else"):
        as_onnx(deployed_network(network))


def test_differences_by_hand():
    assert difference(np.array([1.0, 2.0]), torch.tensor([1.0, 2.5])) == 0.2
    assert difference(np.array([1.0, 2.0]), torch.tensor([[1.0, 2.0]])) == float("inf")
    assert difference(np.array([1, 2]), torch.tensor([1, 2])) == 0
    assert difference(np.array([1, 2]), torch.tensor([1, 3])) == float("inf")
    assert not difference(np.array([np.nan, 1]), torch.tensor([0.0, 1])) <= 1e-5
    with pytest.raises(RunError, match="the network gives NaN or infinity for random inputs"):
        difference(np.array([np.nan, 1]), torch.tensor([torch.nan, 1]))


def test_nan_from_onnxruntime_is_refused():
    network = lamina.build("perceptron")
    content = as_onnx(deployed_network(network))
    broken = onnx.load_from_string(content)
    for tensor in broken.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.full_like(array, np.nan), tensor.name))
    with pytest.raises(RunError, match="computes something else"):
        check(broken.SerializeToString(), deployed_network(network))


def test_without_the_extra(monkeypatch):
    monkeypatch.setattr(onnx_file.importlib.util, "find_spec", lambda name: None if name == "onnxscript" else 1)
    with pytest.raises(MissingExtraError, match=r"'onnxscript': install it with  pip install 'lamina-nn\[export\]'"):
        as_onnx(deployed_network(lamina.build("perceptron")))


def test_a_photo_as_bytes(digits, tmp_path, answer):
    """Bytes of 8x8 in, classes with probabilities out: 28x28 is made inside, and all as `predict` does it."""
    photos = []
    for place in range(20):
        pixels = lamina.load("digits").inputs[300 + place, 0]
        Image.fromarray(pixels.numpy()).save(tmp_path / f"{place}.png")
        photos.append(tmp_path / f"{place}.png")
    (file,) = save(digits, tmp_path / "m.onnx", with_preparation=True).files
    stored = digits.task.read([str(photo) for photo in photos]).inputs
    assert stored.dtype == torch.uint8 and stored.shape == (20, 1, 8, 8)
    found, wanted = answer(file.read_bytes(), {"inputs": stored}), digits.predict([str(p) for p in photos])
    torch.testing.assert_close(torch.from_numpy(found["probabilities"]), wanted.values, rtol=0, atol=1e-5)
    assert found["label"].tolist() == wanted.labels and len(set(wanted.labels)) > 2


def test_rows_by_their_columns(flats, tmp_path, answer):
    """Numbers and categories in, a gap is NaN or an empty text, and a column may be called as an output is."""
    (file,) = save(flats, tmp_path / "m.onnx", with_preparation=True).files
    (tmp_path / "new.csv").write_text("size,rooms,label\n31.5,3,center\n88,,suburb\n40,2,\n70,1,village\n")
    columns = {
        "size": torch.tensor([31.5, 88, 40, 70, 70]).double(),
        "rooms": torch.tensor([3, torch.nan, 2, 1, 1]).double(),
        "label": np.array(["center", "suburb", "", "village", "moon"], dtype=object),
    }
    found, wanted = answer(file.read_bytes(), columns), flats.predict(tmp_path / "new.csv")
    torch.testing.assert_close(torch.from_numpy(found["probabilities"][:4]), wanted.values, rtol=0, atol=1e-5)
    assert found["label*"][:4].tolist() == wanted.labels
    (tmp_path / "odd.csv").write_text("size,rooms,label\n70,1,moon\n")
    with pytest.warns(DataWarning, match="no training row has"):
        odd = flats.predict(tmp_path / "odd.csv")
    torch.testing.assert_close(torch.from_numpy(found["probabilities"][4:]), odd.values, rtol=0, atol=1e-5)


def test_the_record_in_the_file(flats, tmp_path):
    (file,) = save(flats, tmp_path / "m.onnx").files
    model = onnx.load(file)
    record = json.loads({prop.key: prop.value for prop in model.metadata_props}["lamina"])
    assert record["classes"] == ["high", "low"] and record["lamina"] == lamina.__version__
    assert record["preprocess"]["mean"] == list(flats.preprocess.mean) and not record["with_preparation"]
    assert record["config"]["architecture"]["network"] == "FNN" and model.producer_name == "lamina"
    assert str(flats.folder.parent) not in json.dumps(record)
