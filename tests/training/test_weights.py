import argparse
import json
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from architectures.torchvision_reference import reference
from lamina._errors import ArgumentError, DataError, RunError
from lamina.architectures.adapt import changed_tensors, new_tensors
from lamina.architectures.build import build
from lamina.data.load import load
from lamina.layers.dropout import mask_state
from lamina.layers.initialized import linear
from lamina.training.fit import fit
from lamina.training.freezing import freeze, frozen
from lamina.training.manifest import Manifest
from lamina.training.recipe import Adam, Recipe
from lamina.training.weights import _Matched, load_weights, prepare_transfer, read_tensors
from scripts import command, script

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "transfer.py"


def resnet(outputs=10, seed=0, **options):
    return build("resnet18", **{"inputs": (3, 32, 32), "width": 0.1, "outputs": outputs, "seed": seed, **options})


def trained(net):
    """Move every number, as training would."""
    with torch.no_grad():
        for t in net.state_dict().values():
            t.add_(1)
    return net


def write(path, tensors):
    if path.suffix == ".safetensors":
        save_file(tensors, path)
    else:
        torch.save(tensors, path)
    return path


@pytest.mark.notes("N4.35")
@pytest.mark.parametrize("name", ["weights.safetensors", "weights.pt", "weights.pth", "Gewichte für 10 Äpfel.pth"])
def test_all_tensors_of_the_same_network_are_loaded(name, tmp_path):
    source, net = trained(resnet()), resnet(seed=1)
    matched = load_weights(net, write(tmp_path / name, source.state_dict()))
    assert changed_tensors(source, net) == ()
    assert matched.loaded == tuple(source.state_dict()) and len(matched.loaded) == 122
    assert matched == _Matched(name, matched.loaded) and str(matched) == f"122 of 122 tensors come from {name}"


def test_the_format_is_read_from_the_content_not_from_the_name(tmp_path):
    source = trained(resnet())
    path = write(tmp_path / "w.safetensors", source.state_dict())
    path.rename(tmp_path / "w.pt")
    torch.save(source.state_dict(), tmp_path / "old", _use_new_zipfile_serialization=False)
    for name in ("w.pt", "old"):
        net = resnet(seed=1)
        load_weights(net, tmp_path / name)
        assert changed_tensors(source, net) == ()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: {"state_dict": state},
        lambda state: {"epoch": torch.tensor(3), "model": {"state_dict": state}, "optimizer": {"lr": 0.1}},
        lambda state: {"model_state_dict": OrderedDict((f"module.{k}", v) for k, v in state.items())},
        lambda state: {f"model.{k}": v for k, v in state.items()},
        lambda state: {f"module.model._orig_mod.{k}": v for k, v in state.items()},
        lambda state: {k: nn.Parameter(v) if v.is_floating_point() else v for k, v in state.items()},
    ],
)
def test_wrappers_and_prefixes_are_taken_off(wrap, tmp_path):
    source, net = trained(resnet()), resnet(seed=1)
    matched = load_weights(net, write(tmp_path / "w.pth", wrap(source.state_dict())))
    assert changed_tensors(source, net) == () and matched.unexpected == () == matched.missing


def test_a_prefix_that_belongs_to_the_network_stays(tmp_path):
    net = nn.Sequential(OrderedDict(model=linear(2, 2), module=linear(2, 2, seed=1)))
    source = trained(nn.Sequential(OrderedDict(model=linear(2, 2), module=linear(2, 2, seed=1))))
    load_weights(net, write(tmp_path / "w.pt", source.state_dict()))
    assert changed_tensors(source, net) == ()


