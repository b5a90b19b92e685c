"""How often do conformal intervals and sets hold the truth, when the calibration examples also chose the epoch?

Small networks are trained with one seed after another, and asked for a coverage of 0.9. The validation part chose the
epoch, so its errors are a little too small for a guarantee; a fresh part of the same size gives the exact one. Both are
judged on the same examples, which served nothing else. The finite-sample expectation is ceil(0.9 (n + 1)) / (n + 1).
"""

import argparse
import math
import statistics
import tempfile
from pathlib import Path

import torch
from record import write

import lamina
from lamina.data.dataset import Subset
from lamina.training.conformal import covered, scores_of, validation_scores

ASKED = 0.9
DATA = {"linear": {"count": 300}, "curve": {"count": 300}, "moons": {"count": 300, "noise": 0.4}, "iris": {}}
EPOCHS = 60


def held(run: lamina.Run, calibration: torch.Tensor, judged: lamina.Dataset) -> tuple[float, float]:
    """Give the share of examples whose interval or set holds the truth, and the mean width or size."""
    inputs, targets = judged.take(torch.arange(len(judged)))
    found = covered(run.predict(inputs), calibration, ASKED)
    if found.lower is None or found.upper is None:
        right = [found.classes[k] in names for k, names in zip(targets.tolist(), found.sets, strict=True)]
        return statistics.mean(right), statistics.mean(map(len, found.sets))
    truth = targets.double().reshape(len(targets), -1)
    inside = (found.lower <= truth) & (truth <= found.upper)
    return inside.double().mean().item(), (found.upper - found.lower).mean().item()


def one(name: str, seed: int, folder: Path) -> list[dict[str, float]]:
    """Train one network; give coverage and size by validation part and by a part of its own."""
    options = DATA[name]
    data = lamina.load(name, **options, **({"seed": seed} if options else {}))
    split = data.split(seed=seed, ratios=(3, 1, 2))
    task = lamina.task_of(split)
    sizes = task.sizes("fnn", {"hidden": (16,)})
    recipe = lamina.Recipe(lamina.Adam(0.01), epochs=EPOCHS, batch_size=32, seed=seed)
    run = lamina.fit(lamina.build("fnn", seed=seed, **sizes), task, recipe, folder=folder / f"{name}-{seed}")
    test, n = split.open_test(), len(split.validation)
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(seed))
    fresh, judged = Subset(test, order[:n]), Subset(test, order[n:])
    if options:  # there are always more of these
        judged = lamina.load(name, **{**options, "count": 2000}, seed=10_000 + seed)
    found = []
    for calibration in (validation_scores(run), scores_of(run, fresh)):
        share, size = held(run, calibration, judged)
        found.append({"examples": len(calibration), "coverage": share, "size": size})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    rows = []
    for name in DATA:
        with tempfile.TemporaryDirectory() as folder:
            pairs = [one(name, seed, Path(folder)) for seed in range(seeds)]
        for part, found in zip(("validation", "its own"), zip(*pairs, strict=True), strict=True):
            shares = [row["coverage"] for row in found]
            n = int(found[0]["examples"])
            rows.append(
                {
                    "data": name,
                    "calibrated on": part,
                    "calibration examples": n,
                    "expected": round(math.ceil((n + 1) * ASKED - 1e-9) / (n + 1), 4),
                    "coverage": round(statistics.mean(shares), 4),
                    "standard error": round(statistics.stdev(shares) / math.sqrt(seeds), 4),
                    "mean width or size": round(statistics.mean(row["size"] for row in found), 4),
                }
            )
            print(rows[-1], flush=True)
    write("coverage", rows, seeds=seeds, asked=ASKED, epochs=EPOCHS, network="fnn, hidden=(16,)")


if __name__ == "__main__":
    main()
