"""How long do forward and backward of the notes' GRU take against nn.GRU, the readable loop, and the loop compiled?

    python benchmarks/gru.py                       # on the GPU where there is one (record gru-cuda), else on the CPU
    python benchmarks/gru.py --compile-steps 16    # also torch.compile of the loop, over so many steps

nn.GRU computes another cell, with the reset after the recurrent product: three gates in one product a step, where the
notes' cell needs two products one after the other. Both get the same inputs with time first in memory, and give the
derivatives by inputs and weights. On a GPU both sides are called directly and replayed from a CUDA graph, under the
same precision: float32 without TF32, float32 with TF32, bfloat16 weights. All take turns, so that a noisy moment hits
everybody; each is warm before. Ratios are to nn.GRU called the same way.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from record import write
from torch import nn

from lamina.layers.recurrent import Recurrent

GPU_SIZES = [(128, 128, 512), (128, 32, 256), (512, 64, 1024)]
CPU_SIZES = [(64, 32, 128), (128, 32, 256), (128, 128, 512)]
PRECISIONS = {  # TF32, type of the weights
    "float32": (False, torch.float32),
    "float32, TF32": (True, torch.float32),
    "bfloat16": (False, torch.bfloat16),
}
Update = Callable[[], object]


def update_of(net: nn.Module, inputs: torch.Tensor, arriving: torch.Tensor) -> Update:
    wanted = [inputs, *net.parameters()]
    return lambda: torch.autograd.grad(net(inputs)[0], wanted, arriving)


def ours(hidden: int, fast: bool) -> nn.Module:
    net = Recurrent("gru", hidden, hidden)
    net.fast = fast
    return net


class TimeFirst(nn.Module):
    """Call a network that takes the batch first with inputs that have time first, without a copy."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        outputs, state = self.net(inputs.transpose(0, 1))
        return outputs.transpose(0, 1), state


def captured(update: Update) -> Update:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = update()

    def replay() -> object:
        graph.replay()
        return kept

    return replay


def seconds(update: Update, cuda: bool) -> float:
    if not cuda:
        start = time.perf_counter()
        update()
        return time.perf_counter() - start
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    update()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000


def first_call(update: Update) -> float:
    start = time.perf_counter()
    update()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def contestants(hidden: int, compiled: bool) -> dict[str, nn.Module]:
    found: dict[str, nn.Module] = {
        "nn.GRU": nn.GRU(hidden, hidden),
        "lamina": TimeFirst(ours(hidden, fast=True)),
        "readable loop": TimeFirst(ours(hidden, fast=False)),
    }
    if compiled:
        found["loop compiled"] = torch.compile(TimeFirst(ours(hidden, fast=False)))
    return found


def compare(size: tuple[int, int, int], precision: str, rounds: int, compiled: bool, cuda: bool) -> list[dict]:
    T, B, H = size
    tf32, dtype = PRECISIONS[precision]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    g, device = torch.Generator().manual_seed(0), "cuda" if cuda else "cpu"
    inputs = torch.randn(T, B, H, generator=g).to(device, dtype).requires_grad_()
    arriving = torch.randn(T, B, H, generator=g).to(device, dtype)
    updates: dict[tuple[str, str], Update] = {}
    starts: dict[tuple[str, str], float] = {}
    for who, net in contestants(H, compiled).items():
        update = update_of(net.to(device, dtype), inputs, arriving)
        if isinstance(net, nn.GRU):
            net.flatten_parameters()
        starts[who, "called"] = first_call(update)
        updates[who, "called"] = update
        if cuda and who in ("nn.GRU", "lamina"):
            begin = time.perf_counter()
            updates[who, "captured"] = captured(update)
            starts[who, "captured"] = time.perf_counter() - begin
    times: dict[tuple[str, str], list[float]] = {key: [] for key in updates}
    for turn in range(rounds + 2):
        for key, update in updates.items():
            if key[0] == "readable loop" and turn > 4:
                continue  # slow, and its figure needs no more
            found = seconds(update, cuda)
            if turn >= 2:
                times[key].append(found)
    rows = []
    for (who, how), found in times.items():
        base = times["nn.GRU", how]
        ratios = [a / b for a, b in zip(found, base, strict=False)]
        rows.append(
            {
                "time": T,
                "batch": B,
                "hidden": H,
                "precision": precision,
                "who": who,
                "how": how,
                "milliseconds": 1000 * statistics.median(found),
                "milliseconds_spread": 1000 * statistics.stdev(found),
                "ratio": statistics.median(ratios),
                "spread": statistics.stdev(ratios),
                "first_call": starts[who, how],
                "n": len(found),
            }
        )
        row = rows[-1]
        print(
            f"{T:4}x{B:3}x{H:4} {precision:13} {who:13} {how:8} {row['milliseconds']:9.3f} ms "
            f"± {row['milliseconds_spread']:.3f}  {row['ratio']:.2f} ± {row['spread']:.2f} of nn.GRU  "
            f"(first {row['first_call']:.2f} s)",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=0, help="how often each is timed; 9, on a GPU 30")
    parser.add_argument("--compile-steps", type=int, default=0, help="also compile the loop over so many steps")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--first", action="store_true", help="the first size only")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "RNN module weights are not part")  # nn.GRU in bfloat16, once
    cuda = options.device == "cuda"
    rounds = options.rounds or (30 if cuda else 9)
    sizes = (GPU_SIZES if cuda else CPU_SIZES)[: 1 if options.first else None]
    rows: list[dict] = []
    for size in sizes:
        for precision in PRECISIONS if cuda else ["float32"]:
            rows += compare(size, precision, rounds, False, cuda)
    if options.compile_steps:
        rows += compare((options.compile_steps, *sizes[0][1:]), "float32", rounds, True, cuda)
    device = torch.cuda.get_device_name() if cuda else "cpu"
    write("gru-cuda" if cuda else "gru", rows, device=device, threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
