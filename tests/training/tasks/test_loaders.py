"""Training with somebody's own loaders: values by hand, resume bit for bit, and a sentence for what is wrong."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, random_split

import lamina
from lamina._errors import ArgumentError, DataError, ShapeError
from lamina.data.loaders import Loaders
from lamina.layers.initialized import linear
from lamina.training.fit import fit, fitting, resume
from lamina.training.folder import RunFolder
from lamina.training.loop import drain
from lamina.training.recipe import GD, Adam, Augment, MiniBatch, Recipe, Schedule, Stopping
from lamina.training.run import Run
from lamina.training.runtime import Runtime

ONE = Runtime(threads=1)


class Two(nn.Module):
    """A network of two inputs, which a dict calls by their names."""

    def __init__(self, outputs=2, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.left, self.right = linear(3, 4, seed=generator), linear(1, 4, seed=generator)
        self.top = linear(4, outputs, seed=generator)

    def forward(self, image, age):
        return self.top((self.left(image.flatten(1)) + self.right(age[:, None])).relu())


class Rows(torch.utils.data.Dataset):
    """Examples as dicts; with `noise` they are other ones in every epoch, by all three generators."""

    def __init__(self, count=40, noise=False, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.image, self.age = torch.randn(count, 3, generator=generator), torch.randn(count, generator=generator)
        self.label, self.noise = (self.image[:, 0] + self.age > 0).long(), noise

    def __len__(self):
        return len(self.label)

    def __getitem__(self, index):
        changed = (torch.rand(()).item() + random.random() + np.random.rand()) * self.noise
        return {"image": self.image[index] + changed, "age": self.age[index], "label": self.label[index]}


class Lines(IterableDataset):
    """A stream of so many examples, or one without end."""

    def __init__(self, count=10):
        self.count = count

    def __iter__(self):
        for i in range(self.count):
            yield torch.tensor([1.0, i % 5]), i % 2


def loader(batch=8, count=40, noise=False, **options):
    return DataLoader(Rows(count, noise), batch, **options)


def losses(run):
    return [(row["loss"], row.get("validation_loss")) for row in run.rows]


def one(outputs=2):
    return nn.Sequential(linear(2, outputs))


def test_the_batches_are_the_loaders_own_and_every_number_is_that_of_a_plain_loop(tmp_path):
    """A loop as one writes it in torch: the same batches, of sizes 8 and a last one of 4."""
    rows = Rows(44)
    run = fit(
        Two(), Loaders(DataLoader(rows, 8), loader(5, 12)), Recipe(MiniBatch(0.1), epochs=2), folder=tmp_path / "r"
    )
    net, expected = Two(), []
    for _ in range(2):
        total = 0.0
        for batch in DataLoader(rows, 8):
            loss = nn.functional.cross_entropy(net(batch["image"], batch["age"]), batch["label"])
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            total += loss.item() * len(batch["label"])
        held = Rows(12)
        with torch.no_grad():
            apart = nn.functional.cross_entropy(net(held.image, held.age), held.label).item()
        expected.append((total / 44, apart))
    assert np.allclose(losses(run), expected, rtol=1e-5)  # sums in another order
    assert run.rows[-1]["step"] == 12
    config = RunFolder(run.folder).config()
    assert config["examples"] == [44, 12, 0] and config["note"].startswith(
        "the loaders of Rows: 44 training examples in 6"
    )


@pytest.mark.parametrize("form", ["dict", "pair", "triple"])
def test_inputs_go_by_name_or_in_order(tmp_path, form):
    rows = Rows()
    items = {
        "dict": rows,
        "pair": [({"image": r["image"], "age": r["age"]}, r["label"]) for r in rows],
        "triple": [(r["image"], r["age"], r["label"]) for r in rows],
    }[form]
    made = DataLoader(items, 8)
    run = fit(Two(), (made, made, made), Recipe(epochs=2), folder=tmp_path / "run", runtime=ONE)
    same = fit(Two(), (loader(), loader(), loader()), Recipe(epochs=2), folder=tmp_path / "same", runtime=ONE)
    assert losses(run) == losses(same)
    with torch.no_grad():
        right = (run.model(rows.image, rows.age).argmax(1) == rows.label).double().mean().item()
    assert run.evaluate().metrics["accuracy"] == right
    assert run.evaluate().baselines[0]["name"].startswith("always")
    wanted = (rows.image, rows.age) if form == "triple" else {"image": rows.image, "age": rows.age}
    assert [int(label) for label in run.predict(wanted).labels] == run.model(rows.image, rows.age).argmax(1).tolist()
    assert run.predict(made).labels == run.predict(wanted).labels
    assert Run.load(run.folder, model=Two()).evaluate(made).metrics["accuracy"] == right
    assert lamina.write_report(run.folder).is_file()


def test_names_are_chosen_and_a_single_input_goes_by_its_order(tmp_path):
    pictures = Loaders(loader(), inputs=("image",), target="label")
    run = fit(nn.Sequential(linear(3, 2)), pictures, Recipe(epochs=1), folder=tmp_path / "run")
    assert run.task.spec.target == "label" and run.predict(torch.zeros(4, 3)).values.shape == (4, 2)
    assert run.evaluate(loader()).examples == 40
    ages = Loaders(loader(), inputs=("image",), target="age")
    run = fit(nn.Sequential(linear(3, 1)), ages, Recipe(epochs=1), folder=tmp_path / "ages")
    found = run.evaluate(loader())
    rows = Rows()
    with torch.no_grad():
        errors = run.model(rows.image)[:, 0] - rows.age
    assert found.metrics["rmse"] == pytest.approx(errors.square().mean().sqrt().item(), rel=1e-5)
    assert found.unit == "age"


def stopped(after, make, data, recipe, folder):
    """Train until so many updates are made, and stop as Ctrl-C would."""
    asked = iter(range(10**6))
    return drain(fitting(make(), data, recipe, folder=folder, runtime=ONE, stop=lambda: next(asked) + 1 >= after))


@pytest.fixture
def workers_watched():
    """Torch watches over its workers by a handler that it never takes back."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("workers_watched")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("after", [3, 5, 13])
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, workers, after):
    """The order of a shuffling loader and the random changes of its dataset come again, also from workers."""

    def data():
        return loader(shuffle=True, noise=True, num_workers=workers), loader(noise=True)

    recipe = Recipe(Adam(0.01), epochs=3)
    whole = fit(Two(), data(), recipe, folder=tmp_path / "whole", runtime=ONE)
    cut = stopped(after, Two, data(), recipe, tmp_path / "cut")
    assert cut.reason.name == "interrupted" and len(cut.rows) < 3
    again = resume(cut.folder, model=Two(), data=data())
    assert losses(again) == losses(whole)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], tensor), name


