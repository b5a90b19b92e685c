"""How many pictures a second do ResNet18 (CIFAR stem) and the pre-activation ResNet-1001 train on one GPU?

Plain PyTorch is the hand-written loop below: torch modules, channels-last, bfloat16 autocast, fused SGD with momentum,
bytes resident on the device, each batch gathered by index and normalized there. The same loop is measured with
`torch.compile` (--compile). Ours is the step that `lamina.fit` takes: the whole update recorded once and replayed.
All sides do the same update; they take turns, so that a noisy moment hits everybody. Rates are medians of rounds.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from record import write
from torch import nn
from torch.nn import functional as F

import lamina
from lamina.data.arrays import from_arrays
from lamina.data.dataset import Subset
from lamina.data.preprocess import Preprocess
from lamina.data.splits import Sealed, Split
from lamina.training.executors.choose import learner
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

PICTURES = 50_000
RATE, MOMENTUM = 0.01, 0.9


class Basic(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out)
        self.conv2, self.bn2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out)
        same = stride == 1 and n_in == n_out
        learned = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))
        self.downsample = nn.Identity() if same else learned

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x), inplace=True)


class Bottleneck(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        n = n_out // 4
        self.bn1, self.conv1 = nn.BatchNorm2d(n_in), nn.Conv2d(n_in, n, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(n), nn.Conv2d(n, n, 3, stride, 1, bias=False)
        self.bn3, self.conv3 = nn.BatchNorm2d(n), nn.Conv2d(n, n_out, 1, bias=False)
        same = stride == 1 and n_in == n_out
        self.downsample = nn.Identity() if same else nn.Conv2d(n_in, n_out, 1, stride, bias=False)
        self.same = same

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        active = F.relu(self.bn1(x), inplace=True)
        y = self.conv1(active)
        y = self.conv2(F.relu(self.bn2(y), inplace=True))
        y = self.conv3(F.relu(self.bn3(y), inplace=True))
        return y + (x if self.same else self.downsample(active))


class PlainResNet(nn.Module):
    """The network that anybody would write; its parameters have our names."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        deep = depth != 18
        count, widths, first = ((depth - 2) // 9, (64, 128, 256), 16) if deep else (2, (64, 128, 256, 512), 64)
        make = Bottleneck if deep else Basic
        self.conv1 = nn.Conv2d(3, first, 3, 1, 1, bias=False)
        self.bn1 = nn.Identity() if deep else nn.BatchNorm2d(first)
        n_in = first
        for number, n_out in enumerate(widths):
            blocks = [make(n_in if i == 0 else n_out, n_out, 2 if i == 0 and number else 1) for i in range(count)]
            setattr(self, f"layer{number + 1}", nn.Sequential(*blocks))
            n_in = n_out
        self.bn = nn.BatchNorm2d(n_in) if deep else nn.Identity()
        self.fc, self.deep, self.stages = nn.Linear(n_in, 10), deep, len(widths)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv1(x)
        y = y if self.deep else F.relu(self.bn1(y), inplace=True)
        for number in range(self.stages):
            y = getattr(self, f"layer{number + 1}")(y)
        y = F.relu(self.bn(y), inplace=True) if self.deep else y
        return self.fc(y.mean((2, 3)))


def network(depth: int, recompute: int = 0) -> nn.Module:
    if depth == 18:
        return lamina.build("resnet18-cifar", recompute=recompute)
    return lamina.build("cifar-resnet", depth=depth, block="preactivation", bottleneck=True, recompute=recompute)


def data(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    x = torch.randint(256, (PICTURES, 3, 32, 32), generator=g, dtype=torch.uint8)
    return x.to(device), torch.randint(10, (PICTURES,), generator=g).to(device)


def plain(depth: int, batch: int, x: torch.Tensor, y: torch.Tensor, compiled: bool = False) -> Callable[[], None]:
    net = PlainResNet(depth)
    net.load_state_dict(network(depth).state_dict())
    net = net.to(x.device, memory_format=torch.channels_last).train()
    model = torch.compile(net) if compiled else net
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, fused=True)
    mean, std = torch.full((1, 3, 1, 1), 127.5, device=x.device), torch.full((1, 3, 1, 1), 73.9, device=x.device)
    x = x.contiguous(memory_format=torch.channels_last)
    order = iter(())

    def update() -> None:
        nonlocal order
        index = next(order, None)
        if index is None:
            order = iter(torch.randperm(PICTURES, device=x.device)[: PICTURES // batch * batch].split(batch))
            index = next(order)
        inputs = (x[index].float() - mean) / std
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(x.device.type, torch.bfloat16):
            loss = F.cross_entropy(model(inputs), y[index])
        loss.backward()
        optimizer.step()

    return update


def ours(depth: int, batch: int, x: torch.Tensor, y: torch.Tensor, recompute: int = 0) -> Callable[[], None]:
    whole = from_arrays(x.cpu(), y.cpu())
    used = Subset(whole, torch.arange(PICTURES // batch * batch))
    split = Split(used, Subset(whole, torch.zeros(0, dtype=torch.int64)), Sealed(whole), "benchmark")
    recipe = lamina.Recipe(
        lamina.MiniBatch(RATE, momentum=MOMENTUM), epochs=1000, batch_size=batch, precision="bfloat16"
    )
    runtime = Runtime(device=x.device.type, step="captured" if x.is_cuda else "eager")
    step = learner(network(depth, recompute), Arrays(Preprocess.fit(used, (3, 32, 32)), split), recipe, runtime)
    batches, done = PICTURES // batch, 0

    def update() -> None:
        nonlocal done
        if done % batches == 0:
            step.begin(done // batches)
        done += 1
        step()

    return update


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def kernels(update: Callable[[], None], most: int = 20) -> None:
    """Print where the device spends the time of one update."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        update()
        wait("cuda")
    events = sorted(seen.key_averages(), key=lambda e: -e.device_time_total)
    total = sum(e.device_time_total for e in events)
    print(f"  {total / 1e3:.2f} ms in {sum(e.count for e in events if e.device_time_total)} kernels")
    for e in events[:most]:
        share = 100 * e.device_time_total / total
        print(f"  {e.device_time_total / 1e3:8.3f} ms {share:5.1f} % {e.count:5} x {e.key[:90]}")


def measure(depth: int, batch: int, contestants: dict[str, Callable], rounds: int, updates: int, device: str) -> list:
    x, y = data(device)
    rows: list[dict] = []
    steps: dict[str, Callable[[], None]] = {}
    for name, make in contestants.items():
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        start = time.perf_counter()
        steps[name] = make(depth, batch, x, y)
        steps[name]()
        wait(device)
        first = time.perf_counter() - start
        for _ in range(3):
            steps[name]()
        wait(device)
        peak = (torch.cuda.max_memory_allocated() - before) / 2**30 if device == "cuda" else None
        rows.append(
            {"network": f"ResNet-{depth}", "batch": batch, "who": name, "first_update_s": first, "peak_gib": peak}
        )
    rates: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, update in steps.items():
            wait(device)
            start = time.perf_counter()
            for _ in range(updates if name != "plain PyTorch" else max(2, updates // 4)):
                update()
            wait(device)
            done = updates if name != "plain PyTorch" else max(2, updates // 4)
            rates[name].append(done * batch / (time.perf_counter() - start))
    for row in rows:
        found = rates[row["who"]]
        ratios = [a / b for a, b in zip(found, rates["plain PyTorch"], strict=True)]
        row |= {
            "pictures_per_s": statistics.median(found),
            "spread": statistics.stdev(found),
            "ratio": statistics.median(ratios),
            "n": rounds,
        }
        memory = "" if row["peak_gib"] is None else f"  {row['peak_gib']:.1f} GiB"
        print(
            f"{row['network']:12} batch {batch:5} {row['who']:24} {row['pictures_per_s']:9.0f}/s ± {row['spread']:.0f}"
            f"  {row['ratio']:.2f}x  first update {row['first_update_s']:.1f} s{memory}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--depths", type=int, nargs="+", default=[18, 1001])
    parser.add_argument("--batches", type=int, nargs="+", default=[128, 512, 1024], help="for ResNet18")
    parser.add_argument("--compile", action="store_true", help="also torch.compile of the plain loop (minutes)")
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--profile", action="store_true", help="print the kernels of our update instead")
    options = parser.parse_args()
    if options.profile:
        for depth in options.depths:
            update = ours(depth, 512 if depth == 18 else 128, *data("cuda"))
            update()
            print(f"ResNet-{depth}")
            kernels(update)
        return
    contestants: dict[str, Callable] = {"plain PyTorch": plain, "Lamina": ours}
    if options.compile:
        contestants["plain, torch.compile"] = lambda *a: plain(*a, compiled=True)
    rows = []
    for depth in options.depths:
        for batch in options.batches if depth == 18 else [128]:
            updates = 40 if depth == 18 else 12
            entrants = dict(contestants)
            if depth != 18:
                entrants["Lamina, recompute=8"] = lambda *a: ours(*a, recompute=8)
            rows += measure(depth, batch, entrants, options.rounds, updates, options.device)
    if not options.no_record:
        gpu = torch.cuda.get_device_name() if options.device == "cuda" else ""
        facts = {"dtype": "bfloat16 (autocast; parameters float32)", "tf32": False, "gpu": gpu}
        write("resnet", rows, device=options.device, **facts)


if __name__ == "__main__":
    main()
