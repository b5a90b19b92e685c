"""Run folders made by hand: every number in them is known."""

import json
from pathlib import Path
from typing import Any

import torch

from lamina.training.folder import RunFolder

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)

CONFIG = {
    "architecture": {
        "network": "FNN",
        "config": {
            "inputs": 4,
            "outputs": 3,
            "hidden": [5],
            "activation": "relu",
            "last_activation": "identity",
            "last_bias": True,
            "batch_norm": False,
            "dropout": 0.0,
            "scale": 1.0,
        },
    },
    "data": {"source": "iris", "options": {}, "seed": 0, "reload": True, "fingerprint": "150-1"},
    "note": "iris: 100 training, 25 validation and 20 test examples, stratified by class, seed 0.",
    "recipe": {
        "epochs": 3,
        "batch_size": 16,
        "sampling": "epoch",
        "check_every": 1,
        "precision": "float32",
        "seed": 0,
        "optimizer": {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "name": "adam"},
        "schedule": {"kind": "constant", "warmup": 0.0, "final": 0.0, "every": 10, "factor": 0.1},
        "penalty": {"strength": 0.0, "norm": 2},
        "clip": {"kind": "global"},
        "stopping": {},
    },
}
SPEC = {
    "kind": "table",
    "task": "classification",
    "inputs": [4],
    "outputs": 3,
    "classes": ["setosa", "versicolor", "virginica"],
    "features": ["a", "b", "c", "d"],
    "target": "class",
    "source": "iris",
    "target_shape": [],
    "levels": [[], [], [], []],
    "notes": [],
    "complete": False,
}
PREPROCESS = {
    "spec": SPEC,
    "inputs": [4],
    "kept": [4],
    "scale": 1.0,
    "mean": [5.8, 3.0, 3.7, 1.2],
    "std": [0.8, 0.4, 1.7, 0.7],
    "seen": [[], [], [], []],
    "missing": [False, False, False, True],
    "target_mean": [],
    "target_std": [],
    "resize": "fit",
}
_COLUMNS = ("epoch", "step", "loss", "accuracy", "learning_rate", "validation_loss", "validation_accuracy")
ROWS = [
    dict(zip(_COLUMNS, values, strict=True))
    for values in (
        (1, 7, 1.0, 0.5, 0.01, 0.8, 0.6),
        (2, 14, 0.5, 0.75, 0.01, 0.4, 0.8),
        (3, 21, 0.25, 0.9, 0.01, 0.6, 0.76),
    )
]
EVALUATION = {
    "examples": 20,
    "metrics": {"loss": 0.4321, "accuracy": 0.85, "f1": 0.8412, "auc": 0.97},
    "openings": 1,
    "confusion": [[7, 0, 0], [0, 6, 1], [0, 2, 4]],
    "per_class": [
        {"class": "setosa", "examples": 7, "precision": 1.0, "recall": 1.0, "f1": 1.0},
        {"class": "versicolor", "examples": 7, "precision": 0.75, "recall": 6 / 7, "f1": 0.8},
        {"class": "virginica", "examples": 6, "precision": 0.8, "recall": 2 / 3, "f1": 8 / 11},
    ],
    "calibration": {"confidence": [0.5, 0.9], "accuracy": [0.25, 1.0], "count": [4, 16], "error": 0.13},
    "worst": [
        {"index": 3, "label": "virginica", "guess": "versicolor", "confidence": 0.91, "values": {"a": 6.1, "b": None}},
        {"index": 9, "label": "versicolor", "guess": "virginica", "confidence": 0.77, "values": {"a": 5.5, "b": 2.5}},
    ],
    "predictions": [[0, 0, 0.99]],
}
ENVIRONMENT = {"lamina": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "device": "cpu", "threads": 2, "step": "eager"}
STATUS = {"state": "epochs", "sentence": "all 3 epochs were done", "best_row": 1}
WEIGHTS = {
    "layers.0.affine.weight": torch.full((5, 4), 0.5),
    "layers.0.affine.bias": torch.zeros(5),
    "layers.1.affine.weight": torch.ones(3, 5),
    "layers.1.affine.bias": torch.tensor([3.0, 0.0, 4.0]),
}


def regression(**changes: Any) -> dict[str, Any]:
    """Give what changes when the targets are real numbers."""
    spec = {**SPEC, "task": "regression", "outputs": 1, "classes": []}
    predictions = [[0.0, 0.5], [1.0, 1.0], [2.0, 1.5], [4.0, None]]
    evaluation = {
        "examples": 4,
        "metrics": {"loss": 0.1, "mse": 0.125, "mae": 0.25, "r2": 0.8125},
        "openings": 1,
        "confusion": None,
        "per_class": None,
        "calibration": None,
        "worst": [{"index": 2, "target": 2.0, "output": 1.5, "values": {"a": 1.0}}],
        "predictions": predictions,
    }
    rows = [{**{k: v for k, v in row.items() if "accuracy" not in k}, "mse": 2 * row["loss"]} for row in ROWS]
    fitted = {**PREPROCESS, "spec": spec, "target_mean": [1.75], "target_std": [1.5]}
    return {"preprocess": fitted, "evaluation": evaluation, "rows": rows, **changes}


class Maker:
    """Write run folders; a part given as None is left out."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0

    def __call__(self, name: str = "run", **parts: Any) -> Path:
        self.count += 1
        home = RunFolder.create(self.path / str(self.count) / "runs" / name)
        known = {
            "config": CONFIG,
            "preprocess": PREPROCESS,
            "environment": ENVIRONMENT,
            "rows": ROWS,
            "timings": [{"step": 7, "seconds": 1.5, "at": 1.7e9}, {"step": 14, "seconds": 3.25, "at": 1.7e9 + 2}],
            "status": STATUS,
            "evaluation": EVALUATION,
            "weights": WEIGHTS,
            **parts,
        }
        home.write_config(known["config"])
        for part in ("preprocess", "environment", "status", "evaluation"):
            if known[part] is not None:
                home.write_json(part, known[part])
        if known["rows"] is not None:
            home.reset_history(known["rows"])
        if known["timings"] is not None:
            home.timings.write_text("".join(json.dumps(row) + "\n" for row in known["timings"]))
        if known["weights"] is not None:
            home.write_weights(known["weights"])
        config = home.path / "config.toml"  # as Lamina 0.1 left a folder: tests change files, which no digest forbids
        config.write_text(config.read_text(encoding="utf-8").replace("version = 2", "version = 1", 1), encoding="utf-8")
        home.manifest.path.unlink()
        return home.path