def test_order_and_changes_depend_on_seed_and_epoch_and_nothing_outside_is_moved(tmp_path):
    made = loader(shuffle=True, noise=True, generator=torch.Generator().manual_seed(3))
    before = torch.get_rng_state(), made.generator.get_state(), np.random.get_state()[1].tolist()
    first, again = (fit(Two(), made, Recipe(epochs=2), folder=tmp_path / "r", runtime=ONE) for _ in range(2))
    after = torch.get_rng_state(), made.generator.get_state(), np.random.get_state()[1].tolist()
    assert torch.equal(before[0], after[0]) and torch.equal(before[1], after[1]) and before[2] == after[2]
    assert losses(first) == losses(again)
    part = Loaders(made).train
    epochs = [[inputs[0] for inputs, _ in part.walk(seed, epoch, 0)] for seed, epoch in ((0, 0), (0, 1), (2, 0))]
    assert len({tuple(torch.cat(each)[:, 0].tolist()) for each in epochs}) == 3
    other = loader(shuffle=True, generator=torch.Generator().manual_seed(4))  # the caller's seed counts
    orders = [[t.tolist() for _, t in Loaders(each).train.walk(0, 0, 0)] for each in (other, made)]
    assert orders[0] != orders[1]


@pytest.mark.usefixtures("workers_watched")
def test_a_persistent_worker_is_told_of():
    made = loader(num_workers=1, persistent_workers=True)
    assert "Persistent workers go on drawing where they were" in Loaders(made).split().note


