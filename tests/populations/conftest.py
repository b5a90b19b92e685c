"""Small data for populations."""

import pytest
import torch

from lamina.data import synthetic
from lamina.data.arrays import from_arrays


@pytest.fixture(scope="module")
def moons():
    return synthetic.moons(120, seed=0).split(seed=0)


@pytest.fixture(scope="module")
def pictures():
    g = torch.Generator().manual_seed(3)
    images = torch.randint(256, (48, 1, 12, 12), generator=g, dtype=torch.uint8)
    return from_arrays(images, torch.arange(48) % 3).split(seed=0)
