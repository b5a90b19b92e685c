"""Weights from elsewhere: the network and the pictures follow them, what is new trains, and what was learned helps."""

import json
import os
import statistics

import numpy as np
import pytest
import torch
from PIL import Image

from architectures.torchvision_reference import _prepare
from lamina.architectures.build import build
from lamina.data.arrays import from_arrays
from lamina.data.dataset import Subset
from lamina.data.load import load
from lamina.experiments.transfer import classes_of
from lamina.report._commands import train as train_command
from lamina.report._record import read as read_record
from lamina.training.fit import fit, resume
from lamina.training.freezing import ALL_BUT_LAST, frozen
from lamina.training.plan import plan
from lamina.training.run import Run
from lamina.training.runtime import Runtime
from lamina.training.transfer import IMAGENET, Origin

ONE = Runtime("cpu", threads=1)


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory):
    """The state dict of torchvision's ResNet18 with random numbers, as a file, and the same with other numbers."""
    _prepare()
    from torchvision.models import resnet18

    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = resnet18().state_dict()
    path = tmp_path_factory.mktemp("weights") / "state_dict.pth"
    torch.save(state, path)
    return path, state


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two classes of color pictures of 40 x 30 pixels."""
    folder, numbers = tmp_path_factory.mktemp("data") / "photos", np.random.default_rng(0)
    for label, channel in (("red", 0), ("blue", 2)):
        (folder / label).mkdir(parents=True)
        for number in range(9):
            pixels = numbers.integers(0, 120, (40, 30, 3), dtype=np.uint8)
            pixels[..., channel] += 100
            Image.fromarray(pixels).save(folder / label / f"{number}.png")
    return folder


def trained(job, folder):
    return fit(job.model, job.task, job.recipe, folder=folder, runtime=ONE)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run on five of the digits, with a small ResNet for pictures of 12 x 12."""
    options = {"inputs": (1, 12, 12), "depth": 8, "width": 0.5}
    job = plan("cifar-resnet", classes_of("digits", range(5), 200, seed=0), epochs=1, options=options)
    return trained(job, tmp_path_factory.mktemp("runs") / "five")


# The network follows the weights


@pytest.mark.notes("N4.35", "N4.36")
def test_the_stem_and_the_size_of_small_pictures_follow_an_imagenet_file(imagenet):
    path, state = imagenet
    job = plan("resnet18", "digits", weights=path)
    config = job.model.config
    assert (config.stem, config.inputs, config.outputs) == ("imagenet", (3, 224, 224), 10)
    assert torch.equal(job.model.conv1.weight, state["conv1.weight"])
    assert job.notes[1:4] == (
        "pictures of 1 x 8 x 8 are scaled to 3 x 224 x 224",
        "120 of 122 tensors come from state_dict.pth; of another size there, so new: fc.",
        "the network follows the weights in stem=imagenet, inputs=(3, 224, 224); "
        "pictures are normalized by the mean and standard deviation of ImageNet",
    )
    picture = load("digits").inputs[:1]
    prepared = job.task.preprocess.apply(picture)
    by_hand = torch.nn.functional.interpolate(picture.float(), (224, 224), mode="nearest")
    assert prepared.shape == (1, 3, 224, 224)
    mean, std = (torch.tensor(values)[:, None, None] for values in IMAGENET)
    back = prepared[0] * std + mean  # gray: all three channels show the same picture, between 0 and 1
    torch.testing.assert_close(back[0], back[2], rtol=0, atol=1e-6)
    assert (
        -1e-6 <= back.min() and back.max() <= 1 + 1e-6 and abs(float(back.mean()) - float(by_hand.mean()) / 255) < 0.01
    )
    scratch = plan("resnet18", "digits")
    assert scratch.model.config.stem == "cifar" and scratch.recipe.stage_rate == 1.0
    assert scratch.task.preprocess.mean != job.task.preprocess.mean


def test_what_is_said_wins_over_the_weights(imagenet):
    path, _ = imagenet
    job = plan("resnet18", "digits", weights=path, freeze="layer4", options={"inputs": (1, 32, 32), "stage_rate": 0.5})
    assert job.model.config.inputs == (1, 32, 32) and job.model.config.stem == "imagenet"
    assert job.model.conv1.weight.requires_grad and job.model.bn1.weight.requires_grad
    assert "conv1" not in frozen(job.model) and "layer4" in frozen(job.model)
    assert "because they start anew or follow what does: conv1, bn1." in job.notes[2]
    assert job.task.preprocess.mean != IMAGENET[0] and job.recipe.stage_rate == 0.5  # nothing learned reads them
    named = plan("resnet18-cifar", "digits", weights=path)
    assert named.model.config.stem == "cifar" and "conv1" in named.notes[1] + named.notes[2]