@pytest.mark.notes("N4.35", "N4.41")
def test_torchvisions_weights_are_ours(tmp_path):
    source = trained(build("resnet18"))
    theirs = reference("resnet18", source.state_dict())
    state = {n: t for n, t in theirs.state_dict().items() if "num_batches_tracked" not in n}  # as files of 2017
    net = build("resnet18", inputs=(1, 64, 64), outputs=10)
    matched = load_weights(net, write(tmp_path / "resnet18-f37072fd.pth", state))
    assert matched.reshaped == ("conv1.weight", "fc.weight", "fc.bias") and matched.missing == ()
    assert str(matched) == (
        "99 of 102 tensors come from resnet18-f37072fd.pth; of another size there, so new: conv1, fc"
    )
    kept = set(state) - set(matched.reshaped)
    assert all(torch.equal(net.state_dict()[name], state[name]) for name in kept) and len(kept) == 99
    assert changed_tensors(net, build("resnet18", inputs=(1, 64, 64), outputs=10)) != ()
    fresh = build("resnet18", inputs=(1, 64, 64), outputs=10)
    assert torch.equal(net.conv1.weight, fresh.conv1.weight) and torch.equal(net.fc.weight, fresh.fc.weight)


def test_torchvisions_alexnet_has_no_masks_and_keeps_ours(tmp_path):
    options = {"width": 0.05, "outputs": 5}
    source = trained(build("alexnet-torchvision", **options))
    plain = source.state_dict()
    net = build("alexnet-torchvision", **options, dropout=0.25, seed=3)
    before = {n: t.clone() for n, t in mask_state(net).items()}
    matched = load_weights(net, write(tmp_path / "alexnet.pth", plain))
    assert matched.loaded == tuple(plain) and matched.missing == ()
    # A run of version 0.1 holds the state of its masks; the new network keeps its own rate, seed and counter.
    old = plain | mask_state(source)
    for state in (old, {f"module.{name}": t for name, t in old.items()}):
        matched = load_weights(net, write(tmp_path / "run.safetensors", state))
        assert matched.loaded == tuple(plain) and matched.unexpected == ()
    assert len(before) == 6 and all(torch.equal(mask_state(net)[n], t) for n, t in before.items())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    net = build("lenet5", inputs=(1, 8, 8), activation="relu")
    folder = tmp_path_factory.mktemp("runs") / "lenet5-digits"
    return fit(net, load("digits"), Recipe(Adam(0.01), epochs=1), folder=folder)


@pytest.mark.notes("N4.35", "N4.39")
def test_the_folder_of_a_run_is_a_file_of_weights(run):
    net = build("lenet5", inputs=(1, 8, 8), outputs=4, activation="relu", seed=5)
    fresh = build("lenet5", inputs=(1, 8, 8), outputs=4, activation="relu", seed=5)
    matched = load_weights(net, run.folder)
    assert matched.reshaped == ("classifier.7.weight", "classifier.7.bias") and matched.source == "lenet5-digits"
    assert set(changed_tensors(fresh, net)) == set(matched.loaded) and len(matched.loaded) == 8
    assert all(torch.equal(net.state_dict()[n], run.model.state_dict()[n]) for n in matched.loaded)
    load_weights(fresh, run.folder / "weights.safetensors")
    assert changed_tensors(fresh, net) == ()


def test_other_precisions_are_converted(tmp_path):
    source = trained(resnet())
    half = {n: t.bfloat16() if t.is_floating_point() else t for n, t in source.state_dict().items()}
    net = resnet(seed=1).double()
    load_weights(net, write(tmp_path / "w.pt", half))
    assert torch.equal(net.fc.weight, half["fc.weight"].double())


def test_what_is_missing_unexpected_and_reshaped_is_reported(tmp_path):
    state = trained(resnet(outputs=5)).state_dict()
    del state["layer1.0.bn1.weight"], state["layer2.0.conv1.weight"]
    state |= {"aux.weight": torch.zeros(3), "aux.bias": torch.zeros(3), "ema": torch.zeros(1)}
    net = resnet(seed=1)
    before = net.layer2[0].conv1.weight.clone()
    matched = load_weights(net, write(tmp_path / "w.pt", state))
    assert matched.missing == ("layer1.0.bn1.weight", "layer2.0.conv1.weight")
    assert matched.unexpected == ("aux.weight", "aux.bias", "ema") and matched.reshaped == ("fc.weight", "fc.bias")
    assert torch.equal(net.layer2[0].conv1.weight, before) and len(matched.loaded) == 118
    assert str(matched) == (
        "118 of 122 tensors come from w.pt; of another size there, so new: fc; not there, so new: layer1.0.bn1, "
        "layer2.0.conv1; there but not used: aux, ema"
    )


