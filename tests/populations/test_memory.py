import pytest
import torch

from lamina.architectures.build import build, configure
from lamina.data import synthetic
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.populations import _memory as memory
from lamina.populations._memory import _chunk_size, _member_bytes, plan
from lamina.populations.members import Member
from lamina.populations.population import train_population
from lamina.training.recipe import Adam, MiniBatch, Recipe


def test_bytes_of_a_dense_network_are_those_counted_by_hand():
    data = synthetic.moons(120, seed=0)
    source = Preprocess.fit(data, 2).source(data)
    config = configure("fnn", inputs=2, outputs=2, hidden=(8,))
    numbers = 2 * 8 + 8 + 8 * 2 + 2
    fixed, activations = _member_bytes(Member(Recipe(Adam(), batch_size=16), config), source)
    assert fixed == 4 * numbers * 5  # parameters, gradients, best, two moments
    assert activations == 4 * 16 * (2 + 8)  # what the two products keep; relu keeps its output, which is one of them
    assert _member_bytes(Member(Recipe(MiniBatch(), precision="float64"), config), source)[0] == 8 * numbers * 3


def test_chunks_are_nearly_equal_and_fit():
    assert _chunk_size(10, fixed=1, activations=1, budget=1000) == 10
    assert _chunk_size(10, fixed=1, activations=10, budget=10 + 8 * 20) == 5  # 8 would fit, 5 and 5 are equal
    assert _chunk_size(10, fixed=100, activations=10, budget=10) == 1  # nothing fits: one by one
    assert _chunk_size(9, fixed=0, activations=1, budget=10**9, most=4) == 3


def test_convolutions_on_a_cpu_stay_in_the_cache(monkeypatch):
    g = torch.Generator().manual_seed(0)
    data = from_arrays(torch.randint(256, (30, 1, 28, 28), generator=g, dtype=torch.uint8), torch.arange(30) % 10)
    source = Preprocess.fit(data, (1, 28, 28)).source(data)
    members = [Member(Recipe(batch_size=16), configure("lenet5"), seed=k) for k in range(12)]
    _, activations = _member_bytes(members[0], source)
    monkeypatch.setattr(memory, "CACHE", 3 * activations)
    for seconds, expected in ((1.0, 3), (2.9, 1)):  # of three as one, against one second for each by itself
        monkeypatch.setattr(memory, "_seconds", lambda net, x, s=seconds: 1.0 if x.ndim == 4 else s)
        assert plan(members, source) == expected
    monkeypatch.setattr(memory, "CACHE", activations // 2)
    assert plan(members, source) == 1
    dense = [Member(Recipe(batch_size=16), configure("fnn", inputs=(1, 28, 28), outputs=10), seed=k) for k in range(12)]
    assert plan(dense, source) == 12


def test_time_is_measured():
    assert 0 < memory._seconds(build("perceptron", inputs=3, activation="tanh"), torch.zeros(4, 3)) < 10


def test_little_memory_means_small_chunks_with_the_same_results(monkeypatch):
    split = synthetic.moons(120, seed=0).split(seed=0)
    config = configure("fnn", inputs=2, outputs=2, hidden=(8,))
    members = [Member(Recipe(Adam(10.0**-k), epochs=2, precision="float64"), config) for k in range(4)]
    whole = train_population(members, split)
    fixed, activations = _member_bytes(members[0], Preprocess.fit(split.train, 2).source(split.train))
    monkeypatch.setattr(memory, "free_bytes", lambda device: 2 * (4 * fixed + 4 * activations))
    for ours, theirs in zip(train_population(members, split), whole, strict=True):
        assert [row["loss"] for row in ours.rows] == pytest.approx([row["loss"] for row in theirs.rows], rel=1e-12)
