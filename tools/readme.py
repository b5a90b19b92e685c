"""Write the tables of README.md from the table of architectures and from benchmark records.

python tools/readme.py           # exit 1 if a table is out of date
python tools/readme.py --write
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
from lamina.architectures.table import TABLE  # noqa: E402


def architectures() -> str:
    """List every architecture with its place and size."""
    rows = [f"| `{e.name}` | {e.title} | {e.place} | {e.parameters:,} |" for e in TABLE.values()]
    return "\n".join(["| name | architecture | notes | parameters |", "| --- | --- | --- | ---: |", *rows])


def imports() -> str:
    """Show how long one waits before anything appears."""
    record = json.loads((ROOT / "benchmarks/records/imports.json").read_text())
    rows = [f"| `{r['what']}` | {r['seconds']:.3f} ± {r['spread']:.3f} |" for r in record["rows"]]
    versions = ", ".join(f"{name} {number}" for name, number in record["packages"].items())
    count = record["rows"][0]["n"]
    note = f"Median of {count} fresh processes, an empty one subtracted; {versions}; `benchmarks/imports.py`."
    return "\n".join(["| what | seconds |", "| --- | ---: |", *rows, "", note])


def fit_overhead() -> str:
    """Compare one epoch of `fit` with a hand-written loop and the peers."""
    path = ROOT / "benchmarks/records/fit_overhead.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text())
    found = {(r["network"], r["who"]): r for r in record["rows"]}
    lines = ["| one epoch, time against a hand-written loop | FNN 784-128-10 | LeNet-5 |", "| --- | ---: | ---: |"]
    for who in dict.fromkeys(r["who"] for r in record["rows"]):
        cells = [found.get((kind, who)) for kind in ("fnn", "lenet5")]
        shown = [f"{c['ratio']:.2f} ± {c['spread']:.2f}" if c else "–" for c in cells]
        lines.append(f"| {who} | {shown[0]} | {shown[1]} |")
    note = (
        f"{record['examples']:,} pictures, batch {record['batch']}, {record['dtype']}, {record['threads']} threads, "
        f"median of {record['rows'][0]['n']} rounds in one process; `benchmarks/fit_overhead.py`."
    )
    return "\n".join([*lines, "", note])


def accuracy() -> str:
    """Show test accuracies over seeds."""
    path = ROOT / "benchmarks/records/accuracy.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text())
    lines = ["| command | test accuracy | seeds | seconds a run |", "| --- | ---: | ---: | ---: |"]
    for r in record["rows"]:
        lines.append(f"| `{r['command']}` | {r['mean']:.2%} ± {r['spread']:.2%} | {r['n']} | {r['seconds']:.0f} |")
    return "\n".join([*lines, "", f"{record['threads']} CPU threads, {record['machine']}; `benchmarks/accuracy.py`."])


def filled(text: str) -> str:
    """Put each table between its marks."""
    for name, make in TABLES:
        pattern = rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: f"{m[1]}{make()}\n{m[2]}", text, flags=re.DOTALL)
    return text


TABLES = (
    ("architectures", architectures),
    ("imports", imports),
    ("fit_overhead", fit_overhead),
    ("accuracy", accuracy),
)


def main() -> int:
    """Report, or write."""
    path = ROOT / "README.md"
    old = path.read_text(encoding="utf-8")
    new = filled(old)
    if "--write" in sys.argv:
        path.write_text(new, encoding="utf-8")
        return 0
    if old != new:
        print("README.md has an out-of-date table: run  make catalogue")
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