def test_a_state_dict_of_other_classes_gives_its_stem_alone(tmp_path):
    source = build("resnet18", inputs=(3, 64, 64), outputs=7, width=0.1)
    torch.save({f"module.{name}": t for name, t in source.state_dict().items()}, tmp_path / "own.pt")
    job = plan("resnet18", "digits", weights=tmp_path / "own.pt", options={"width": 0.1})
    assert job.model.config.stem == "imagenet" and job.model.config.inputs == (3, 8, 8)
    assert torch.equal(job.model.conv1.weight, source.conv1.weight)
    own = plan("resnet18", "digits", options={"width": 0.1, "inputs": (3, 8, 8)})
    assert job.task.preprocess.mean == own.task.preprocess.mean  # nobody knows theirs
    lenet = build("lenet5", inputs=(1, 28, 28))
    torch.save(lenet.state_dict(), tmp_path / "lenet.pt")
    pictures = from_arrays(torch.randint(0, 255, (60, 3, 40, 40), dtype=torch.uint8), torch.arange(60) % 2)
    job = plan("lenet5", pictures.split(), weights=tmp_path / "lenet.pt")
    assert plan("lenet5", pictures.split()).model.config.inputs == (3, 40, 40)
    assert job.model.config.inputs == (1, 28, 28)  # 40 x 40 fits none of its dense layers
    assert torch.equal(job.model.classifier[1].weight, lenet.classifier[1].weight)


def test_channels_that_pictures_cannot_have_start_anew(tmp_path):
    torch.save(build("lenet5", inputs=(4, 28, 28)).state_dict(), tmp_path / "four.pt")
    job = plan("lenet5", "digits", weights=tmp_path / "four.pt")
    assert job.model.config.inputs == (1, 28, 28) and job.notes[2].endswith("so new: features.0.")


@pytest.mark.notes("N4.35", "N4.38")
def test_a_run_gives_its_options_and_its_statistics(run):
    for weights in (run.folder, run.folder / "weights.safetensors"):
        job = plan("cifar-resnet", classes_of("digits", range(5, 10), 100, seed=0), weights=weights)
        assert job.model.config.width == 0.5 and job.model.config.depth == 8
        assert job.model.config.inputs == (1, 12, 12)
        assert job.task.preprocess.mean == run.task.preprocess.mean
        assert "by the mean and standard deviation of the run" in job.notes[3]
        # As many classes, but others: the last layer means something else, and starts anew.
        assert "of another meaning there, so new: fc" in job.notes[2]
        assert not torch.equal(job.model.fc.weight, run.model.fc.weight)
        assert torch.equal(job.model.layer3[0].conv1.weight, run.model.layer3[0].conv1.weight)
    same = plan("cifar-resnet", classes_of("digits", range(5), 100, seed=1), weights=run.folder)
    assert torch.equal(same.model.fc.weight, run.model.fc.weight)


def test_statistics_in_other_units_are_not_taken(run):
    bytes_ = classes_of("digits", range(5), 100, seed=1)
    inputs, targets = bytes_.train.take(torch.arange(100))
    floats = from_arrays(inputs.float() / 16, targets, kind="image")
    job = plan("cifar-resnet", floats.split(), weights=run.folder)
    assert "normalized by their own statistics, since those of the run are in other units" in job.notes[3]
    assert job.task.preprocess.mean != run.task.preprocess.mean
    unit = from_arrays(inputs.float() / 255, targets, kind="image")
    job = plan("cifar-resnet", unit.split(), weights=run.folder)
    assert job.task.preprocess.mean == run.task.preprocess.mean


def test_tables_follow_a_run_too(tmp_path):
    before = trained(plan("fnn", "iris", epochs=1, options={"hidden": (7, 6)}), tmp_path / "iris")
    job = plan("fnn", "iris", weights=before.folder)
    assert job.model.config.hidden == (7, 6) and "hidden=(7, 6)" in job.notes[-2]
    assert Origin.of(before.folder).options("dense-resnet", {"inputs": 4, "outputs": 3}, (4,)) == {}


# The bars


@pytest.mark.notes("N4.39", "N4.40")
def test_every_frozen_tensor_is_bitwise_that_of_the_file(imagenet, photos, tmp_path):
    path, state = imagenet
    job = plan("resnet18", str(photos), weights=path, freeze="layer4", epochs=2, options={"inputs": (3, 64, 64)})
    result = trained(job, tmp_path / "run")
    after = result.model.state_dict()
    for name, tensor in state.items():
        if not name.startswith("fc."):
            assert torch.equal(after[name], tensor), name
    assert not torch.equal(after["fc.weight"], build("resnet18", outputs=2, inputs=(3, 64, 64)).fc.weight)
    saved = json.loads((result.folder / "preprocess.json").read_text())
    assert tuple(saved["mean"]) == IMAGENET[0] and tuple(saved["std"]) == IMAGENET[1]
    again = Run.load(result.folder)  # predicts with the statistics of the weights
    assert again.task.preprocess == job.task.preprocess
    one = photos / "red" / "0.png"
    torch.testing.assert_close(again.predict([str(one)]).values, result.predict([str(one)]).values)


