"""Networks of several inputs on arrays and datasets in memory: values by hand, every verb, and what is refused."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import TensorDataset

import lamina
from lamina._errors import ArgumentError, DataError, ShapeError
from lamina.layers.initialized import conv2d, linear
from lamina.training.fit import fit, fitting, resume
from lamina.training.loop import drain
from lamina.training.recipe import Adam, MiniBatch, Recipe
from lamina.training.run import Run
from lamina.training.runtime import Runtime

ONE = Runtime(threads=1)


def arrays(count=120, seed=0):
    """Pictures of bytes, an age and a kind; the class depends on the age and the kind."""
    draw = np.random.default_rng(seed)
    image, age = draw.integers(0, 256, (count, 3, 6, 6), dtype=np.uint8), draw.normal(50, 10, count)
    kind = draw.integers(0, 4, count)
    return {"image": image, "age": age, "kind": kind}, (age + 10 * kind > 65).astype(int)


class Three(nn.Module):
    """A picture, a number and an entry of a dictionary."""

    def __init__(self, outputs=2, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.seen, self.kinds = conv2d(3, 2, 3, seed=generator), linear(4, 3, seed=generator)
        self.top = linear(2 * 16 + 1 + 3, outputs, seed=generator)

    def forward(self, image, age, kind):
        told = self.kinds(nn.functional.one_hot(kind, 4).to(age.dtype))
        return self.top(torch.cat([self.seen(image).relu().flatten(1), age[:, None], told], 1))


def prepared(inputs, train):
    """Standardize by hand as one would a single input: pictures by channel, numbers by themselves, kinds not at all."""
    image, age = torch.from_numpy(inputs["image"]).double() / 255, torch.from_numpy(inputs["age"])
    mean, std = image[train].mean((0, 2, 3)), image[train].std((0, 2, 3), correction=0)
    image = (image - mean[:, None, None]) / std[:, None, None]
    age = (age - age[train].mean()) / age[train].std(correction=0)
    return image.float(), age.float(), torch.from_numpy(inputs["kind"])


def test_every_input_is_standardized_by_itself_and_every_number_is_that_of_a_plain_loop(tmp_path):
    inputs, labels = arrays()
    split = lamina.load(inputs, labels).split(seed=0)
    recipe = Recipe(MiniBatch(0.1), epochs=3, batch_size=80)  # one batch makes an epoch, so the order is no matter
    run = fit(Three(), split, recipe, folder=tmp_path / "run")
    parts, targets = prepared(inputs, split.train.indices), torch.from_numpy(labels)
    net, train, apart, expected = Three(), split.train.indices, split.validation.indices, []
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(*(part[train] for part in parts)), targets[train])
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
            held = nn.functional.cross_entropy(net(*(part[apart] for part in parts)), targets[apart])
        expected.append((loss.item(), held.item()))
    found = [(row["loss"], row["validation_loss"]) for row in run.rows]
    assert np.allclose(found, expected, rtol=1e-5)  # another order of the sums
    test = split.test._dataset.indices
    with torch.no_grad():
        right = run.model(*(part[test] for part in parts)).argmax(1) == targets[test]
    assert run.evaluate().metrics["accuracy"] == pytest.approx(right.double().mean().item())


def test_the_verbs(tmp_path):
    inputs, labels = arrays(600)
    run = fit(Three(), (inputs, labels), Recipe(Adam(0.01), epochs=25), folder=tmp_path / "run")
    result = run.evaluate()
    assert result.metrics["accuracy"] > 0.85 and result.beaten
    shuffled = {row["column"]: row["mean"] for row in result.importance["columns"]}
    assert (
        set(shuffled) == {"image", "age", "kind"} and min(shuffled["age"], shuffled["kind"]) > 0.1 > shuffled["image"]
    )
    assert "picture" in result.worst[0] and set(result.worst[0]["values"]) == {"age", "kind"}
    first = {name: values[:5] for name, values in inputs.items()}
    found, again = run.predict(first), Run.load(run.folder, model=Three()).predict(first)
    assert torch.equal(found.values, again.values) and found.values.shape == (5, 2)
    one = run.predict({name: values[0] for name, values in inputs.items()})  # an example without its batch axis
    assert torch.allclose(one.values, found.values[:1], atol=1e-6)
    covered = run.predict(first, coverage=0.9)
    assert len(covered.sets) == 5
    assert run.evaluate((inputs, labels)).examples == 600
    page = lamina.write_report(run.folder).read_text()
    assert "standardized by channel" in page and "3×6×6 (uint8)" in page and "as it is" in page
    folds = lamina.cross_validate(lambda seed: Three(seed=seed), lamina.load(inputs, labels), Recipe(epochs=1), k=2)
    assert len(folds.folds) == 2


def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path):
    recipe = Recipe(Adam(0.01), epochs=3, batch_size=16)
    whole = fit(Three(), arrays(), recipe, folder=tmp_path / "whole", runtime=ONE)
    asked = iter(range(100))
    stop = fitting(Three(), arrays(), recipe, folder=tmp_path / "cut", runtime=ONE, stop=lambda: next(asked) == 7)
    assert drain(stop).reason.name == "interrupted"
    again = resume(tmp_path / "cut", model=Three(), data=arrays())
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], tensor), name
    assert [row["loss"] for row in again.rows] == [row["loss"] for row in whole.rows]


def test_a_tuple_of_arrays_a_tensor_dataset_and_any_dataset_are_the_same(tmp_path):
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.top = linear(3, 1)

        def forward(self, x, z):
            return self.top(torch.cat([x, z], 1))

    draw = torch.Generator().manual_seed(0)
    x, z = torch.randn(60, 2, generator=draw), torch.randn(60, 1, generator=draw)
    y = 100 + 5 * (x.sum(1) + z[:, 0])

    class Items(TorchDataset):
        def __len__(self):
            return 60

        def __getitem__(self, index):
            return (x[index], z[index].numpy()), y[index].item()

    class Plain:
        def __len__(self):
            return 60

        def __getitem__(self, index):
            return {"x": x[index], "z": z[index], "price": float(y[index])}

    recipe = Recipe(Adam(0.05), epochs=60)
    made = ((x, z), y), TensorDataset(x, z, y), Items(), lamina.load(Plain(), target="price")
    runs = [fit(Sum(), data, recipe, folder=tmp_path / f"run{i}", runtime=ONE) for i, data in enumerate(made)]
    for run in runs[1:]:
        assert np.allclose(run.history["loss"], runs[0].history["loss"], rtol=1e-4)
    assert runs[0].evaluate().metrics["r2"] > 0.99
    told = runs[0].predict((x[:4], z[:4])).values[:, 0]
    assert torch.allclose(told, y[:4], atol=2.0)  # in the units of the targets


def test_labels_of_several_inputs(tmp_path):
    inputs, _ = arrays()
    labels = np.stack([inputs["age"] > 50, inputs["kind"] > 1], 1)
    run = fit(Three(), (inputs, labels), Recipe(Adam(0.03), epochs=15), folder=tmp_path / "run")
    assert run.objective.kind == "bce" and run.evaluate().metrics["micro_f1"] > 0.8


def test_what_does_not_fit_is_said(tmp_path):
    inputs, labels = arrays()
    with pytest.raises(
        ArgumentError, match=r"takes \(image, age, kind\), but the data give it image, years, kind .*'age'"
    ):
        fit(Three(), ({"image": inputs["image"], "years": inputs["age"], "kind": inputs["kind"]}, labels))
    with pytest.raises(
        ShapeError, match=r"cannot take image \(3 x 6 x 6, float32\), age .*Whole numbers are given as int64"
    ):
        fit(Three(), ({**inputs, "kind": inputs["kind"].astype(float)}, labels))
    with pytest.raises(ShapeError, match="the network gives 5 outputs, but the data have 2 classes"):
        fit(Three(outputs=5), (inputs, labels))
    with pytest.raises(DataError, match="`flip` changes pictures, got data of kind 'several'"):
        fit(Three(), (inputs, labels), Recipe(augment=lamina.Augment(flip=True)), folder=tmp_path / "run")
    with pytest.raises(ArgumentError, match=r"fnn takes one array, but the data have image \(3 x 6 x 6, uint8\), age"):
        lamina.search("fnn", lamina.load(inputs, labels), {"learning_rate": [0.1]}, folder=tmp_path / "search")
    run = fit(Three(), (inputs, labels), Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(DataError, match="the network was trained with the inputs image, age, kind, got image"):
        run.predict({"image": inputs["image"]})
    with pytest.raises(ShapeError, match=r"image must have examples of the shape \(3, 6, 6\) .*, got \(120, 3, 6, 5\)"):
        run.predict({**inputs, "image": inputs["image"][..., :5]})
    with pytest.raises(DataError, match="was trained with 3 inputs .*, got 1: give a dict or a tuple of arrays"):
        run.predict(inputs["age"])
    with pytest.raises(DataError, match="files cannot be read for data of several inputs: give arrays for image"):
        run.predict("photo.png")
