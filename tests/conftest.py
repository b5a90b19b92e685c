"""What every test shares: one thread a worker, a seeded generator, GPU tests skipped without a GPU."""

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
