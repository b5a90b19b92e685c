"""`lamina export` and `lamina push` as a user types them."""

import json

import pytest
import torch
from PIL import Image

import lamina

pytestmark = pytest.mark.usefixtures("as_user")  # a trace has sizes that are no numbers


@pytest.fixture
def trained(typed, tmp_path):
    """A tiny LeNet-5 on a few digits, and a photo."""
    data = lamina.load("digits")
    for digit in range(2):
        (tmp_path / f"pictures/{digit}").mkdir(parents=True)
        for place in (data.targets == digit).nonzero().flatten()[:8].tolist():
            Image.fromarray(data.inputs[place, 0].numpy()).save(tmp_path / f"pictures/{digit}/{place}.png")
    Image.fromarray(data.inputs[0, 0].numpy()).resize((40, 30)).save(tmp_path / "photo.png")
    words = ["train", "lenet5", "--data", "pictures", "--epochs", "2", "--set", "inputs=1,12,12"]
    assert typed(*words, "--out", "run")[0] == 0
    return "run"


def test_a_network_travels(trained, typed, tmp_path):
    code, out, err = typed("export", trained, "-o", "m.safetensors")
    assert code == 0 and out.splitlines()[0] == "exported: m.safetensors" and "lamina predict m.safetensors" in out, err
    code, out, err = typed("push", trained, "folder", "--license", "mit")
    assert code == 0 and out == "written: folder\nnext: hf upload USER/folder folder\n", err
    wanted = json.loads(typed("predict", trained, "photo.png", "--json")[1])
    assert sum(wanted[0]["top"].values()) == pytest.approx(1)
    for source in ("m.safetensors", "folder"):
        assert json.loads(typed("predict", source, "photo.png", "--json")[1]) == wanted
        code, out, err = typed(
            "train", "lenet5", "--data", "pictures", "--set", "inputs=1,12,12", "--epochs", "1", "--weights", source
        )
        assert code == 0 and f"10 of 10 tensors come from {source}" in out, err
    assert typed("export", trained, "-o", "m.safetensors")[0] == 2
    assert typed("export", trained, "-o", "m.safetensors", "--again", "--quiet")[1] == "m.safetensors\n"
    assert json.loads(typed("push", trained, "folder", "--again", "--json")[1]) == {"folder": "folder"}


def test_onnx(trained, typed, tmp_path, monkeypatch):
    import onnxruntime

    from lamina.training.run import Run

    code, out, err = typed("export", trained, "-o", "m.onnx", "--with-preparation")
    assert code == 0 and "opset 18; free axes: batch" in out, err
    inputs = Run.load("run").task.read("photo.png").inputs
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    probabilities, label = session.run(None, {"inputs": inputs.numpy()})
    (row,) = json.loads(typed("predict", trained, "photo.png", "--json")[1])
    assert label.tolist() == [row["label"]]
    found = dict(zip(("0", "1"), probabilities[0].tolist(), strict=True))
    assert found == pytest.approx(row["top"], abs=1e-5)
    assert json.loads(typed("export", trained, "-o", "m.onnx", "--again", "--json")[1])["files"] == ["m.onnx"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("export", "run", "-o", "m.onx"), "Did you mean '.onnx'?"),
        (("export", "run"), "missing option '-o' / '--output'"),
        (("export", "nowhere", "-o", "m.onnx"), "nowhere is not a folder: give the folder of a run"),
        (("export", "cut.safetensors", "-o", "m.onnx"), "cut.safetensors is damaged or not a safetensors file"),
        (("predict", "cut.safetensors", "photo.png"), "cut.safetensors is damaged or not a safetensors file"),
        (("predict", "other.safetensors", "photo.png"), "other.safetensors holds weights alone"),
        (("push", "nowhere", "folder"), "nowhere is not a folder: give the folder of a run"),
    ],
)
def test_wrong_words(words, sentence, typed, tmp_path):
    from safetensors.torch import save_file

    (tmp_path / "cut.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    code, out, err = typed(*words)
    assert code == 2 and out == "" and err.startswith("lamina: ") and sentence in err and err.count("\n") == 1