def test_classes_come_from_the_network_or_the_dataset(tmp_path):
    rows = Rows()
    rows.classes = ["no", "yes"]
    train, held = random_split(rows, [30, 10], torch.Generator().manual_seed(0))
    run = fit(Two(), (DataLoader(train, 8), DataLoader(held, 8)), Recipe(epochs=1), folder=tmp_path / "run")
    assert run.task.spec.classes == ("no", "yes") and set(run.predict(DataLoader(held, 8)).labels) <= {"no", "yes"}
    run = fit(Two(outputs=7), loader(), Recipe(epochs=1), folder=tmp_path / "seven")
    assert run.task.spec.outputs == 7
    run = fit(Two(outputs=1), (loader(), loader()), Recipe(epochs=1), folder=tmp_path / "one")
    assert run.objective.kind == "bce" and run.task.spec.classes == ("0", "1")
    with pytest.raises(ShapeError, match="the network gives 3 outputs, but the data have 2 classes"):
        fit(Two(outputs=3), DataLoader(train, 8), folder=tmp_path / "three")
    late = [(torch.zeros(2), label) for label in (0, 1, 0, 1, 4)]
    with pytest.raises(DataError, match="batch 3 of the training loader has the label 4, but there are 2 classes"):
        fit(one(), DataLoader(late, 2), folder=tmp_path / "late")
    with pytest.raises(DataError, match="has the label -1, but there are 2 classes, from 0 on"):
        fit(one(), DataLoader([(torch.zeros(2), -1)], 2), folder=tmp_path / "minus")


def test_weights_of_classes_own_loss_and_own_metrics(tmp_path):
    rows = [(torch.randn(2), int(i % 4 == 0)) for i in range(40)]
    run = fit(one(), DataLoader(rows, 8), Recipe(epochs=1, class_weights="balanced"), folder=tmp_path / "weighed")
    assert run.objective.weights.tolist() == pytest.approx([40 / 60, 2.0])

    def loss(outputs, targets):
        return (outputs - targets).abs().mean()

    real = DataLoader([(torch.randn(2), torch.randn(3)) for _ in range(20)], 8)
    recipe = Recipe(epochs=2, loss=loss, metrics={"worst": lambda o, t: (o - t).abs().max()})
    run = fit(one(3), (real, real), recipe, folder=tmp_path / "own")
    with torch.no_grad():
        outputs = torch.cat([run.model(x) for x, _ in real])
    targets = torch.cat([y for _, y in real])
    best = min(run.rows, key=lambda row: row["validation_loss"])
    assert best["validation_loss"] == pytest.approx(loss(outputs, targets).item(), rel=1e-5)
    assert best["validation_worst"] == pytest.approx((outputs - targets).abs().max().item(), rel=1e-5)


def test_labels_and_structures(tmp_path):
    rows = [(torch.tensor([float(i % 3), 1.0]), torch.tensor([i % 3 == 0, i % 3 == 1])) for i in range(30)]
    made = DataLoader(rows, 10)
    run = fit(one(), (made, made, made), Recipe(epochs=1), folder=tmp_path / "labels")
    assert run.objective.kind == "bce" and run.evaluate().metrics["micro_f1"] >= 0
    pictures = DataLoader([(torch.randn(2), torch.randn(1, 2, 3)) for _ in range(12)], 4)
    run = fit(
        nn.Sequential(linear(2, 6), nn.Unflatten(1, (1, 2, 3))),
        (pictures, pictures),
        Recipe(epochs=1),
        folder=tmp_path / "s",
    )
    assert run.task.spec.target_shape == (1, 2, 3) and run.rows[0]["validation_mse"] > 0


