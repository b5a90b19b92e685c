"""Does a network in a stack feel its place, its neighbors or the width of the stack? Compared bit for bit.

Six networks are trained for two epochs; then in another order, among others, as two with four copies beside them, and
in stacks of 2 and 3. "even" sizes fill whole 64 bytes (widths and batches of 16), "odd" ones do not (9 and 19).
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import torch
from record import write

import lamina
from lamina.architectures.build import configure
from lamina.data.splits import Split
from lamina.populations.members import Member, MemberResult
from lamina.populations.population import train_together
from lamina.training.loop import drain
from lamina.training.recipe import Adam, Recipe
from lamina.training.runtime import Runtime

ORDER = (5, 2, 4, 0, 1, 3)


def wave() -> Split:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wave.csv"
        path.write_text("t,y\n" + "".join(f"{i},{math.sin(i / 3) + 0.1 * math.sin(i)}\n" for i in range(220)))
        return lamina.load(path, kind="series", window=7).split()


def cases(width: int) -> dict[str, tuple[str, Split, dict[str, Any]]]:
    iris, digits, series = lamina.load("iris").split(), lamina.load("digits").split(), wave()
    rows = {"inputs": 4, "outputs": 3}
    vectors = {"inputs": 64, "outputs": 10, "hidden": (2 * width, width)}
    pictures = {"inputs": (1, 28, 28), "outputs": 10}
    steps = {"inputs": series.train.spec.inputs[-1], "outputs": series.train.spec.outputs, "hidden": width}
    return {
        "fnn": ("fnn", iris, {**rows, "hidden": (width,)}),
        "fnn, tanh": ("fnn", digits, {**vectors, "activation": "tanh"}),
        "fnn, batch norm": ("fnn", digits, {**vectors, "batch_norm": True}),
        "fnn, dropout": ("fnn", digits, {**vectors, "dropout": 0.3}),
        "perceptron": ("perceptron", lamina.load("moons").split(), {"inputs": 2, "activation": "identity"}),
        "lenet5": ("lenet5", digits, pictures),
        "lenet5, relu": ("lenet5", digits, {**pictures, "activation": "relu", "pooling": "max"}),
        "dense-resnet": ("dense-resnet", iris, rows),
        "neural-ode": ("neural-ode", iris, rows),
        "cifar-resnet": ("cifar-resnet", digits, {**pictures, "inputs": (1, 8, 8), "depth": 8, "width": 0.25}),
        **{f"many-to-one, {cell}": ("many-to-one", series, {**steps, "cell": cell}) for cell in ("rnn", "gru", "lstm")},
    }


def equal(mine: list[MemberResult], others: list[MemberResult]) -> bool:
    return all(
        a.rows == b.rows and all(torch.equal(t, b.weights[name]) for name, t in a.weights.items())
        for a, b in zip(mine, others, strict=True)
    )


def row(name: str, case: tuple[str, Split, dict[str, Any]], batch: int, threads: int) -> dict[str, Any]:
    architecture, split, options = case
    config = configure(architecture, **options)

    def member(rate: float, seed: int) -> Member:
        return Member(Recipe(Adam(rate), epochs=2, batch_size=batch), config, seed)

    def trained(members: list[Member], width: int) -> list[MemberResult]:
        return drain(train_together(members, split, runtime=Runtime(threads=threads), chunk=width, padded=True))

    members = [member(rate, seed) for rate in (1e-3, 3e-3, 1e-2) for seed in (0, 1)]
    base = trained(members, 6)
    return {
        "network": name,
        "threads": threads,
        "place": equal([base[k] for k in ORDER], trained([members[k] for k in ORDER], 6)),
        "neighbors": equal(base[:1], trained([members[0], *[member(0.05, 9)] * 5], 6)[:1]),
        "padding": equal(base[:2], trained(members[:2], 6)),
        "width": equal(base[:3], trained(members[:3], 3)) and equal(base[:2], trained(members[:2], 2)),
    }


def main() -> None:
    rows = []
    for sizes, width, batch in (("odd", 9, 19), ("even", 16, 16)):
        for name, case in cases(width).items():
            for threads in (1, 2):
                rows.append({"sizes": sizes, **row(name, case, batch, threads)})
                print(rows[-1], flush=True)
    write("member_bits", rows, device="CPU", capability=torch.backends.cpu.get_cpu_capability())


if __name__ == "__main__":
    main()