def test_a_long_list_is_cut():
    matched = _Matched("w.pt", ("a.weight",), missing=tuple(f"layer{i}.weight" for i in range(8)))
    assert str(matched) == (
        "1 of 9 tensors come from w.pt; not there, so new: layer0, layer1, layer2, layer3, layer4 and 3 more"
    )


def test_a_layer_of_another_size_starts_anew_with_its_bias(tmp_path):
    source, net = trained(build("lenet5")), build("lenet5", inputs=(3, 28, 28), seed=1)
    matched = load_weights(net, write(tmp_path / "w.pt", source.state_dict()))
    assert matched.reshaped == ("features.0.weight", "features.0.bias") and (net.features[0].bias == 0).all()


def test_cells_keep_their_columns_on_the_state(tmp_path):
    source = trained(build("many-to-one", inputs=8, hidden=4))
    net = build("many-to-one", inputs=5, hidden=4, seed=1)
    matched = load_weights(net, write(tmp_path / "w.pt", source.state_dict()))
    assert matched.partly == ("recurrent.cells.0.weight",)
    assert torch.equal(net.recurrent.cells[0].weight[:, :4], source.recurrent.cells[0].weight[:, :4])
    assert str(matched) == "2 of 3 tensors come from w.pt; new only where they read the inputs: recurrent.cells.0"


OTHER = [
    (("resnet50", {"width": 0.1}), ("resnet18", {"width": 0.1}), "9 of the 22 .* of ResNet .*'layer1.0.conv1.weight'"),
    (("lenet5", {}), ("resnet18", {"width": 0.1}), "0 of the 22 weights and biases of ResNet"),
    (
        ("fnn", {"hidden": (8, 4)}),
        ("fnn", {"hidden": (6, 4)}),
        "2 of the 6 .* of FNN .*'layers.1.affine.weight' is not",
    ),
    (("perceptron", {}), ("perceptron", {"outputs": 2}), "0 of the 2 weights and biases of Perceptron"),
    (("neural-ode", {}), ("neural-ode", {"inputs": 3}), "0 of the 4 weights and biases of NeuralODE"),
]


@pytest.mark.parametrize(("old", "new", "message"), OTHER)
def test_weights_of_another_architecture_are_refused_and_nothing_changes(old, new, message, tmp_path):
    path = write(tmp_path / "w.pt", trained(build(old[0], **old[1])).state_dict())
    net, before = build(new[0], **new[1]), build(new[0], **new[1])
    with pytest.raises(DataError, match=rf"w.pt holds weights of another architecture: {message}.* Choose the arch"):
        load_weights(net, path)
    assert changed_tensors(net, before) == ()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("fnn", {"hidden": (8, 4)}, {"hidden": (8, 4), "inputs": 9, "outputs": 3}),
        ("seq2seq", {"hidden": 4}, {"hidden": 4, "inputs": 9, "outputs": 11}),
        ("many-to-one", {"hidden": 4}, {"hidden": 4, "inputs": 3, "outputs": 5}),
        ("lenet5", {}, {"inputs": (1, 20, 20)}),
    ],
)
def test_new_ends_are_not_another_architecture(name, old, new, tmp_path):
    path = write(tmp_path / "w.pt", trained(build(name, **old)).state_dict())
    assert load_weights(build(name, **new), path).loaded


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch '{self.path}'",))


