"""What every test shares: float64 tolerance helpers, a seeded generator, one thread per worker."""

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a GPU")
    for item in items:
        if "cuda" in item.keywords:
            item.add_marker(skip)
