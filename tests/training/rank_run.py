"""A run for torchrun, slow enough to be killed, that saves after every update: `rank_run.py FOLDER [SECONDS]`."""

import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lamina.data.arrays import from_arrays
from lamina.layers import Dropout, linear
from lamina.training import fit
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime

RECIPE = Recipe(Adam(0.01), epochs=5, batch_size=16)


def network() -> nn.Module:
    return nn.Sequential(linear(5, 8, seed=1), nn.BatchNorm1d(8), nn.Tanh(), Dropout(0.3), linear(8, 3, seed=2))


def data() -> Any:
    x = torch.randn(90, 5, generator=torch.Generator().manual_seed(3))
    return from_arrays(x, x[:, :3].argmax(1)).split(seed=0)


def main(folder: Path, seconds: float = 0.0) -> None:
    def slow(event: Any) -> None:
        time.sleep(seconds)

    fit.CHECKPOINT_SECONDS = 0.0
    more: dict[str, Any] = {"observers": [slow]} if seconds else {}
    run = fit.fit(network(), data(), RECIPE, folder=folder, runtime=Runtime("cpu"), progress=False, **more)
    print(run.folder, len(run.history))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