def malicious_files(folder):
    evil = Malicious(folder / "executed")
    torch.save({"fc.weight": evil}, folder / "zip.pth")
    torch.save({"fc.weight": evil}, folder / "old.pth", _use_new_zipfile_serialization=False)
    for protocol in (2, 5):
        (folder / f"raw{protocol}.pt").write_bytes(pickle.dumps({"fc.weight": evil}, protocol))
    (folder / "disguised.safetensors").write_bytes((folder / "zip.pth").read_bytes())
    return ["zip.pth", "old.pth", "raw2.pt", "raw5.pt", "disguised.safetensors"]


def test_a_pickle_with_code_is_refused_and_not_executed(tmp_path):
    for name in malicious_files(tmp_path):
        net = resnet()
        with pytest.raises(DataError) as caught:
            load_weights(net, tmp_path / name)
        assert not (tmp_path / "executed").exists(), name
        assert changed_tensors(net, resnet()) == ()
        said = str(caught.value)
        if name == "disguised.safetensors":
            assert "is damaged or not a file of weights" in said
        else:
            assert "none of it was executed. A file of weights holds only tensors: save the state dict" in said
        if name == "zip.pth":
            assert "zip.pth asks for the Python object posix.system;" in said
    pickle.loads((tmp_path / "raw2.pt").read_bytes())  # it would have been
    assert (tmp_path / "executed").exists()


def test_the_command_ends_with_exit_code_2_and_one_sentence(tmp_path, monkeypatch):
    malicious_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = command("train", "lenet5", "--weights", "zip.pth", "--epochs", "1")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("lamina: zip.pth asks for the Python object posix.system; none of it was executed")
    assert done.stderr.count("\n") == 1 and not (tmp_path / "executed").exists() and not (tmp_path / "runs").exists()


@pytest.mark.parametrize("value", [argparse.Namespace(rate=0.1), linear(2, 2)])
def test_other_objects_are_named_too(value, tmp_path):
    torch.save({"state_dict": {"a": torch.zeros(1)}, "args": value}, tmp_path / "w.pt")
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    with pytest.raises(DataError, match=f"w.pt asks for the Python object {name}; none of it was executed"):
        read_tensors(tmp_path / "w.pt")


def test_a_cut_file_is_said_to_be_damaged(tmp_path):
    state = resnet().state_dict()
    for name in ("w.pt", "w.safetensors"):
        whole = write(tmp_path / name, state).read_bytes()
        for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:size])
            with pytest.raises(DataError, match=rf"{name} (is damaged or|is damaged or not a file of weights \()"):
                load_weights(resnet(), tmp_path / name)
    torch.save(state, tmp_path / "old", _use_new_zipfile_serialization=False)
    whole = (tmp_path / "old").read_bytes()
    for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "old").write_bytes(whole[:size])
        with pytest.raises(DataError, match="old is damaged or"):
            load_weights(resnet(), tmp_path / "old")


def test_a_flipped_bit_in_torchs_archive_is_noticed(tmp_path):
    path = write(tmp_path / "w.pt", {"weight": torch.ones(1000), "bias": torch.zeros(3)})
    content = bytearray(path.read_bytes())
    place = content.index(struct.pack("<4f", 1, 1, 1, 1)) + 2000
    content[place] ^= 1
    path.write_bytes(content)
    torch.load(path, weights_only=True)  # torch itself does not see it
    with pytest.raises(
        DataError, match=r"w.pt is damaged or not a file of weights \(the checksum of w/data/0 is wrong\)"
    ):
        read_tensors(path)


def test_flipped_bits_in_a_safetensors_file(tmp_path):
    source = linear(40, 30)
    path = write(tmp_path / "w.safetensors", source.state_dict())
    whole = path.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    for place in range(header):
        for bit in (0, 6, 7):
            content = bytearray(whole)
            content[place] ^= 1 << bit
            path.write_bytes(content)
            net = linear(40, 30, seed=1)
            try:
                load_weights(net, path)
            except DataError:
                assert torch.equal(net.weight, linear(40, 30, seed=1).weight)
            else:  # a name that is a little different leaves the tensor as it was; sizes and offsets are checked
                assert all(
                    torch.equal(t, source.state_dict()[n]) or torch.equal(t, linear(40, 30, seed=1).state_dict()[n])
                    for n, t in net.state_dict().items()
                ), place
    # An exponent of all ones, and with it the tensor, is no number.
    content = bytearray(whole)
    content[header + 4 * 30 + 3] |= 0x7F
    content[header + 4 * 30 + 2] |= 0x80
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'weight' in .*w.safetensors holds NaN or infinity: the file is damaged, or"):
        load_weights(linear(40, 30), path)