def test_a_transfer_is_resumed_bit_for_bit(run, tmp_path):
    data, options = classes_of("digits", range(5, 10), 100, seed=0), {"schedule": "constant", "warmup": 0.0}
    jobs = [
        plan("cifar-resnet", data, weights=run.folder, freeze="layer1", epochs=epochs, options=options)
        for epochs in (1, 2)
    ]
    half, whole = (trained(job, tmp_path / name) for job, name in zip(jobs, ("half", "whole"), strict=True))
    found, recipe = resume(half.folder, data=data, epochs=2), jobs[1].recipe
    assert recipe.stage_rate == 0.1 and recipe.optimizer == plan("cifar-resnet", data).recipe.optimizer
    assert [row["loss"] for row in found.rows] == [row["loss"] for row in whole.rows]
    assert frozen(found.model) == frozen(whole.model) == ("conv1", "bn1", "maxpool", "layer1")


def test_the_command_of_the_report_says_what_the_weights_would_decide_otherwise(run, tmp_path):
    start = {"weights": str(run.folder)}
    job = plan(
        "cifar-resnet", "digits", epochs=1, options={"inputs": (1, 8, 8), "stage_rate": 1.0, "width": 0.5}, **start
    )
    made = fit(job.model, job.task, job.recipe, folder=tmp_path / "run", runtime=ONE, start=start)
    words, _ = train_command(read_record(made.folder))
    said = [word for word in words if "=" in word]
    assert {"stage_rate=1.0", "inputs=1,8,8", "width=0.5", "depth=8"} <= set(said)
    assert words[5:7] == ["--weights", str(run.folder)]


def head_against_scratch(seed, folder, epochs):
    """Learn the ten digits, then from 200 other pictures whether they are even, by a new head and from scratch.

    Returns:
        The accuracies of the two on pictures that neither has seen.
    """
    digits, options = load("digits"), {"inputs": (1, 8, 8), "depth": 8}
    order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(seed))
    inputs, targets = digits.inputs[order], digits.targets[order]
    first = from_arrays(inputs[:1200], targets[:1200]).split(seed, ratios=(5, 1, 0))
    second = from_arrays(inputs[1200:], targets[1200:] % 2, classes=["even", "odd"])
    split = second.split(seed, ratios=(200, len(second) - 200, 0))
    known = trained(plan("cifar-resnet", first, seed=seed, epochs=epochs[0], options=options), folder / f"ten{seed}")
    found = []
    for start in ({"weights": known.folder, "freeze": ALL_BUT_LAST}, {}):
        job = plan("cifar-resnet", split, seed=seed, epochs=epochs[1], options=options, **start)
        found.append(trained(job, folder / f"parity{seed}").rows[-1]["validation_accuracy"])
    return found


@pytest.mark.notes("N4.40")
def test_frozen_features_and_a_new_head_beat_training_from_scratch_on_200_pictures(tmp_path):
    head, scratch = zip(*(head_against_scratch(seed, tmp_path, (15, 20)) for seed in range(2)), strict=True)
    assert statistics.mean(head) > statistics.mean(scratch) and min(head) > 0.94


@pytest.mark.slow
@pytest.mark.notes("N4.40")
def test_they_do_so_on_average_over_five_seeds(tmp_path):
    head, scratch = zip(*(head_against_scratch(seed, tmp_path, (15, 20)) for seed in range(5)), strict=True)
    assert statistics.mean(head) > statistics.mean(scratch) and min(head) > 0.94


@pytest.mark.slow
@pytest.mark.notes("N4.40")
@pytest.mark.skipif("LAMINA_DATA" not in os.environ, reason="needs LAMINA_DATA")
def test_features_of_digits_beat_training_from_scratch_on_200_clothes(tmp_path):
    """LeNet-5 learns MNIST, then Fashion-MNIST from 200 pictures: with its frozen features, or all of it anew.

    It is not so for every pair of data sets: features of clothes read digits worse than training from scratch does.
    """
    digits, clothes = load("mnist"), load("fashion-mnist")
    first = Subset(digits, torch.arange(50_000)).split(0, ratios=(9, 1, 0))
    known = trained(plan("lenet5", first, seed=0, epochs=8), tmp_path / "digits")
    head, scratch = [], []
    for seed in range(5):
        order = torch.randperm(len(clothes), generator=torch.Generator().manual_seed(seed))[:2200]
        split = Subset(clothes, order).split(seed, ratios=(200, 2000, 0))
        for found, start in ((head, {"weights": known.folder, "freeze": "features"}), (scratch, {})):
            job = plan("lenet5", split, seed=seed, epochs=30, **start)
            found.append(trained(job, tmp_path / f"{len(head)}-{len(scratch)}").rows[-1]["validation_accuracy"])
    assert statistics.mean(head) > statistics.mean(scratch)
