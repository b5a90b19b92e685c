"""Lamina draws from generators of its own: those of the process stay where they were, whatever it does."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import lamina
from lamina.architectures.table import TABLE
from lamina.cli import app


def positions():
    numbers = np.random.get_state()
    return torch.get_rng_state().tolist(), numbers[1].tolist(), numbers[2:]


def test_nothing_uses_the_generator_of_the_module_random():
    # Its generator cannot be compared while testing: the shape checker draws from it.
    files = Path(lamina.__file__).parent.rglob("*.py")
    found = [
        file.name
        for file in files
        if re.search(r"(?m)^\s*(import random|from random import (?!Random$))", file.read_text())
    ]
    assert found == ["loaders.py"]  # it seeds what a dataset of somebody else draws, and puts the generator back


@pytest.mark.parametrize("name", TABLE)
def test_building_a_network_uses_no_global_generator(name):
    before = positions()
    lamina.build(name)
    assert positions() == before


@pytest.mark.parametrize(("name", "data"), [("fnn", "moons"), ("lenet5", "digits"), ("many-to-one", "agreement")])
def test_training_and_testing_use_no_global_generator(name, data, tmp_path):
    before = positions()
    command = ["train", name, "--data", data, "--set", "max_steps=3", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*command, *(["--set", "dropout=0.2"] if name != "many-to-one" else [])])
    assert done.exit_code == 0, done.output
    assert positions() == before


def test_searching_uses_no_global_generator(tmp_path):
    before = positions()
    lamina.search("fnn", "moons", {"dropout": [0.0, 0.3]}, lamina.Random(2), epochs=1, folder=tmp_path / "study")
    assert positions() == before
