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


def recorded(name: str) -> dict | None:
    """Read what a benchmark wrote, if it was run."""
    path = ROOT / f"benchmarks/records/{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def kmeans() -> str:
    """Compare k-means with scikit-learn, on CPU and GPU."""
    lines = ["| k-means | who | seconds | faster than scikit-learn |", "| --- | --- | ---: | ---: |"]
    notes = []
    for record in filter(None, map(recorded, ("kmeans", "kmeans-cuda"))):
        where = f"{record['threads']} CPU threads"
        where += f", {record['device']}" if record["device"] != "cpu" else ""
        for r in record["rows"]:
            cells = f"{r['seconds']:.3f} ± {r['seconds_spread']:.3f} | {r['faster']:.2f} ± {r['spread']:.2f}"
            lines.append(f"| {r['case']} | {r['who']} ({where}) | {cells} |")
        first = f", first call {record['first_call_seconds']:.1f} s" if record["first_call_seconds"] else ""
        notes.append(f"{where}: median of {record['rows'][0]['n']} rounds, products in {record['products']}{first}")
    if not notes:
        return ""
    size = "{points:,} points, {features} coordinates, k = {clusters}, {restarts} restarts, {updates} updates at most"
    same = "the same first centroids on both sides, no tolerance, float32"
    note = f"{size.format(**record)}; {same}; {'; '.join(notes)}; `benchmarks/kmeans.py`."
    return "\n".join([*lines, "", note])


