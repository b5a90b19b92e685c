"""What `lamina train` promises by default, over seeds; slow. MNIST only where LAMINA_DATA is set."""

import json
import os
import subprocess
import sys
from statistics import mean

import pytest

pytestmark = pytest.mark.slow
MNIST = pytest.mark.skipif("LAMINA_DATA" not in os.environ, reason="needs LAMINA_DATA")


def accuracy(tmp_path, seed, *words):
    command = [sys.executable, "-m", "lamina", "train", *words, "--seed", str(seed), "--json", "--out", f"run{seed}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["test"]["accuracy"]


def test_lenet5_on_digits(tmp_path):
    assert mean(accuracy(tmp_path, seed, "lenet5") for seed in range(5)) >= 0.975


@MNIST
@pytest.mark.notes("N3.56")
@pytest.mark.parametrize(
    ("words", "promise"),
    [
        (("lenet5",), 0.985),
        (("lenet5", "--set", "activation=relu", "--set", "pooling=max"), 0.988),
        (("fnn", "--set", "hidden=300,100"), 0.98),
    ],
)
def test_mnist(tmp_path, words, promise):
    assert accuracy(tmp_path, 0, words[0], "--data", "mnist", *words[1:]) >= promise
