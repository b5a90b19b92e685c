"""What does `lamina.fit` cost beside a hand-written loop, and beside skorch, Lightning, Keras and scikit-learn?

One epoch of 20,000 synthetic 28x28 pictures, batch 128, Adam, float32, on the CPU, data in memory; the hand-written
loop indexes tensors and uses fused Adam. Checkpoints and validation are off everywhere. Each contestant first trains
once to warm up; then all take turns, so that a noisy moment hits everybody. Claims are ratios to the hand-written loop.
"""

import argparse
import contextlib
import logging
import os
import statistics
import time
import warnings

os.environ.setdefault("KERAS_BACKEND", "torch")
import torch
from record import write
from torch import nn

import lamina
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.training.executors.choose import learner
from lamina.training.loop import loop
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

N, BATCH = 20_000, 128
OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
warnings.simplefilter("ignore")


def data() -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    return torch.randn(N, 1, 28, 28, generator=g), torch.randint(10, (N,), generator=g)


def network(kind: str) -> nn.Module:
    if kind == "fnn":
        return lamina.build("fnn", inputs=(1, 28, 28), outputs=10, hidden=(128,))
    return lamina.build("lenet5", activation="relu", pooling="max")


def by_hand(kind: str, x: torch.Tensor, y: torch.Tensor):
    net, loss = network(kind), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), fused=True)

    def epoch() -> None:
        order, total = torch.randperm(N), 0.0
        for start in range(0, N, BATCH):
            index = order[start : start + BATCH]
            optimizer.zero_grad()
            value = loss(net(x[index]), y[index])
            value.backward()
            optimizer.step()
            total += value.detach()
        float(total)

    return epoch


def ours(kind: str, x: torch.Tensor, y: torch.Tensor):
    dataset = from_arrays(x, y)
    split = lamina.data.splits.Split(
        dataset,
        lamina.data.dataset.Subset(dataset, torch.zeros(0, dtype=torch.int64)),
        lamina.data.splits.Sealed(dataset),
        "benchmark",
    )
    recipe = lamina.Recipe(lamina.Adam(), epochs=1000, batch_size=BATCH)
    step = learner(network(kind), Arrays(Preprocess.fit(dataset, (1, 28, 28)), split), recipe, Runtime())
    return lambda: loop(step, 1)


def skorch(kind: str, x: torch.Tensor, y: torch.Tensor):
    from skorch import NeuralNetClassifier

    net = NeuralNetClassifier(
        network(kind),
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        max_epochs=1,
        batch_size=BATCH,
        train_split=None,
        verbose=0,
        callbacks__valid_acc=None,
        callbacks__print_log=None,
        iterator_train__shuffle=True,
    ).initialize()
    return lambda: net.partial_fit(x, y)


def lightning(kind: str, x: torch.Tensor, y: torch.Tensor):
    # A CPU build of torch lacks the operators that PyPI's torchvision declares; Lightning imports it where it is found.
    for operator in ("nms(Tensor a, Tensor b, float c) -> Tensor", "qnms(Tensor a, Tensor b, float c) -> Tensor"):
        with contextlib.suppress(RuntimeError):
            OPERATORS.define(operator)
    import lightning as L

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.loss = network(kind), nn.CrossEntropyLoss()

        def training_step(self, batch, _):
            return self.loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH, shuffle=True)
    module = Module()

    def epoch() -> None:
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            barebones=False,
        )
        trainer.fit(module, loader)

    return epoch


def keras_torch(kind: str, x: torch.Tensor, y: torch.Tensor):
    import keras
    from keras import layers as k

    if kind == "fnn":
        parts = [k.Flatten(), k.Dense(128, activation="relu"), k.Dense(10)]
    else:
        parts = [
            k.Conv2D(6, 5, padding="same", activation="relu"),
            k.MaxPool2D(2),
            k.Conv2D(16, 5, activation="relu"),
            k.MaxPool2D(2),
            k.Flatten(),
            k.Dense(120, activation="relu"),
            k.Dense(84, activation="relu"),
            k.Dense(10),
        ]
    net = keras.Sequential([keras.Input((28, 28, 1)), *parts])
    net.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images, labels = x.permute(0, 2, 3, 1).contiguous().numpy(), y.numpy()
    return lambda: net.fit(images, labels, batch_size=BATCH, epochs=1, verbose=0)


def sklearn(kind: str, x: torch.Tensor, y: torch.Tensor):
    from sklearn.neural_network import MLPClassifier

    if kind != "fnn":
        return None
    net = MLPClassifier((128,), batch_size=BATCH, max_iter=1)
    rows, labels = x.flatten(1).numpy(), y.numpy()
    net.partial_fit(rows[:BATCH], labels[:BATCH], classes=list(range(10)))
    return lambda: net.partial_fit(rows, labels)


CONTESTANTS = {
    "hand-written loop": by_hand,
    "lamina.fit": ours,
    "skorch": skorch,
    "Lightning": lightning,
    "Keras on torch": keras_torch,
    "scikit-learn": sklearn,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    x, y = data()
    rows = []
    for kind in ("fnn", "lenet5"):
        epochs = {}
        for name, make in CONTESTANTS.items():
            try:
                epochs[name] = make(kind, x, y)
            except ImportError as error:
                print(f"{name}: {error}")
        epochs = {name: epoch for name, epoch in epochs.items() if epoch is not None}
        for epoch in epochs.values():
            epoch()
        times: dict[str, list[float]] = {name: [] for name in epochs}
        for _ in range(rounds):
            for name, epoch in epochs.items():
                start = time.perf_counter()
                epoch()
                times[name].append(time.perf_counter() - start)
        for name, found in times.items():
            ratios = [a / b for a, b in zip(found, times["hand-written loop"], strict=True)]
            row = {
                "network": kind,
                "who": name,
                "seconds": statistics.median(found),
                "ratio": statistics.median(ratios),
                "spread": statistics.stdev(ratios),
                "n": rounds,
            }
            rows.append(row)
            print(f"{kind:7} {name:18} {row['seconds']:.3f} s  {row['ratio']:.2f} ± {row['spread']:.2f}", flush=True)
    write("fit_overhead", rows, threads=torch.get_num_threads(), dtype="float32", device="cpu", examples=N, batch=BATCH)


if __name__ == "__main__":
    main()