def activations() -> str:
    """Show what activations cost beside ReLU."""
    if (record := recorded("activations")) is None:
        return ""
    columns = list(dict.fromkeys((r["size"], r["part"]) for r in record["rows"]))
    found = {(r["activation"], r["size"], r["part"]): r for r in record["rows"]}
    heads = [f"{part}, {size}" for size, part in columns]
    lines = [f"| time beside ReLU | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for name in dict.fromkeys(r["activation"] for r in record["rows"]):
        cells = [found.get((name, *column)) for column in columns]
        shown = [f"{c['of_relu']:.2f} ± {c['spread']:.2f}" if c else "–" for c in cells]
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    note = (
        f"Reported, not promised (N1.13): {record['dtype']}, {record['threads']} CPU threads, "
        f"median of {record['rows'][0]['n']} rounds; `benchmarks/activations.py`."
    )
    return "\n".join([*lines, "", note])


def small_networks() -> str:
    """Show the time of one update of a small network, on CPU and GPU."""
    blocks = []
    for record in filter(None, map(recorded, ("small_networks", "small_networks-cuda"))):
        adam = "fused" if record["device"] == "cpu" else "default"
        found = {(r["network"], r["who"], r["precision"]): r for r in record["rows"]}
        head = f"one update on {record.get('gpu', str(record.get('threads')) + ' CPU threads')}"
        lines = [f"| {head} | FNN 784-128-10 | LeNet-5 |", "| --- | ---: | ---: |"]
        for who, precision in dict.fromkeys((r["who"], r["precision"]) for r in record["rows"]):
            cells = [found.get((kind, who, precision)) for kind in ("fnn", "lenet5")]
            shown = [f"{c['microseconds']:,.0f} µs, {c[f'times_{adam}']:.2f} x" if c else "–" for c in cells]
            lines.append(f"| {who}, {precision} | {shown[0]} | {shown[1]} |")
        setups = [r["setup_seconds"] for r in record["rows"] if "step alone" in r["who"] and "eager" not in r["who"]]
        note = (
            f"Batch {record['batch']}, Adam; x: times as fast as plain PyTorch with {adam} Adam and the same TF32 "
            f"policy; making our step took up to {max(setups, default=0):.1f} s; median of {record['rows'][0]['n']} "
            f"rounds; torch {record['packages']['torch']}; `benchmarks/small_networks.py`."
        )
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def time_to_99() -> str:
    """Show how long MNIST to 99 % takes from process start, and where the time goes."""
    if (record := recorded("time_to_99-cuda")) is None:
        return ""
    rows, seconds = record["rows"], sorted(r["seconds"] for r in record["rows"])
    lines = ["| MNIST to 99 %, process start to end | |", "| --- | ---: |"]
    lines.append(f"| median of {len(rows)} seeds | {seconds[len(seconds) // 2]:.1f} s |")
    lines.append(f"| test accuracy, lowest and highest | {_span([r['accuracy'] for r in rows])} |")
    lines += [f"| of which: {part} | {time:.2f} s |" for part, time in record["parts"]]
    note = f"`{record['command']}`; {record['precision']}; `benchmarks/time_to_99.py`."
    return "\n".join([*lines, "", note])


def gru() -> str:
    """Show forward and backward of the notes' GRU against torch's other GRU."""
    blocks = []
    for record in filter(None, map(recorded, ("gru", "gru-cuda"))):
        found = {(r["time"], r["batch"], r["hidden"], r["precision"], r["who"], r["how"]): r for r in record["rows"]}
        hows = list(dict.fromkeys(r["how"] for r in record["rows"] if r["who"] == "lamina"))
        where = record["device"] if "cuda" in record["benchmark"] else f"{record['threads']} CPU threads"
        lines = [f"| (T, B, H), {where} | precision | {' | '.join(f'{h}, of nn.GRU' for h in hows)} |"]
        lines.append("| --- | --- |" + " ---: |" * len(hows))
        for size in dict.fromkeys(key[:4] for key in found):
            cells = [found.get((*size, "lamina", how)) for how in hows]
            shown = [f"{c['milliseconds']:.2f} ms, {c['ratio']:.2f} ± {c['spread']:.2f}" if c else "–" for c in cells]
            lines.append(f"| ({size[0]}, {size[1]}, {size[2]}) | {size[3]} | {' | '.join(shown)} |")
        note = (
            "The notes' GRU, forward and backward, against nn.GRU in the same form and precision; `benchmarks/gru.py`."
        )
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def resnet() -> str:
    """Show training pictures a second of ResNets."""
    if (record := recorded("resnet")) is None:
        return ""
    lines = [f"| pictures/s in training, {record['gpu']} | batch | plain PyTorch | Lamina | first update |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    found = {(r["network"], r["batch"], r["who"]): r for r in record["rows"]}
    for network, batch in dict.fromkeys(key[:2] for key in found):
        plain, ours = (found[network, batch, who] for who in ("plain PyTorch", "Lamina"))
        lines.append(
            f"| {network} | {batch} | {plain['pictures_per_s']:,.0f} | {ours['pictures_per_s']:,.0f}, "
            f"{ours['ratio']:.2f} x | {ours['first_update_s']:.1f} s |"
        )
    note = f"{record['dtype']}, channels-last on both sides; `benchmarks/resnet.py`."
    return "\n".join([*lines, "", note])


def population() -> str:
    """Show how much faster many networks train together than one after another."""
    blocks = []
    for record in filter(None, map(recorded, ("population", "population-cuda"))):
        lines = [f"| networks at once, {record['device']} | | one update of all | against one after another |"]
        lines.append("| --- | ---: | ---: | ---: |")
        for r in record["rows"]:
            if r["who"] != "alone":
                who = "" if r["who"] == "population" else f" ({r['who']})"
                lines.append(
                    f"| {r['what']}{who} | {r['members']} | {r['milliseconds']:.2f} ms | "
                    f"{r['speedup']:.0f} ± {r['spread']:.0f} x |"
                )
        note = (
            f"{record['dtype']}; the other side is plain PyTorch with fused Adam, extrapolated from measured updates; "
            "`benchmarks/population.py`."
        )
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def search_overhead() -> str:
    """Show what a search costs beside the training."""
    if (record := recorded("search_overhead")) is None:
        return ""
    lines = ["| search | ms a trivial trial | trials |", "| --- | ---: | ---: |"]
    lines += [f"| {r['who']} | {r['milliseconds']:.2f} ± {r['spread']:.2f} | {r['trials']} |" for r in record["rows"]]
    return "\n".join([*lines, "", "`benchmarks/search_overhead.py`."])


def language() -> str:
    """Show what recurrent networks reach on real texts, with both GRUs."""
    shown = {
        "multi30k": (
            "BLEU, lower-cased",
            lambda r: f"{r['mean']:.1f} ± {r['spread']:.1f} (cased {r['bleu_beams']:.1f})",
        ),
        "tinyshakespeare": ("nats a character", lambda r: f"{r['mean']:.3f} ± {r['spread']:.3f}"),
        "sst2": ("accuracy", lambda r: f"{r['mean']:.1%} ± {r['spread']:.1%}"),
    }
    records = {name: record for name in shown if (record := recorded(f"{name}-cuda"))}
    if not records:
        return ""
    lines = ["| command | GRU | measure | test | seeds | training |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for name, record in records.items():
        what, cell = shown[name]
        for r in record["rows"]:
            command = r["command"].split(" --device")[0] + r["command"].partition("SEED")[2]
            lines.append(f"| `{command}` | {r['gru']} | {what} | {cell(r)} | {r['n']} | {r['seconds']:.0f} s |")
    device = next(iter(records.values()))["device"]
    note = (
        f"No attention, no pretrained vectors; {device}, float32, the usual recipe, mean and spread over seeds, "
        "training time of the first seed alone. Multi30k: en to de, test_2016_flickr, sacrebleu, 5 beams; "
        "tiny Shakespeare: the last 10 %; SST-2: 6,920 training sentences. `benchmarks/multi30k.py`, "
        "`tinyshakespeare.py`, `sst2.py`."
    )
    return "\n".join([*lines, "", note])


def tokens() -> str:
    """Show training tokens a second against hand-written loops."""
    blocks = []
    for record in filter(None, map(recorded, ("tokens", "tokens-cuda"))):
        where = f"{record['threads']} CPU thread" if record["device"] == "cpu" else record["device"]
        lines = [f"| tokens/s in training, {where} | hidden | by hand | `lamina.fit` |", "| --- | ---: | ---: | ---: |"]
        for r in record["rows"]:
            ours = f"{r['lamina']:,.0f}, {r['ratio']:.2f} x"
            lines.append(f"| {r['task']} | {r['hidden']} | {r['by_hand']:,.0f} | {ours} |")
        note = (
            "By hand: a PyTorch loop with nn.LSTM on the same batches; for the notes' GRU, which torch does not have, "
            "a loop over its steps; `benchmarks/tokens.py`."
        )
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def gradient_flow() -> str:
    """Tell what watching the gradients costs."""
    found = recorded("gradient_flow-cuda")
    if found is None:
        return ""
    rows = ["| one captured update, " + found["gpu"] + " | alone | watched | cost |", "| --- | ---: | ---: | ---: |"]
    for row in found["rows"]:
        alone, watched = row["microseconds_without"], row["microseconds_with"]
        cost = f"{row['ratio']:.3f} ± {row['spread']:.3f}"
        rows.append(f"| {row['network']} | {alone:.0f} µs | {watched:.0f} µs | {cost} |")
    every = found["rows"][0]["every"]
    note = f"`GradientFlowObserver` at its default, every {every} updates, batch {found['batch']}, float32"
    return "\n".join([*rows, "", f"{note}; `benchmarks/gradient_flow.py`."])


def pages() -> str:
    """Tell how long a reader of the live pages waits."""
    found = recorded("pages")
    if found is None:
        return ""
    rows = ["| live pages | median | longest |", "| --- | ---: | ---: |"]
    timed = [row for row in found["rows"] if "seconds" in row]
    rows += [f"| {row['what']} | {row['seconds']:.2f} s | {row['most']:.2f} s |" for row in timed]
    memory = next(row for row in found["rows"] if "before" in row)
    note = f"Chromium and the server on {found['cores']} cores, {found['pages']} pages"
    used = f"memory of the server {memory['before']:.0f} MB, with the visitors {memory['with']:.0f} MB"
    return "\n".join([*rows, "", f"{note}; {used}; `benchmarks/pages.py`."])


def _span(values: list[float]) -> str:
    return f"{min(values):.2%} to {max(values):.2%}"


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
    ("kmeans", kmeans),
    ("activations", activations),
    ("small_networks", small_networks),
    ("time_to_99", time_to_99),
    ("gru", gru),
    ("resnet", resnet),
    ("population", population),
    ("search_overhead", search_overhead),
    ("language", language),
    ("tokens", tokens),
    ("gradient_flow", gradient_flow),
    ("pages", pages),
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
