"""Is the one update as fast as the five copies that it replaced?

Milliseconds an update of two trees, this one and another, in processes that take turns:

    git worktree add /tmp/before 0ba9e5e
    python benchmarks/engine.py --before /tmp/before/src [--device cuda]

The other tree may be older than `training/executors`; commit 0ba9e5e is the last one with a step for each way to run an
update. Data are random numbers of the usual sizes, float32 without TF32 but where bf16 is said.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import lamina
from lamina.architectures.build import configure
from lamina.data.arrays import from_arrays
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Split
from lamina.data.text.texts import PairDataset, RunningText
from lamina.data.text.tokens import TextPreprocess
from lamina.training.recipe import Adam, Clip, MiniBatch, Penalty, Recipe
from lamina.training.runtime import Runtime

WORDS = "the sun is shining today and tomorrow we will see many birds over the lake near our old house".split()
RECIPE = Recipe(Adam(1e-3), epochs=1000, batch_size=128)
ROUNDS, TURNS = 7, 3


def pictures(count: int, shape: tuple[int, ...]) -> Split:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randint(0, 256, (count, *shape), generator=generator, dtype=torch.uint8)
    return from_arrays(inputs, torch.arange(count) % 10).split(seed=0)


def sentence(number: int, words: list[str]) -> str:
    return " ".join(words[(number * 7 + j * (1 + number % 5)) % len(words)] for j in range(5 + number % 7))


def alone(model: torch.nn.Module, split: Split, recipe: Recipe, runtime: Runtime) -> Any:
    """Give the step of one network, in this tree or an older one."""
    try:
        from lamina.training.executors.choose import learner
        from lamina.training.tasks.kinds import task_of
    except ImportError:
        from lamina.training.preparation import fit_preparation  # type: ignore[import-not-found]

        from lamina.training.fit import make_step  # type: ignore[attr-defined]

        return make_step(model, split, fit_preparation(split.train, model), recipe, runtime)
    return learner(model, task_of(split).for_network(model), recipe, runtime)


def together(architecture: str, count: int, split: Split, runtime: Runtime, **options: Any) -> Any:
    """Give the step of many networks, in this tree or an older one."""
    config = configure(architecture, outputs=10, **options)
    recipes = [replace(RECIPE, optimizer=Adam(1e-3 * (1 + k % 7))) for k in range(count)]
    preprocess = Preprocess.fit(split.train, options["inputs"])
    try:
        from lamina.populations._chunks import Data, make_stack
        from lamina.populations.members import Member
        from lamina.training.tasks.arrays import Arrays
    except ImportError:
        from lamina.studies.chunks import Data, make_population_step  # type: ignore[import-not-found, no-redef]
        from lamina.studies.members import Member  # type: ignore[import-not-found, no-redef]

        members = [Member(recipe, config, k % 8) for k, recipe in enumerate(recipes)]
        return make_population_step(members, Data.of(split, preprocess, recipes[0], runtime))
    members = [Member(recipe, config, k % 8) for k, recipe in enumerate(recipes)]
    return make_stack(members, Data.of(Arrays(preprocess, split), recipes[0], runtime))


def cases(device: str) -> dict[str, tuple[Callable[[], Any], int]]:
    """Give for each case what makes its step, and how many updates are timed at once."""
    cuda = device == "cuda"
    fast, plain = (Runtime(device, threads=0 if cuda else 2, step="captured" if cuda else "eager") for _ in range(2))
    plain = replace(plain, step="eager")
    gray = pictures(30_000 if cuda else 6000, (1, 28, 28))
    pairs = PairDataset.of(*([sentence(i, ws) for i in range(4000)] for ws in (WORDS, [w.upper() for w in WORDS])))
    text, both = RunningText.of(". ".join(sentence(i, WORDS) for i in range(6000))).split(seed=0), pairs.split(seed=0)
    clipped = replace(RECIPE, clip=Clip(1.0), penalty=Penalty(1e-4))

    def reader(architecture: str, split: Split, **more: Any) -> torch.nn.Module:
        words = TextPreprocess.fit(split.train)
        sizes = {"inputs": words.input_size, "outputs": words.output_size, "hidden": 128, "embedding": 64}
        return lamina.build(architecture, **sizes, **more)

    found: dict[str, tuple[Callable[[], Any], int]] = {
        "fnn": (lambda: alone(lamina.build("fnn", inputs=784, outputs=10, hidden=(128,)), gray, RECIPE, fast), 200),
        "lenet5": (lambda: alone(lamina.build("lenet5"), gray, RECIPE, fast), 200 if cuda else 30),
        "lenet5, clipped, eager": (lambda: alone(lamina.build("lenet5"), gray, clipped, plain), 30),
        "stack of fnn": (lambda: together("fnn", 1024 if cuda else 64, gray, fast, inputs=784,
                                          hidden=(128 if cuda else 32,)), 50 if cuda else 20),
        "stack of lenet5": (lambda: together("lenet5", 256 if cuda else 8, gray, fast, inputs=(1, 28, 28)),
                            20 if cuda else 10),
        "pairs": (lambda: alone(reader("seq2seq", both, padding=0), both, replace(clipped, batch_size=64), fast),
                  30 if cuda else 5),
        "running text": (lambda: alone(reader("many-to-many", text, cell="lstm"), text,
                                       replace(clipped, batch_size=32, window=50), fast), 30 if cuda else 5),
    }  # fmt: skip
    if cuda:
        recipe = Recipe(MiniBatch(0.1, 0.9, True), 1000, 512, penalty=Penalty(2.5e-4), precision="bfloat16")
        net = {"inputs": (3, 32, 32), "outputs": 10, "stem": "cifar"}
        color = pictures(20_000, (3, 32, 32))
        found["resnet18, bf16"] = (lambda: alone(lamina.build("resnet18", **net), color, recipe, fast), 10)
    return found


def milliseconds(step: Any, updates: int, device: str) -> list[float]:
    """Time updates, the warm-up excluded."""
    step.begin(0)
    for _ in range(3):
        step()
    done, found = 3, []
    for _ in range(ROUNDS):
        _wait(device)
        start = time.perf_counter()
        for _ in range(updates):
            if done >= step.batches - 1:
                step.begin(0)
                done = 0
            step()
            done += 1
        _wait(device)
        found.append(round(1e3 * (time.perf_counter() - start) / updates, 4))
    return found


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def child(device: str) -> None:
    for name, (make, updates) in cases(device).items():
        with Runtime(device, threads=0 if device == "cuda" else 2).applied():
            print(json.dumps([name, milliseconds(make(), updates, device)]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, help="the folder src of the other tree")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child or options.before is None:
        child(options.device)
        return
    times: dict[str, dict[str, list[float]]] = {}
    trees = {"before": options.before.resolve(), "after": Path(__file__).resolve().parents[1] / "src"}
    for _ in range(TURNS):
        for tree, source in trees.items():
            environment = {**os.environ, "PYTHONPATH": str(source)}
            words = [sys.executable, __file__, "--child", "--device", options.device]
            for line in subprocess.run(
                words, env=environment, check=True, capture_output=True, text=True
            ).stdout.splitlines():
                name, found = json.loads(line)
                times.setdefault(name, {}).setdefault(tree, []).extend(found)
    rows = []
    for name, found in times.items():
        row: dict[str, Any] = {"case": name}
        for tree, each in found.items():
            each = sorted(each)
            row |= {
                f"{tree}_median_ms": each[len(each) // 2],
                f"{tree}_quartiles_ms": [each[len(each) // 4], each[3 * len(each) // 4]],
            }
        row["ratio"] = round(row["after_median_ms"] / row["before_median_ms"], 3)
        rows.append(row)
        print(row)
    from record import write

    name = torch.cuda.get_device_name() if options.device == "cuda" else "2 CPU threads"
    write("engine" + ("-cuda" if options.device == "cuda" else ""), rows, device=name, before="0ba9e5e", tf32=False)


if __name__ == "__main__":
    main()