def test_a_compressed_archive_is_refused_before_it_unfolds(tmp_path):
    path = write(tmp_path / "w.pt", {"weight": torch.zeros(10**6)})
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, old.read(part))
    assert (tmp_path / "bomb.pt").stat().st_size < 10**5
    with pytest.raises(DataError, match="bomb.pt is compressed, which torch never does: unpack it, or save it again"):
        read_tensors(tmp_path / "bomb.pt")


NO_WEIGHTS = [
    (
        {"epoch": 3},
        "w.pt holds a dict instead of tensors with names: give the folder of a run, a .safetensors file, or",
    ),
    (torch.zeros(3), "w.pt holds a Tensor instead of tensors with names"),
    ([torch.zeros(3)], "w.pt holds a list instead of tensors with names"),
    ({"state_dict": {}}, "w.pt holds a dict instead of tensors with names"),
]


@pytest.mark.parametrize(("content", "message"), NO_WEIGHTS)
def test_a_file_without_named_tensors(content, message, tmp_path):
    torch.save(content, tmp_path / "w.pt")
    with pytest.raises(DataError, match=message):
        read_tensors(tmp_path / "w.pt")


def test_other_files_and_places(tmp_path):
    with pytest.raises(
        DataError, match=r"nothing.pt does not exist: give the folder of a run, a .safetensors file, or"
    ):
        load_weights(resnet(), tmp_path / "nothing.pt")
    (tmp_path / "loop.pt").symlink_to(tmp_path / "loop.pt")
    with pytest.raises(DataError, match="loop.pt cannot be read: Too many levels of symbolic links"):
        load_weights(resnet(), tmp_path / "loop.pt")
    for content in (b"hello, no weights here", b"\x89PNG\r\n\x1a\n" + bytes(100), bytes(1000), b"PK\x03\x04 and so on"):
        (tmp_path / "w.pt").write_bytes(content)
        with pytest.raises(DataError, match=r"w.pt is damaged or (not a file of weights|holds more than weights)"):
            load_weights(resnet(), tmp_path / "w.pt")
    with pytest.raises(RunError, match=r"is not the folder of a run: it has no config.toml"):
        load_weights(resnet(), tmp_path)


def test_a_damaged_or_newer_run_is_refused(run, tmp_path):
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(run.folder, copy)
    content = (copy / "weights.safetensors").read_bytes()
    (copy / "weights.safetensors").write_bytes(content[:-9])
    net = build("lenet5", inputs=(1, 8, 8), activation="relu")
    with pytest.raises(RunError, match=r"weights.safetensors is damaged"):
        load_weights(net, copy)
    (copy / "config.toml").write_text("version = 99\n")
    Manifest(copy).take("config.toml")
    with pytest.raises(RunError, match="was written by a newer Lamina"):
        load_weights(net, copy)


