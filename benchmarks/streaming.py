"""Does a folder of photos that does not fit in memory train at the speed of its slower half, in bounded memory?

Photos are decoded by one worker thread while torch computes with one thread: one core each. "Alone" is decoding without
computing, and computing on photos that are already decoded, with the same one thread. Anonymous memory of the process
is compared for a small and for a three times larger folder.
"""

import statistics
import tempfile
import time
from pathlib import Path

import torch
from PIL import Image
from record import write

import lamina
from lamina.data import streaming
from lamina.data.preprocess import Preprocess
from lamina.training.executors.choose import learner
from lamina.training.loop import drain, observed
from lamina.training.runtime import Runtime
from lamina.training.tasks.arrays import Arrays

SIDE, BATCH = 96, 32
streaming.worker_count = lambda: 1


def photos(folder: Path, count: int) -> None:
    g = torch.Generator().manual_seed(0)
    for i in range(count):
        coarse = torch.rand(1, 3, 12, 12, generator=g)
        pixels = torch.nn.functional.interpolate(coarse, (SIDE, SIDE), mode="bicubic").clamp(0, 1)[0]
        place = folder / f"class{i % 4}"
        place.mkdir(exist_ok=True)
        Image.fromarray((pixels * 255).byte().permute(1, 2, 0).numpy()).save(place / f"{i}.jpg", quality=90)


def anonymous() -> float:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("RssAnon"))) / 1024


def step_for(folder: Path, budget: int):
    data = lamina.load(folder, budget=budget)
    split = data.split()
    net = lamina.build("cifar-resnet", depth=8, inputs=(3, SIDE, SIDE), outputs=4, width=0.5)
    preprocess = Preprocess.fit(split.train, (3, SIDE, SIDE))
    step = learner(net, Arrays(preprocess, split), lamina.Recipe(epochs=100, batch_size=BATCH), Runtime(threads=1))
    if budget == 0:
        step.feed.source = preprocess.source(split.train, budget=0)
    step.validation = None
    return step, split


def rate(action, images: int) -> float:
    start = time.perf_counter()
    action()
    return images / (time.perf_counter() - start)


def main(rounds: int = 5) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name) / "small", Path(name) / "large"
        for folder, count in ((small, 600), (large, 1800)):
            folder.mkdir()
            photos(folder, count)
        streamed, split = step_for(large, 0)
        resident, _ = step_for(large, 2**31)
        images = len(split.train)
        order = torch.arange(images).split(BATCH)

        def decode() -> None:
            streamed.feed.source.prefetch(order)
            for indices in order:
                streamed.feed.source.batch(indices, None)

        found: dict[str, list[float]] = {"decoding alone": [], "computing alone": [], "together": []}
        drain(observed(resident, 1)), drain(observed(streamed, 1))
        for _ in range(rounds):
            found["decoding alone"].append(rate(decode, images))
            found["computing alone"].append(rate(lambda: drain(observed(resident, 1)), images))
            found["together"].append(rate(lambda: drain(observed(streamed, 1)), images))
        ratios = [c / min(a, b) for a, b, c in zip(*found.values(), strict=True)]
        rows = [
            {"what": key, "images_per_second": statistics.median(v), "spread": statistics.stdev(v), "n": rounds}
            for key, v in found.items()
        ]
        rows.append(
            {
                "what": "together / slower alone",
                "ratio": statistics.median(ratios),
                "spread": statistics.stdev(ratios),
                "n": rounds,
            }
        )
        little, _ = step_for(small, 0)
        drain(observed(little, 1))
        before = anonymous()
        drain(observed(little, 1))
        middle = anonymous()
        drain(observed(streamed, 1))
        rows.append(
            {
                "what": "growth of anonymous memory, MiB",
                "600 photos": middle - before,
                "1800 photos": anonymous() - middle,
            }
        )
    for row in rows:
        print(row)
    write("streaming", rows, threads=1, workers=1, dtype="float32", device="cpu", side=SIDE, batch=BATCH)


if __name__ == "__main__":
    main()