def test_a_stream_ends_its_epoch_where_it_ends(tmp_path):
    run = fit(one(), Lines(10), Recipe(epochs=3, batch_size=4), folder=tmp_path / "run", runtime=ONE)
    assert [row["step"] for row in run.rows] == [3, 6, 9]  # 4 + 4 + 2 examples
    assert RunFolder(run.folder).config()["examples"] == []
    cut = stopped(5, one, Lines(10), Recipe(epochs=3, batch_size=4), tmp_path / "cut")
    again = resume(cut.folder, model=one(), data=Lines(10))
    assert losses(again) == losses(
        fit(one(), Lines(10), Recipe(epochs=3, batch_size=4), folder=tmp_path / "w", runtime=ONE)
    )
    assert [row["step"] for row in again.rows] == [3, 6, 9]
    parts = Loaders(Lines(10), DataLoader(Lines(6), 4), DataLoader(Lines(4), 3))
    assert parts.split().note == (
        "the loaders of Lines: a training stream of unknown length, 6 validation examples, 4 test examples."
    )
    assert fit(one(), parts, Recipe(epochs=1), folder=tmp_path / "parts").evaluate().examples == 4
    assert lamina.write_report(tmp_path / "parts").is_file()


def test_a_stream_without_end_needs_a_number(tmp_path):
    endless = DataLoader(Lines(10**12), 4)
    recipe = Recipe(epochs=2, schedule=Schedule("cosine"))
    with pytest.raises(ArgumentError, match=r"'cosine' needs the number of updates, .* Loaders\(..., steps_per_epoch="):
        fit(one(), endless, recipe, folder=tmp_path / "run")
    run = fit(one(), Loaders(endless, steps_per_epoch=5), recipe, folder=tmp_path / "run")
    assert [row["step"] for row in run.rows] == [5, 10]
    assert run.rows[-1]["learning_rate"] < run.rows[0]["learning_rate"] < 1e-3
    run = fit(one(), endless, Recipe(epochs=1, stopping=Stopping(max_steps=7)), folder=tmp_path / "steps")
    assert run.rows[-1]["step"] == 7


def test_batches_of_many_lengths_are_trained_on_and_judged(tmp_path):
    """What a collate function pads to the longest of a batch."""

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.top = linear(1, 2)

        def forward(self, x):
            return self.top(x.sum(1, keepdim=True))

    batches = [(torch.ones(3, length), torch.tensor([0, 1, 1])) for length in (2, 5, 3)]
    made = DataLoader(batches, batch_size=None)
    run = fit(Sum(), (made, made, made), Recipe(epochs=2), folder=tmp_path / "run")
    found = run.evaluate()
    with torch.no_grad():
        right = [(run.model(x).argmax(1) == y).double().mean().item() for x, y in batches]
    assert found.examples == 9 and found.metrics["accuracy"] == pytest.approx(np.mean(right))
    assert found.conformal["examples"] == 9 and run.rows[0]["step"] == 3
    with pytest.raises(ArgumentError, match="inputs of 3 different shapes, .*: pad them to one shape in the collate"):
        run.split.validation.take(torch.arange(9))


def test_early_stopping_counts_validation_of_the_loader(tmp_path):
    recipe = Recipe(Adam(0.5), epochs=50, stopping=Stopping(patience=2))
    run = fit(Two(), (loader(), loader(5, 10)), recipe, folder=tmp_path / "run")
    assert run.reason.name == "patience" and len(run.rows) < 50


