"""What several ranks find out together: started once for each of three ranks, in groups of 1, 2 and 3 of them.

    python tests/training/rank_checks.py RANK FOLDER NAME...

runs the checks of these names; the first rank leaves what they found in `found.pt`.
"""

import atexit
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import lamina
from conformance.cases import ARCHITECTURES, LAYERS
from conformance.checks import floats
from lamina.data.arrays import from_arrays
from lamina.data.augment import Augment
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.text.descriptions import DescriptionDataset
from lamina.training._global_norm import attach, detach
from lamina.training.executors.choose import learner
from lamina.training.fit import fitting
from lamina.training.loop import Progress, drain
from lamina.training.objective import Objective
from lamina.training.ranks import Ranks
from lamina.training.recipe import GD, Adam, Averaging, Clip, MiniBatch, Penalty, Recipe, Stopping
from lamina.training.runtime import Runtime
from lamina.training.tasks.feed import Feed
from lamina.training.tasks.kinds import task_of
from lamina.training.update import Update
from training import rank_run
from training.tasks.steps import pairs, reviews, text

SIZES = (1, 2, 3)


class CaseFeed(Feed):
    """Calls a network of the conformance table."""

    def __init__(self, ranks: Ranks, micro_batch: int | None = None) -> None:
        self.ranks, self.micro_batch, self.batch_size = ranks, micro_batch, 99

    def outputs(self, model: Any, inputs: Any, targets: Any) -> Any:
        return floats(model(*inputs))[0]


class Kept:
    """Keeps the gradients of an update and moves nothing."""

    def __call__(self, grads: Any, loss: Any, again: Any) -> None:
        self.grads = [None if g is None else g.clone() for g in grads]

    def forget(self) -> None:
        for p in self.params:
            p.grad = None

    def state(self) -> dict[str, Any]:
        return {}


def updated(case: Any, ranks: Ranks, micro_batch: int | None = None) -> tuple[list[Any], list[Any]]:
    """Make two updates with this rank's parts, and give gradients, sums and buffers."""
    torch.manual_seed(0)
    model, change = case.module().train(), Kept()
    inputs = case.arguments()
    count = len(inputs[0])
    outputs = floats(case.module().eval()(*inputs))[0]
    targets = torch.randn(outputs.reshape(count, -1).shape, dtype=torch.float64)
    change.params = list(model.parameters())
    attach(model, ranks)
    recipe = Recipe(penalty=Penalty(0.01), precision="float64")
    update = Update(model, CaseFeed(ranks, micro_batch), Objective("mse"), recipe, change)
    for _ in range(2):  # the second sees the masks of another step
        own = ranks.own(count)
        part = tuple(each[own] for each in inputs), targets[own]
        update(*part, *((count,) if ranks.many else ()))
    detach(model)
    return change.grads, [update.loss_sum, update.score_sum, update.ever, *model.buffers()]


def gradients(name: str) -> Callable[[Ranks], Any]:
    case = next(case for case in (*ARCHITECTURES, *LAYERS) if case.name == name)
    return lambda ranks: updated(case, ranks)


def pieces(ranks: Ranks) -> Any:
    case = next(case for case in LAYERS if case.name == "dropout")
    return updated(case, ranks, 2)


def numbers(count: int = 61, **more: Any) -> Any:
    g = torch.Generator().manual_seed(3)
    x = torch.randn(count, 5, generator=g)
    return from_arrays(x, x[:, :3].argmax(1), **more).split(seed=0)


def pictures(count: int = 40) -> Any:
    g = torch.Generator().manual_seed(4)
    return from_arrays(
        torch.randint(256, (count, 1, 8, 8), generator=g, dtype=torch.uint8), torch.arange(count) % 3
    ).split(seed=0)


def rows(
    model: Callable[[], nn.Module] | str,
    data: Callable[[], Any],
    recipe: Recipe,
    exact: bool = True,
    norm: str = "global",
    **options: Any,
) -> Callable[[Ranks], Any]:
    """Train and give the rows of the history, with the examples of each update."""

    def check(ranks: Ranks) -> Any:
        torch.manual_seed(5)
        how = replace(recipe, precision="float64" if exact else "float32")
        split = data()
        task = task_of(split, seed=0)
        net = lamina.build(model, **task.sizes(model, options)) if isinstance(model, str) else model()
        task = task.for_network(net)
        step = learner(net, task, how, Runtime("cpu", threads=1, batch_norm=norm), ranks)
        at = Progress()
        reason = drain(step.trained(at))
        state = {name: t.clone() for name, t in step.state().items() if name.startswith(("model", "masks"))}
        return at.rows, reason.name, state

    return check


