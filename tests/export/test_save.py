"""What `save` refuses, what lies where, and that every form of a network gives the same probabilities."""

import pytest
import torch

import lamina
from lamina._errors import ArgumentError, DataError
from lamina.export import push, save
from lamina.export.save import command_of, deployed_network


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("m.onx", {}, "files that end in .onnx, .pt2 or .safetensors, got '.*m.onx'. Did you mean '.onnx'"),
        ("model", {}, "files that end in .onnx, .pt2 or .safetensors, got '.*model'"),
        ("m.pt2", {"with_preparation": True}, "`with_preparation` is for .onnx files"),
        ("m.safetensors", {"with_preparation": True}, "a .safetensors file always holds the preparation"),
        ("m.onnx", {"aot": True}, "`aot` compiles a network into a .pt2 file"),
        ("here.onnx", {}, "here.onnx exists: choose another name, or add --again"),
        ("folder.onnx", {}, "`--output` must be a file, but .*folder.onnx is a folder"),
        ("nowhere/m.onnx", {}, "nowhere, does not exist: make it first"),
    ],
)
def test_what_is_refused(name, options, sentence, tmp_path):
    (tmp_path / "here.onnx").write_text("mine")
    (tmp_path / "folder.onnx").mkdir()
    with pytest.raises(ArgumentError, match=sentence):
        save(lamina.build("perceptron"), tmp_path / name, **options)
    assert (tmp_path / "here.onnx").read_text() == "mine" and len(list(tmp_path.iterdir())) == 2


def test_a_network_alone_is_no_run(tmp_path):
    with pytest.raises(ArgumentError, match="a .safetensors file is made of a run"):
        save(lamina.build("perceptron"), tmp_path / "m.safetensors")


def test_again_replaces(tmp_path):
    (tmp_path / "m.onnx").write_text("old")
    saved = save(lamina.build("perceptron"), tmp_path / "m.onnx", again=True)
    assert (tmp_path / "m.onnx").read_bytes() != b"old" and saved.facts[0] == "opset 18; free axes: batch"


def test_every_form_gives_the_same_probabilities(digits, tmp_path, answer):
    stored = lamina.load("digits").inputs[300:320]
    wanted = digits.predict(stored)
    packed = lamina.Run.load(save(digits, tmp_path / "m.safetensors").files[0]).predict(stored)
    pushed = lamina.Run.load(push(digits, tmp_path / "pushed")).predict(stored)
    content = save(digits, tmp_path / "m.onnx", with_preparation=True).files[0].read_bytes()
    found = torch.from_numpy(answer(content, {"inputs": stored})["probabilities"])
    for values in (packed.values, pushed.values, found):
        torch.testing.assert_close(values, wanted.values, rtol=0, atol=1e-5)
    assert packed.labels == pushed.labels == wanted.labels == digits.predict(stored).labels


def test_dates_and_strict_categories_are_not_exported(tmp_path):
    rows = [f"2024-0{1 + i % 9}-1{i % 9},{('a', 'b')[i % 2]},{i / 7:.3f},{i % 7}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["day,kind,x,y", *rows]) + "\n")
    (tmp_path / "s.csv").write_text("\n".join(["kind,x,y", *(row.partition(",")[2] for row in rows)]) + "\n")
    sentences = {"t.csv": "the column 'day' cannot be exported, because it holds dates", "s.csv": "refuses unknown"}
    for name, sentence in sentences.items():
        data = lamina.load(tmp_path / name, target="y", unknown="error" if name == "s.csv" else "other", kind="table")
        net = lamina.build("fnn", inputs=lamina.task_of(data).preprocess.inputs, outputs=data.spec.outputs, hidden=(4,))
        run = lamina.fit(net, data, lamina.Recipe(epochs=1), folder=tmp_path / f"run-{name}")
        with pytest.raises(DataError, match=f"{sentence}.*: export the network alone"):
            save(run, tmp_path / "m.onnx", with_preparation=True)


def test_the_command(flats, tmp_path):
    assert command_of(flats).startswith("lamina train fnn --data flats.csv --target rent ")
    packed = lamina.Run.load(save(flats, tmp_path / "m.safetensors").files[0])
    again = lamina.Run.load(save(packed, tmp_path / "n.safetensors").files[0])
    assert (tmp_path / "n.safetensors").read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    assert again.predict([[50.0, 2.0, 1.0]]).values.equal(flats.predict([[50.0, 2.0, 1.0]]).values)


def test_ports_of_networks():
    assert [port.axes for port in deployed_network(lamina.build("lenet5")).inputs] == [("batch", 1, 28, 28)]
    one = deployed_network(lamina.build("one-to-many", inputs=5, outputs=5))
    assert [port.axes for port in one.inputs] == [("batch", 5)]
