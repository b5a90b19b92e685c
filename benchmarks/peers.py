"""The peers that `small_networks` times: skorch, Lightning, Keras and scikit-learn, each as a function of one epoch.

Batches of 128 pictures of 28x28, Adam, float32, data in memory; checkpoints and validation are off everywhere.
"""

import contextlib
import logging
import os
import warnings

os.environ.setdefault("KERAS_BACKEND", "torch")
import torch
from torch import nn

import lamina

BATCH = 128
OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
warnings.simplefilter("ignore")


def network(kind: str) -> nn.Module:
    if kind == "fnn":
        return lamina.build("fnn", inputs=(1, 28, 28), outputs=10, hidden=(128,))
    return lamina.build("lenet5", activation="relu", pooling="max")


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