def test_numbers_that_are_not_finite_are_explained(tmp_path):
    rows = [(torch.tensor([1.0, float("nan") if i == 13 else 0.0]), i % 2) for i in range(16)]
    run = fit(one(), DataLoader(rows, 4), Recipe(epochs=2), folder=tmp_path / "run")
    assert run.reason.name == "diverged"
    assert "not been finite since step 4: layer '0' was the first to return NaN or infinity" in run.reason.sentence


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [torch.zeros(2)] * 4,
            r"batch 1 of the training loader must be a tuple such as \(input, target\) .*, got Tensor",
        ),
        ([("cat", 1)] * 4, "input 1 of batch 1 of the training loader must be a tensor with one row .*, got tuple"),
        ([{"image": torch.zeros(2), "name": 1}] * 4, "no entry is called target, .* name it with `target`"),
        ([{"x": torch.zeros(2), "y": 1, "label": 0}] * 4, "label and y could be the target"),
        ([{"label": 1}] * 4, "has no entry but the target 'label': it needs at least 1 input"),
        ([{"x": torch.zeros(2), "path": "a.png", "y": 1}] * 4, "path of batch 1 .* choose the entries of a dict"),
        (
            [(torch.zeros(2), torch.zeros(2, 2).long())] * 4,
            r"are whole numbers of shape \(2, 2, 2\), but a class is one",
        ),
        ([], "the training loader gives no batch: it needs at least 1 example"),
    ],
)
def test_batches_that_cannot_be(rows, message):
    with pytest.raises(DataError, match=message):
        fit(one(), DataLoader(rows, 2))


def test_batches_must_be_alike(tmp_path):
    def made(last):
        first = (torch.zeros(3, 2), torch.tensor([0, 1, 0]))
        return DataLoader([first, last], batch_size=None)

    for last, message in (
        (
            (torch.zeros(3, 2, 1), torch.zeros(3).long()),
            r"batch 2 .* has input 1 \(2 x 1, float32\), but the first one had",
        ),
        ((torch.zeros(3, 2).double(), torch.zeros(3).long()), r"has input 1 \(2, float64\), but the first one had"),
        (
            (torch.zeros(3, 2), torch.zeros(3), torch.zeros(3).long()),
            "input 2 .*: all batches must have the same inputs",
        ),
        ((torch.zeros(3, 2), torch.zeros(2).long()), "input 1 of batch 2 .* has 3 rows, but the target has 2"),
        ((torch.zeros(3, 2), torch.zeros(3) + 0.5), r"must have one class per example, got targets of shape \(3,\)"),
        ((torch.zeros(0, 2), torch.zeros(0).long()), "batch 2 of the training loader has no examples"),
    ):
        with pytest.raises(DataError, match=message):
            fit(one(), made(last), folder=tmp_path / "run")
    real = DataLoader([(torch.zeros(3, 2), torch.zeros(3)), (torch.zeros(3, 2), torch.zeros(3, 2))], batch_size=None)
    with pytest.raises(DataError, match=r"has targets of shape \(2,\), but those of the first batch had \(1,\)"):
        fit(one(1), real, folder=tmp_path / "run")


def test_what_a_recipe_cannot_decide_for_a_loader(tmp_path):
    for recipe, message in (
        (Recipe(batch_size=16), "`batch_size` is the loader's, which gives batches of 8, but the recipe says 16"),
        (Recipe(GD(0.1)), "GD decides which examples make a batch, but a loader does that: use MiniBatch or Adam"),
        (Recipe(sampling="with-replacement"), "sampling='with-replacement' decides which examples"),
        (
            Recipe(augment=Augment(flip=True)),
            "`augment` changes pictures that Lamina reads, but a loader gives batches",
        ),
    ):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            fit(Two(), loader(), recipe, folder=tmp_path / "run")