def with_metric(ranks: Ranks) -> Any:
    def ordered(outputs: Any, targets: Any) -> Any:  # depends on the order of the examples
        return (outputs[:, 0] * torch.arange(len(targets))).sum() + targets.double().dot(
            torch.arange(len(targets)).double()
        )

    return rows("fnn", numbers, Recipe(Adam(0.01), epochs=2, batch_size=16, metrics={"ordered": ordered}), hidden=(6,))(
        ranks
    )


def norm_net() -> nn.Module:
    layers = lamina.layers
    return nn.Sequential(layers.linear(5, 8, seed=1), nn.BatchNorm1d(8, momentum=None), nn.Tanh(), layers.Dropout(0.3),
                         layers.linear(8, 3, seed=2))  # fmt: skip


def picture_net() -> nn.Module:
    layers = lamina.layers
    return nn.Sequential(layers.conv2d(1, 4, 3, seed=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                         layers.linear(144, 3, seed=2))  # fmt: skip


def loaders() -> Any:
    g = torch.Generator().manual_seed(1)
    sets = [TensorDataset(torch.randn(n, 5, generator=g), torch.arange(n) % 3) for n in (23, 11, 7)]
    return tuple(DataLoader(each, batch_size=8) for each in sets)


_FILES = tempfile.TemporaryDirectory()
atexit.register(_FILES.cleanup)
"""Each process writes the same files for itself."""


def picture_folder() -> Any:
    """Pictures that stay on disk."""
    home, draw = Path(_FILES.name) / "pictures", np.random.default_rng(0)
    for number in range(0 if home.exists() else 45):
        folder = home / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / f"{number:02d}.png")
    return lamina.load(home, budget=0).split(seed=0)


def large_table() -> Any:
    """A table that is read block by block."""
    import polars as pl  # not on every machine that has a GPU

    path = Path(_FILES.name) / "rows.parquet"
    if not path.exists():
        x = np.random.default_rng(0).normal(size=(300, 3))
        frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.where(x[:, 2] > 0, "up", "down")})
        frame.with_columns(y=pl.Series((x[:, 0] + x[:, 2] > 0).astype(int))).write_parquet(path, row_group_size=60)
    return lamina.load(path, target="y", stream=True).split(seed=0)


def described() -> Any:
    labels = torch.arange(45) % 3
    things = torch.eye(3)[labels] * 4 + torch.randn(45, 3, generator=torch.Generator().manual_seed(0)) / 4
    words = [("yes", "no", "perhaps")[label] for label in labels.tolist()]
    data = ArrayDataset(things, labels, Spec("vector", "classification", (3,), 3))
    return DescriptionDataset.of(data, words).split(seed=0)


def two_inputs() -> Any:
    draw = np.random.default_rng(0)
    x, kind = draw.normal(size=(50, 4)), draw.integers(0, 3, 50)
    return lamina.load({"x": x, "kind": kind}, (x[:, 0] + kind > 1).astype(int)).split(seed=0)


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.top = lamina.layers.linear(4 + 3, 2, seed=1)

    def forward(self, x: Any, kind: Any) -> Any:
        return self.top(torch.cat([x, nn.functional.one_hot(kind, 3).to(x.dtype)], 1))


def resumed(
    ranks_of: Callable[[int], Ranks | None], data: Any, name: str, recipe: Recipe, plan: tuple[int, ...]
) -> Any:
    """Train with one number of ranks after another, each for three updates, from the state that was gathered."""
    task = task_of(data(), seed=0)
    saved: Any = None
    at, seen = Progress(), []
    for number, size in enumerate(plan):
        ranks = ranks_of(size)
        box: list[Any] = [None]
        if ranks is not None:
            torch.manual_seed(5)
            net = lamina.build(name, **task.sizes(name, {"hidden": 6}))
            step = learner(net, task, recipe, Runtime("cpu", threads=1), ranks)
            if saved is not None:
                step.restore(saved[0], saved[1])
            stop = step.step + 3 if number + 1 < len(plan) else 10**9
            at = Progress() if saved is None else saved[2]
            drain(step.trained(at, [lambda event, stop=stop: event.step >= stop]))
            step.feed.collect()
            box = [({k: v.clone() for k, v in step.state().items()}, step.step, replace(at, reason=None, totals=dict))]
        dist.broadcast_object_list(box, 0)
        saved = box[0]
        seen.append(saved[1])
    return saved[2].rows, seen