@pytest.mark.notes("N4.35", "N4.39", "N4.41")
def test_transfer_in_one_call(tmp_path):
    source = trained(resnet(outputs=100))
    path = write(tmp_path / "w.safetensors", source.state_dict())
    net, sentence = prepare_transfer(resnet(outputs=100, seed=1), path, channels=1, classes=4, freeze="layer1")
    assert set(changed_tensors(source, net)) == {"conv1.weight", "fc.weight", "fc.bias"}
    assert net.config.inputs == (1, 32, 32) and net.config.outputs == 4
    assert frozen(net) == ("maxpool", "layer1")
    assert sentence == (
        "122 of 122 tensors come from w.safetensors; adapted: conv1, fc; frozen: maxpool, layer1; trained all the "
        "same, because they start anew or follow what does: conv1, bn1."
    )
    # A network that was built for the new data needs no sizes; the notes freeze nothing.
    net, sentence = prepare_transfer(resnet(outputs=4), path)
    assert sentence == "120 of 122 tensors come from w.safetensors; of another size there, so new: fc."
    assert frozen(net) == () and torch.equal(net.conv1.weight, source.conv1.weight)
    with pytest.raises(ArgumentError, match="`until` must be one of the stages conv1"):
        prepare_transfer(resnet(outputs=4), path, freeze="layer9000")


def test_what_does_not_come_from_the_file_is_new(tmp_path):
    state = trained(resnet(outputs=100)).state_dict()
    del state["layer1.0.bn1.running_mean"]  # a layer that is there in part
    path = write(tmp_path / "w.pt", state)
    net = resnet(outputs=4)
    load_weights(net, path)
    assert new_tensors(net) == ("layer1.0.bn1.running_mean", "fc.weight", "fc.bias")
    freeze(net, "fc")
    assert net.layer1[0].bn1.weight.requires_grad and not net.layer1[0].conv1.weight.requires_grad
    # What the first file lacks, a second may have.
    head = {f"fc.{name}": t for name, t in resnet(outputs=4, seed=3).fc.state_dict().items()}
    load_weights(net, write(tmp_path / "whole.pt", state | head))
    assert new_tensors(net) == ("layer1.0.bn1.running_mean",)


def test_a_layer_can_be_left_as_it_is(tmp_path):
    source, net = trained(resnet()), resnet(seed=1)
    before = net.fc.weight.clone()
    matched = load_weights(net, write(tmp_path / "w.pt", source.state_dict()), anew=["fc"])
    assert str(matched) == "120 of 122 tensors come from w.pt; of another meaning there, so new: fc"
    assert torch.equal(net.fc.weight, before) and new_tensors(net) == ("fc.weight", "fc.bias")


def test_the_seed_of_a_transfer_is_that_of_the_new_layers(tmp_path):
    path = write(tmp_path / "w.pt", resnet().state_dict())
    one, same, other = (prepare_transfer(resnet(), path, classes=4, seed=seed)[0] for seed in (1, 1, 2))
    assert changed_tensors(one, same) == () and changed_tensors(one, other) == ("fc.weight",)


def example(*options):
    return script(EXAMPLE, *options)


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("LAMINA_DATA", raising=False)


@pytest.mark.notes("N4.40")
def test_transfer_takes_fewer_steps_than_training_from_scratch(no_data):
    done = example("--seeds", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    seed, transfer, scratch = map(int, done.stdout.splitlines()[3].split())
    assert seed == 0 and 2 * transfer < scratch


@pytest.mark.slow
@pytest.mark.notes("N4.40")
def test_transfer_takes_fewer_steps_over_three_seeds_and_a_broken_promise_is_a_failure(no_data):
    assert example().returncode == 0
    assert example("--target", "0.01", "--seeds", "1").returncode == 1


@pytest.mark.slow
@pytest.mark.notes("N4.40")
@pytest.mark.skipif(not os.environ.get("LAMINA_DATA"), reason="needs LAMINA_DATA")
def test_transfer_from_digits_to_clothes():
    done = example()
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [list(map(int, line.split())) for line in done.stdout.splitlines()[3:6]]
    assert [row[0] for row in rows] == [0, 1, 2] and all(a < b for _, a, b in rows)


def test_a_version_or_metadata_in_the_file_does_no_harm(tmp_path):
    source = trained(linear(2, 2))
    save_file(source.state_dict(), tmp_path / "w.safetensors", {"lamina": json.dumps({"version": 1})})
    net = linear(2, 2, seed=1)
    load_weights(net, tmp_path / "w.safetensors")
    assert changed_tensors(net, source) == ()