def test_networks_that_do_not_take_the_inputs(tmp_path):
    with pytest.raises(ArgumentError, match=r"takes \(input\), but the data give it image, age .*: call its arguments"):
        fit(nn.Linear(3, 2), loader(), folder=tmp_path / "run")
    triple = DataLoader([(r["image"], r["age"], r["label"]) for r in Rows()], 8)
    with pytest.raises(ArgumentError, match=r"takes \(input\), but the data give it 2 inputs in order"):
        fit(nn.Linear(3, 2), triple, folder=tmp_path / "run")
    with pytest.raises(ShapeError, match=r"the network cannot take input 1 \(2, float32\): mat1 and mat2 shapes"):
        fit(nn.Linear(3, 2), DataLoader([(torch.zeros(2), 1)], 1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_rest_of_the_house_says_what_it_cannot_do(tmp_path):
    run = fit(Two(), (loader(), None), Recipe(epochs=1), folder=tmp_path / "run")
    with pytest.raises(
        ArgumentError, match=r"there is no test loader: give one, as in Loaders\(train, validation, test\)"
    ):
        run.evaluate()
    with pytest.raises(ArgumentError, match="there is no validation loader"):
        run.predict({"image": torch.zeros(1, 3), "age": torch.zeros(1)}, coverage=0.9)
    with pytest.raises(DataError, match="the run was trained with a loader, but .* is none: give a DataLoader"):
        run.evaluate("iris")
    with pytest.raises(DataError, match="the loader gives no batch: there is nothing to predict"):
        run.predict(DataLoader([]))
    with pytest.raises(DataError, match="the network was trained with the inputs image, age, got image"):
        run.predict({"image": torch.zeros(1, 3)})
    with pytest.raises(ArgumentError, match=r"fnn takes one array, but the data have image \(3, float32\), age"):
        lamina.search("fnn", Loaders(loader()), {"learning_rate": [0.1]}, folder=tmp_path / "search")
    with pytest.raises(DataError, match="has training, validation and test parts of its own"):
        lamina.cross_validate(lambda seed: Two(seed=seed), Loaders(loader()), Recipe(), k=2)


@pytest.mark.usefixtures("workers_watched")
def test_a_signal_stops_after_the_update_also_with_workers(tmp_path):
    """The first Ctrl-C ends the run after its update, with a checkpoint; workers end with it."""

    def press(event):
        if event.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    def data():
        return loader(shuffle=True, num_workers=1)

    recipe = Recipe(epochs=2)
    cut = fit(Two(), data(), recipe, folder=tmp_path / "cut", observers=[press], runtime=ONE)
    assert cut.reason.name == "interrupted"
    again = resume(cut.folder, model=Two(), data=data())
    assert losses(again) == losses(fit(Two(), data(), recipe, folder=tmp_path / "whole", runtime=ONE))


def test_batches_of_a_loader_are_computed_in_pieces(tmp_path):
    """Several inputs a batch, in pieces of 8: the same network as with whole batches."""
    g = torch.Generator().manual_seed(0)
    left, right = torch.randn(96, 3, generator=g), torch.randn(96, 2, generator=g)
    loader = DataLoader(TensorDataset(left, right, (left[:, 0] + right[:, 1] > 0).long()), batch_size=32)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.left, self.right, self.last = nn.Linear(3, 4), nn.Linear(2, 4), nn.Linear(4, 2)

        def forward(self, left, right):
            return self.last(torch.tanh(self.left(left) + self.right(right)))

    found = [
        lamina.fit(
            Both(), (loader, loader), lamina.Recipe(epochs=2, micro_batch=size), folder=tmp_path / str(size)
        ).model.state_dict()
        for size in (None, 8)
    ]
    for name, whole in found[0].items():
        torch.testing.assert_close(found[1][name], whole, atol=1e-6, rtol=0)


ENDLESS = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import lamina

rows = TensorDataset(torch.randn(640, 4), torch.arange(640) % 2)
loaders = DataLoader(rows, 8, num_workers=2), DataLoader(rows, 64)
if __name__ == "__main__":
    lamina.fit(nn.Linear(4, 2), loaders, lamina.Recipe(epochs=10**6), folder=sys.argv[1], progress=False)
"""


@pytest.mark.slow
@pytest.mark.linux
def test_loader_processes_end_with_a_run_that_is_killed(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path / "run")])
    children = []
    while process.poll() is None and len(children) < 2:
        children = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    assert len(children) == 2
    process.kill()
    process.wait()
    assert not psutil.wait_procs(children, timeout=60)[1]  # torch's own workers look after 5 s
