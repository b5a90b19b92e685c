"""Is what `lamina train fnn` gives for a table as good as scikit-learn's MLP, and how long does it take?

    python benchmarks/tables.py

Each seed divides a table 4:1:1. Lamina trains on the first part and watches the second; scikit-learn, which needs no
validation part of ours, gets both, scaled by `StandardScaler`. All are judged on the third. The peer of a table is the
variant of the MLP with the best mean. Seconds are those of the whole fit on one thread, all taking turns.
"""

import argparse
import json
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from record import FOLDER, write
from sklearn import datasets
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lamina
from lamina.data.splits import Split
from lamina.training.plan import plan

TABLES = {
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "digits as a table": lambda: datasets.load_digits(return_X_y=True),
    "friedman1": lambda: datasets.make_friedman1(10_000, 10, noise=1.0, random_state=0),
}
FURTHER = {
    "friedman3": lambda: datasets.make_friedman3(1000, noise=0.1, random_state=3),
    "4 of 40 columns count": lambda: datasets.make_classification(1000, 40, n_informative=4, random_state=4),
    "sparse linear": lambda: datasets.make_sparse_uncorrelated(600, 20, random_state=5),
}
VARIANTS = {
    "200 iterations": {},
    "2,000 iterations": {"max_iter": 2000},
    "early stopping": {"max_iter": 2000, "early_stopping": True},
}


def ours(split: Split, seed: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        job = plan("fnn", split, seed=seed, out=Path(place) / "run")
        run = lamina.fit(job.model, job.task, job.recipe, folder=job.folder)
        seconds = time.perf_counter() - start
        found = run.evaluate().metrics
    return found.get("accuracy", found.get("r2")), seconds


def theirs(split: Split, seed: int) -> dict[str, tuple[float, float]]:
    parts = [part.take(torch.arange(len(part))) for part in (split.train, split.validation, split.open_test())]
    (*inputs, new), (*targets, truth) = ([part[i].numpy() for part in parts] for i in (0, 1))
    rows, wanted, truth = np.concatenate(inputs), np.concatenate(targets).ravel(), truth.ravel()
    classes = split.train.spec.task == "classification"
    mlp, score = (MLPClassifier, accuracy_score) if classes else (MLPRegressor, r2_score)
    models = {name: mlp(random_state=seed, **options) for name, options in VARIANTS.items()}
    models["linear"] = LogisticRegression(max_iter=2000) if classes else LinearRegression()
    found = {}
    for name, model in models.items():
        start = time.perf_counter()
        fitted = make_pipeline(StandardScaler(), model).fit(rows, wanted)
        found[name] = score(truth, fitted.predict(new)), time.perf_counter() - start
    return found


def compare(name: str, made: tuple[np.ndarray, np.ndarray], seeds: int) -> dict:
    inputs, targets = made
    classes = np.issubdtype(targets.dtype, np.integer)
    data = lamina.load((inputs.astype("float32"), targets.astype("int64" if classes else "float32")))
    rounds = []
    for seed in range(seeds):
        split = data.split(seed=seed)
        rounds.append({"lamina": ours(split, seed), **theirs(split, seed)})
    scores = {who: [one[who][0] for one in rounds] for who in rounds[0]}
    seconds = {who: [one[who][1] for one in rounds] for who in rounds[0]}
    peer = max(VARIANTS, key=lambda who: statistics.mean(scores[who]))
    ahead = [a - b for a, b in zip(scores["lamina"], scores[peer], strict=True)]
    return {
        "table": name,
        "rows": len(inputs),
        "columns": inputs.shape[1],
        "measure": "accuracy" if classes else "r2",
        "bar": name in TABLES,
        "n": seeds,
        "peer": peer,
        "ahead": statistics.mean(ahead),
        "standard_error": statistics.stdev(ahead) / seeds**0.5,
        "speed": statistics.median(b / a for a, b in zip(seconds["lamina"], seconds[peer], strict=True)),
        "means": {who: statistics.mean(values) for who, values in scores.items()},
        "seconds": {who: statistics.median(values) for who, values in seconds.items()},
        "scores": scores,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="measure some of the tables again, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of iterations that do not suffice, which the variants are about
    torch.set_num_threads(1)
    rows = []
    for name, make in {**TABLES, **FURTHER}.items():
        if not options.only or name in options.only.split(","):
            rows.append(compare(name, make(), options.seeds))
            row = rows[-1]
            means = ", ".join(f"{who} {mean:.4f}" for who, mean in row["means"].items())
            print(f"{name}: {means}; ahead {row['ahead']:.4f} ± {row['standard_error']:.4f}, {row['speed']:.2f} x",
                  flush=True)  # fmt: skip
    if options.only:  # the others stay as they were recorded
        kept = json.loads((FOLDER / "tables.json").read_text(encoding="utf-8"))["rows"]
        rows = [next((row for row in rows if row["table"] == old["table"]), old) for old in kept]
    write("tables", rows, threads=1, dtype="float32", device="cpu")


if __name__ == "__main__":
    main()
