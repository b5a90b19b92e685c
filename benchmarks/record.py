"""Write what a benchmark measured, with versions and machine, as one JSON file a question."""

import hashlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "records"


def write(name: str, rows: list[dict[str, Any]], **facts: Any) -> None:
    packages = {}
    for package in (
        "lamina",
        "torch",
        "numpy",
        "scikit-learn",
        "skorch",
        "lightning",
        "keras",
        "optuna",
        "ray",
        "distributed",
    ):
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            continue
    source = (Path(__file__).parent / f"{name.removesuffix('-cuda')}.py").read_bytes()
    record = {
        "benchmark": name,
        "source": hashlib.sha256(source).hexdigest()[:16],
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
        "packages": packages,
        **facts,
        "rows": rows,
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
