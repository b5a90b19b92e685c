import gc
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn

import lamina
from lamina._errors import RunWarning
from lamina.architectures.build import build
from lamina.data.arrays import from_arrays
from lamina.training.executors import choose
from lamina.training.loop import drain
from lamina.training.memory import free_bytes, is_full, kept_bytes, piece, say_split
from training.tasks.steps import pairs, reviews, text


def test_activations_are_counted_once():
    network = build("fnn", inputs=3, outputs=2, hidden=(5, 5), activation="tanh")
    assert kept_bytes(network, torch.zeros(4, 3)) == 4 * 4 * (3 + 5 + 5)


def test_free_memory_is_asked_of_the_system(monkeypatch):
    assert 2**20 < free_bytes(torch.device("cpu")) < 2**50
    monkeypatch.setattr(Path, "read_text", lambda self, **options: "nothing")
    assert free_bytes(torch.device("cpu")) == 4 * 2**30


@pytest.mark.parametrize(
    ("sentence", "full"),
    [
        ("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes.", True),
        ("MPS backend out of memory (MPS allocated: 1 GB)", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", False),
    ],
)
def test_errors_that_mean_full_memory(sentence, full):
    assert is_full(RuntimeError(sentence)) is full


def test_pieces_are_halves_that_fit_with_half_as_much_beside():
    assert piece(100, 2, 300) == 100 and piece(100, 2, 299) == 50
    assert piece(7, 10, 61) == 4 and piece(7, 10, 59) == 2 and piece(7, 10, 29) == 1


def test_the_sentence_names_batch_normalization_where_there_is_some():
    with pytest.warns(
        RunWarning, match="a batch of 8 examples does not fit .* pieces of 4 .*; the update stays the same"
    ):
        say_split(nn.Linear(2, 2), 8, 4)
    with pytest.warns(RunWarning, match="batch normalization takes its statistics from each piece"):
        say_split(nn.Sequential(nn.BatchNorm1d(2)), 8, 4)


def test_a_look_at_memory_lets_the_network_go():
    """An activation keeps its result; handed back as it was, that held its graph, parameters and all."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2), nn.Tanh())
    assert kept_bytes(net, torch.zeros(5, 3)) == 4 * 5 * (3 + 4 + 2)
    gone = [weakref.ref(p) for p in net.parameters()]
    del net
    assert [ref() for ref in gone] == [None] * 4


TRAINED = {
    "fnn": lambda: lamina.load("iris").split(),
    "lenet5": lambda: some_digits(),
    "cifar-resnet": lambda: some_digits(),
    "neural-ode": lambda: lamina.load("iris").split(),
    "many-to-one": reviews,
    "seq2seq": pairs,
    "many-to-many": text,
}
SMALL = {
    "lenet5": {},
    "cifar-resnet": {"depth": 8},
    "fnn": {"hidden": 5, "activation": "sigmoid"},
    "neural-ode": {"width": 5},
}


def some_digits():
    pictures = torch.randint(256, (60, 1, 28, 28), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return from_arrays(pictures, torch.arange(60) % 10).split(seed=0)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("micro_batch", [None, 3])
def test_a_network_that_was_trained_is_let_go(name, micro_batch, monkeypatch):
    monkeypatch.setattr(choose, "LARGE", 0)  # what an update keeps is counted before
    split = TRAINED[name]()
    task = lamina.task_of(split, seed=0)
    net = lamina.build(name, **task.sizes(name, SMALL.get(name, {"hidden": 6})))
    task, recipe = task.for_network(net), lamina.Recipe(epochs=2, batch_size=8, micro_batch=micro_batch)
    drain(lamina.train(net, task, recipe, runtime=lamina.Runtime("cpu", threads=1, step="eager")))
    params = list(net.parameters())
    assert all(p.grad is not None for p in params)
    gone = [weakref.ref(each) for p in params for each in (p, p.grad)]
    del net, task, params
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)
