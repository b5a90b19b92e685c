"""What does each activation of the notes cost beside ReLU, forward and backward, and beside torch's own function?

Notes: N1.13, report only. Ten thousand numbers stay in the cache, ten million wait for the memory. All functions take
turns, so that a noisy moment hits everybody; figures are medians of ratios within a round. float32. With `--device
cuda` the same on a GPU, to the record `activations-cuda`.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from record import write

from lamina.functional.activations import ACTIVATIONS

TORCH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu,
    "leaky_relu": lambda y: torch.nn.functional.leaky_relu(y, 0.1),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
SIZES = {"10,000 numbers": (10_000, 200), "10,000,000 numbers": (10_000_000, 1)}  # and calls that are timed together


def seconds(function: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor, calls: int, backward: bool) -> float:
    """Time one call, forward or the backward pass alone, as the mean of several."""
    wait = torch.cuda.synchronize if y.is_cuda else lambda: None
    if not backward:
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            function(y)
        wait()
        return (time.perf_counter() - start) / calls
    y = y.clone().requires_grad_()
    outputs, gradient = [function(y) for _ in range(calls)], torch.ones_like(y)
    wait()
    start = time.perf_counter()
    for output in outputs:
        torch.autograd.grad(output, y, gradient)
    wait()
    return (time.perf_counter() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    rows = []
    for size, (count, calls) in SIZES.items():
        y = torch.linspace(-5, 5, count, device=arguments.device)
        for part in ("forward", "backward"):
            ours = {name: a.function for name, a in ACTIVATIONS.items() if name != "identity"}
            if part == "backward":
                del ours["heaviside"]  # it has no gradient
            cases = {("lamina", name): f for name, f in ours.items()} | {
                ("torch", name): f for name, f in TORCH.items()
            }
            found: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
            for round_ in range(arguments.rounds + 1):
                for case, function in cases.items():
                    spent = seconds(function, y, calls, part == "backward")
                    if round_:  # the first round warms up
                        found[case].append(spent)
            for name in ours:
                mine = found["lamina", name]
                to_relu = [a / b for a, b in zip(mine, found["lamina", "relu"], strict=True)]
                row = {
                    "activation": name,
                    "size": size,
                    "part": part,
                    "microseconds": statistics.median(mine) * 1e6,
                    "of_relu": statistics.median(to_relu),
                    "spread": statistics.stdev(to_relu),
                    "n": arguments.rounds,
                }
                if name in TORCH:
                    to_torch = [a / b for a, b in zip(mine, found["torch", name], strict=True)]
                    row["of_torch"] = statistics.median(to_torch)
                    row["spread_of_torch"] = statistics.stdev(to_torch)
                rows.append(row)
                print(f"{size:20} {part:9} {name:11} {row['microseconds']:9.1f} us  {row['of_relu']:5.2f} of ReLU")
    on_gpu = arguments.device == "cuda"
    device = torch.cuda.get_device_name() if on_gpu else "cpu"
    write("activations" + "-cuda" * on_gpu, rows, threads=torch.get_num_threads(), dtype="float32", device=device)


if __name__ == "__main__":
    main()
