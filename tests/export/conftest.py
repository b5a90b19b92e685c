"""Small runs to export, and torch's table of translations, which takes most of the time of an export, made once."""

import functools

import jaxtyping
import pytest
import torch
from torch.onnx._internal.exporter._registration import ONNXRegistry

import lamina
from lamina.data.text.texts import PairDataset
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Recipe

_table = functools.cache(ONNXRegistry.from_torchlib)


@pytest.fixture(autouse=True)
def made_once(monkeypatch):
    """Make the table once, and switch the shape checker off: a trace has sizes that are no numbers."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    monkeypatch.setattr(ONNXRegistry, "from_torchlib", lambda *args, **kwargs: _table())


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """LeNet-5 on digits of 8x8, which it reads as 28x28."""
    data = lamina.load("digits")
    some = lamina.load((data.inputs[:240], data.targets[:240]), kind="image")
    folder = tmp_path_factory.mktemp("runs") / "digits"
    return fit(
        lamina.build("lenet5", outputs=10, activation="relu"), some, Recipe(Adam(0.002), epochs=4), folder=folder
    )


@pytest.fixture(scope="session")
def flats(tmp_path_factory):
    """A classifier of rows with numbers, categories and gaps."""
    home = tmp_path_factory.mktemp("flats")
    rows = ["size,rooms,label,rent"]
    for i in range(120):
        place = ("center", "suburb", "village", "")[i % 4]
        rows.append(f"{20 + i % 13 * 7.5},{i % 5 + 1 if i % 7 else ''},{place},{'high' if i % 13 > 6 else 'low'}")
    (home / "flats.csv").write_text("\n".join(rows) + "\n")
    data = lamina.load(home / "flats.csv", target="rent")
    net = lamina.build("fnn", inputs=lamina.task_of(data).preprocess.inputs, outputs=2, hidden=(8,))
    return fit(net, data, Recipe(Adam(0.02), epochs=3), folder=home / "run")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    """A translator of two words, an LSTM in both directions that reads a summary of the source at every step."""
    sizes, animals = ("small", "large", "old", "young"), ("cat", "dog", "cow", "hen", "pig", "bee")
    texts = [f"{size} {animal}" for size in sizes for animal in animals]
    answers = [f"{animal.upper()} {size.upper()} !" for size in sizes for animal in animals]
    split = PairDataset.of(texts, answers).split(seed=0)
    task = lamina.task_of(split)
    sizes = task.sizes("seq2seq", {"hidden": 12, "embedding": 8, "cell": "lstm", "bidirectional": True})
    net = lamina.build("seq2seq", **sizes | {"context": "mean"})
    folder = tmp_path_factory.mktemp("runs") / "pairs"
    return fit(net, split, Recipe(Adam(0.03), epochs=12, batch_size=8), folder=folder)


@pytest.fixture
def answer():
    """Give what onnxruntime gives for arrays by name."""
    import onnxruntime

    def run(content, feeds):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        values = session.run(None, {name: getattr(x, "numpy", lambda x=x: x)() for name, x in feeds.items()})
        return dict(zip(names, values, strict=True))

    return run


@pytest.fixture
def close():
    """Compare outputs with wanted ones, to 1e-5 of the largest."""

    def compare(found, wanted):
        bound = 1e-5 * max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=0, atol=bound)

    return compare