CHECKS: dict[str, Callable[[Ranks], Any]] = {
    **{f"gradients {case}": gradients(case.name) for case in (*ARCHITECTURES, *LAYERS) if case.trains},
    "pieces": pieces,
    "masks and norms": rows(norm_net, numbers, Recipe(Adam(0.01), epochs=3, batch_size=16)),
    "norms of parts": rows(norm_net, numbers, Recipe(Adam(0.01), epochs=2, batch_size=14), norm="local"),
    "norms in pieces": rows(norm_net, numbers, Recipe(Adam(0.01), epochs=2, batch_size=18, micro_batch=6)),
    "mixed pictures": rows(
        picture_net, pictures,
        Recipe(MiniBatch(0.05), epochs=2, batch_size=11, augment=Augment(flip=True, crop=1, mixup=0.4, cutmix=1.0)),
    ),
    "moved pictures": rows(
        picture_net, pictures, Recipe(Adam(0.01), epochs=2, batch_size=9, augment=Augment(flip=True, rotation=20.0))
    ),
    "weights and clipping": rows(
        "fnn", lambda: numbers(weights=torch.arange(61) % 4 + 0.5),
        Recipe(MiniBatch(0.1), epochs=2, batch_size=16, clip=Clip(0.05), penalty=Penalty(0.01, 1),
               stopping=Stopping(gradient_norm=1e-9)), hidden=(6,),
    ),
    "line search": rows("fnn", numbers, Recipe(GD(line_search=True), epochs=4, penalty=Penalty(0.01)), hidden=(6,)),
    "metrics": with_metric,
    "patience": rows(
        "fnn", numbers, Recipe(Adam(0.5), epochs=40, batch_size=16, stopping=Stopping(patience=2)), hidden=(6,)
    ),
    "diverged": rows("fnn", numbers, Recipe(MiniBatch(1e200), epochs=4, batch_size=16), hidden=(6,)),
    "texts": rows("many-to-one", reviews, Recipe(Adam(0.01), epochs=2, batch_size=8), hidden=6, embedding=5),
    "pairs": rows(
        "seq2seq", pairs, Recipe(Adam(0.01), epochs=2, batch_size=7, teacher_forcing=0.5, label_smoothing=0.1),
        hidden=6, embedding=5,
    ),
    "running text": rows(
        "many-to-many", text, Recipe(Adam(0.01), epochs=2, batch_size=8, window=10), hidden=6, embedding=5
    ),
    "two readers": rows(
        "many-to-many", text, Recipe(Adam(0.01), epochs=1, batch_size=2, window=20), hidden=6, embedding=5
    ),
    "pictures on disk": rows(
        picture_net, picture_folder, Recipe(Adam(0.01), epochs=2, batch_size=8, augment=Augment(flip=True))
    ),
    "rows on disk": rows("fnn", large_table, Recipe(Adam(0.01), epochs=2, batch_size=37), hidden=(6,)),
    "descriptions": rows("one-to-many", described, Recipe(Adam(0.01), epochs=2, batch_size=8), hidden=6),
    "two inputs": rows(TwoInputs, two_inputs, Recipe(Adam(0.01), epochs=2, batch_size=8)),
    "averages": rows(
        "fnn", numbers, Recipe(Adam(0.01), epochs=3, batch_size=16, averaging=Averaging(0.8)), hidden=(6,)
    ),
    "loaders": rows(norm_net, loaders, Recipe(Adam(0.01), epochs=2)),
    "single precision": rows(
        "fnn", numbers, Recipe(Adam(0.01), epochs=3, batch_size=16), exact=False, hidden=(6,), dropout=0.2
    ),
}  # fmt: skip

FAST = ("fnn", "lenet5", "cifar-resnet", "many-to-one", "dropout", "full affine batch norm", "embedding")
"""Cases of the conformance table whose gradients the default suite compares."""


def main(rank: int, folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=max(SIZES))
    groups = {size: dist.new_group(list(range(size))) for size in SIZES}

    def ranks_of(size: int) -> Ranks | None:
        group = groups[size]
        return Ranks(rank, size, rank, size, True, group, group) if rank < size else None

    found: dict[tuple[str, int], Any] = {}
    for name in names:
        if name == "run" and (two := ranks_of(2)) is not None:
            how: dict[str, Any] = {"folder": folder / "alone", "runtime": Runtime("cpu"), "ranks": two}
            drain(fitting(rank_run.network(), rank_run.data(), rank_run.RECIPE, **how))
        if name == "run":
            continue
        if name == "resumed":
            exact = {"precision": "float64"}
            plans: Any = {
                "numbers": (numbers, "fnn", Recipe(Adam(0.01), epochs=4, batch_size=16, **exact)),
                "running text": (text, "many-to-many", Recipe(Adam(0.01), epochs=3, batch_size=8, window=10, **exact)),
            }
            for what, plan in plans.items():
                found[name, what] = [resumed(ranks_of, *plan, sizes) for sizes in ((1,), (2, 1, 3), (3, 2))]
            continue
        for size in SIZES:
            ranks = ranks_of(size)
            if ranks is not None:
                result = CHECKS[name](ranks)
                if rank == size - 1:  # the last one, which may have no examples, must know the same
                    torch.save(result, folder / f"last-{size}.pt")
                dist.barrier(groups[size])
                found[name, size] = result, torch.load(folder / f"last-{size}.pt", weights_only=False)
                dist.barrier(groups[size])
    if rank == 0:
        torch.save(found, folder / "found.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
