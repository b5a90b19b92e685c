"""Write the tables of README.md and of pages of docs/ from code and benchmark records.

    python tools/readme.py           # exit 1 if a table is out of date
    python tools/readme.py --write

A ratio is always a speed: how many times as fast as the reference that the head of the table names. Each claim has one
record; what the README shows is a row of a table of docs/benchmarks.md.
"""

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]
import fault_tables  # noqa: E402

from lamina.architectures.table import TABLE  # noqa: E402


def recorded(name: str) -> dict[str, Any] | None:
    """Read what a benchmark wrote, if it was run."""
    path = ROOT / f"benchmarks/records/{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def times(ratio: float, spread: float | None = None) -> str:
    """Write a speed beside that of a reference."""
    shown = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2f}"
    around = "" if spread is None else f" ± {spread:,.0f}" if ratio >= 100 else f" ± {spread:.2f}"
    return f"{shown}{around} ×"


def faster(time: float, spread: float | None = None) -> str:
    """Write a speed, given the time beside that of the reference."""
    return times(1 / time, None if spread is None else spread / time**2)


def highlights() -> str:
    """Show six results with the machine that each needs: the table of the README."""
    rows = [
        *(_update(name, who) for name, who in (("", "eager"), ("-cuda", "captured"))),
        _stack(),
        _notes_gru(),
        _deep(),
        _mnist(),
    ]
    head = "| what | compared with | Lamina | speed | hardware |"
    return "\n".join([head, "| --- | --- | ---: | ---: | --- |", *(f"| {' | '.join(row)} |" for row in rows)])


def _update(name: str, how: str) -> tuple[str, ...]:
    record = _needed(f"small_networks{name}")
    adam = "fused" if record["device"] == "cpu" else "default"
    row = next(r for r in record["rows"] if (r["network"], r["who"]) == ("lenet5", f"lamina.fit, {how}"))
    where = record.get("gpu", f"{record.get('threads')} CPU threads")
    took = f"{row['microseconds']:,.0f} µs"
    return "one update of LeNet-5, batch 128", "plain PyTorch", took, times(row[f"times_{adam}"]), where


def _stack() -> tuple[str, ...]:
    record = _needed("population-cuda")
    row = next(r for r in record["rows"] if r["members"] == 1024 and r["who"] != "alone")
    what = f"one update of 1,024 networks {row['what'].removeprefix('FNN ')}"
    return what, "one after another", f"{row['milliseconds']:.2f} ms", times(row["speedup"]), record["device"]


def _notes_gru() -> tuple[str, ...]:
    record = _needed("gru-cuda")
    wanted = (128, 128, 512, "float32", "lamina", "called")
    keys = ("time", "batch", "hidden", "precision", "who", "how")
    row = next(r for r in record["rows"] if tuple(r[key] for key in keys) == wanted)
    what = "GRU of the notes, 128 steps of 512 units, batch 128, forward and backward"
    return what, "`nn.GRU` (cuDNN)", f"{row['milliseconds']:.2f} ms", faster(row["ratio"]), record["device"]


def _deep() -> tuple[str, ...]:
    record = _needed("resnet")
    row = next(r for r in record["rows"] if (r["network"], r["batch"], r["who"]) == ("ResNet-18", 512, "Lamina"))
    shown = f"{row['pictures_per_s']:,.0f} /s"
    return "pictures of 32×32 through updates of ResNet-18", "plain PyTorch", shown, times(row["ratio"]), record["gpu"]


def _mnist() -> tuple[str, ...]:
    record = _needed("time_to_99-cuda")
    seconds = statistics.median(r["seconds"] for r in record["rows"])
    span = _span([r["accuracy"] for r in record["rows"]])
    return f"LeNet-5 on MNIST, whole process, test accuracy {span}", "–", f"{seconds:.1f} s", "–", _gpu(record)


def _gpu(record: dict[str, Any]) -> str:
    return record.get("gpu", "one NVIDIA GPU")  # the record of 2026-11 does not say which


def _needed(name: str) -> dict[str, Any]:
    record = recorded(name)
    if record is None:
        raise SystemExit(f"benchmarks/records/{name}.json is missing: the README shows a row of it.")
    return record


def architectures() -> str:
    """List every architecture with its place and size."""
    rows = [f"| `{e.name}` | {e.title} | {e.place} | {e.parameters:,} |" for e in TABLE.values()]
    return "\n".join(["| name | architecture | notes | parameters |", "| --- | --- | --- | ---: |", *rows])


def imports() -> str:
    """Show how long one waits before anything appears."""
    record = _needed("imports")
    rows = [f"| `{r['what']}` | {r['seconds']:.3f} ± {r['spread']:.3f} |" for r in record["rows"]]
    versions = ", ".join(f"{name} {number}" for name, number in record["packages"].items())
    count = record["rows"][0]["n"]
    note = f"Median of {count} fresh processes, an empty one subtracted; {versions}; `benchmarks/imports.py`."
    return "\n".join(["| what | seconds |", "| --- | ---: |", *rows, "", note])


def accuracy() -> str:
    """Show test accuracies over seeds."""
    record = _needed("accuracy")
    lines = ["| command | test accuracy | seeds | seconds per run |", "| --- | ---: | ---: | ---: |"]
    for r in record["rows"]:
        lines.append(f"| `{r['command']}` | {r['mean']:.2%} ± {r['spread']:.2%} | {r['n']} | {r['seconds']:.0f} |")
    return "\n".join([*lines, "", f"{record['threads']} CPU threads, {record['machine']}; `benchmarks/accuracy.py`."])


def kmeans() -> str:
    """Compare k-means with scikit-learn, on CPU and GPU."""
    lines = ["| k-means | who | seconds | speed, times scikit-learn |", "| --- | --- | ---: | ---: |"]
    notes = []
    for record in filter(None, map(recorded, ("kmeans", "kmeans-cuda"))):
        where = f"{record['threads']} CPU threads"
        where += f", {record['device']}" if record["device"] != "cpu" else ""
        for r in record["rows"]:
            cells = f"{r['seconds']:.3f} ± {r['seconds_spread']:.3f} | {times(r['faster'], r['spread'])}"
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
    """Compare activations with ReLU."""
    if (record := recorded("activations")) is None:
        return ""
    columns = list(dict.fromkeys((r["size"], r["part"]) for r in record["rows"]))
    found = {(r["activation"], r["size"], r["part"]): r for r in record["rows"]}
    heads = [f"{part}, {size}" for size, part in columns]
    lines = [f"| speed, times ReLU | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for name in dict.fromkeys(r["activation"] for r in record["rows"]):
        cells = [found.get((name, *column)) for column in columns]
        shown = [faster(c["of_relu"], c["spread"]) if c else "–" for c in cells]
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
        where = record.get("gpu", f"{record.get('threads')} CPU threads")
        head = f"one update on {where}; speed, times plain PyTorch with {adam} Adam"
        lines = [f"| {head} | FNN 784-128-10 | LeNet-5 |", "| --- | ---: | ---: |"]
        for who, precision in dict.fromkeys((r["who"], r["precision"]) for r in record["rows"]):
            cells = [found.get((kind, who, precision)) for kind in ("fnn", "lenet5")]
            shown = [f"{c['microseconds']:,.0f} µs, {times(c[f'times_{adam}'])}" if c else "–" for c in cells]
            lines.append(f"| {who}, {precision} | {shown[0]} | {shown[1]} |")
        setups = [r["setup_seconds"] for r in record["rows"] if "step alone" in r["who"] and "eager" not in r["who"]]
        note = (
            f"Batch {record['batch']}, Adam, the same TF32 policy on both sides; preparing our step took up to "
            f"{max(setups, default=0):.1f} s; median of {record['rows'][0]['n']} rounds; "
            f"torch {record['packages']['torch']}; `benchmarks/small_networks.py`."
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
    note = f"`{record['command']}`; {record['precision']}, {_gpu(record)}; `benchmarks/time_to_99.py`."
    return "\n".join([*lines, "", note])


def gru() -> str:
    """Show forward and backward of the notes' GRU against torch's other GRU."""
    blocks = []
    for record in filter(None, map(recorded, ("gru", "gru-cuda"))):
        found = {(r["time"], r["batch"], r["hidden"], r["precision"], r["who"], r["how"]): r for r in record["rows"]}
        hows = list(dict.fromkeys(r["how"] for r in record["rows"] if r["who"] == "lamina"))
        where = record["device"] if "cuda" in record["benchmark"] else f"{record['threads']} CPU threads"
        lines = [f"| (T, B, H), {where} | precision | {' | '.join(f'{h}; speed, times nn.GRU' for h in hows)} |"]
        lines.append("| --- | --- |" + " ---: |" * len(hows))
        for size in dict.fromkeys(key[:4] for key in found):
            cells = [found.get((*size, "lamina", how)) for how in hows]
            shown = [f"{c['milliseconds']:.2f} ms, {faster(c['ratio'], c['spread'])}" if c else "–" for c in cells]
            lines.append(f"| ({size[0]}, {size[1]}, {size[2]}) | {size[3]} | {' | '.join(shown)} |")
        note = "The notes' GRU, forward and backward, compared with nn.GRU in the same precision; `benchmarks/gru.py`."
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def resnet() -> str:
    """Show how many pictures per second ResNets train on."""
    if (record := recorded("resnet")) is None:
        return ""
    lines = [
        f"| updates, {record['gpu']} | batch | plain PyTorch | Lamina; speed, times plain PyTorch | first update |"
    ]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    found = {(r["network"], r["batch"], r["who"]): r for r in record["rows"]}
    for network, batch in dict.fromkeys(key[:2] for key in found):
        plain, ours = (found[network, batch, who] for who in ("plain PyTorch", "Lamina"))
        lines.append(
            f"| {network} | {batch} | {plain['pictures_per_s']:,.0f} pictures/s | "
            f"{ours['pictures_per_s']:,.0f} pictures/s, {times(ours['ratio'])} | {ours['first_update_s']:.1f} s |"
        )
    note = f"{record['dtype']}, channels-last on both sides; `benchmarks/resnet.py`."
    return "\n".join([*lines, "", note])


def population() -> str:
    """Show how much faster many networks train together than one after another."""
    blocks = []
    for record in filter(None, map(recorded, ("population", "population-cuda"))):
        where = f"{record['threads']} CPU threads" if record["device"] == "cpu" else record["device"]
        lines = [f"| networks at once, {where} | | one update of all | speed, times one after another |"]
        lines.append("| --- | ---: | ---: | ---: |")
        for r in record["rows"]:
            if r["who"] != "alone":
                who = "" if r["who"] == "population" else f" ({r['who']})"
                lines.append(
                    f"| {r['what']}{who} | {r['members']} | {r['milliseconds']:.2f} ms | "
                    f"{times(r['speedup'], r['spread'])} |"
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
    lines = ["| search | ms per trivial trial | trials |", "| --- | ---: | ---: |"]
    lines += [f"| {r['who']} | {r['milliseconds']:.2f} ± {r['spread']:.2f} | {r['trials']} |" for r in record["rows"]]
    return "\n".join([*lines, "", "`benchmarks/search_overhead.py`."])


def scaling() -> str:
    """Show what was predicted for some ranks beside what they took."""
    if (record := recorded("scaling")) is None:
        return ""
    head = "| network | ranks | batch per rank | predicted, ms per update | measured, ms per update | error |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for r in record["rows"]:
        shown = f"{r['predicted_ms']:.1f} | {r['measured_ms']:.1f} | {r['error']:+.0%}"
        lines.append(f"| {r['network']} | {r['ranks']} | {r['batch_per_rank']} | {shown} |")
    where = f"{record['cores']} cores, one thread per rank, float32, gloo over loopback"
    return "\n".join([*lines, "", f"{where}; `benchmarks/scaling.py`."])


def gridsearch() -> str:
    """Show how long a grid search with cross-validation takes beside its peer."""
    if (record := recorded("gridsearch")) is None:
        return ""
    lines = ["| grid search, one CPU thread | CPU seconds | best score |", "| --- | ---: | ---: |"]
    lines += [f"| {r['who']} | {r['cpu_seconds']:.1f} | {r['score']:.3f} ± {r['spread']:.3f} |" for r in record["rows"]]
    note = (
        f"Digits, {record['configurations']} configurations x {record['folds']} folds, {record['epochs']} epochs each; "
        f"ratio {record['cpu_ratio']:.0f} in CPU time and {record['ratio']:.0f} by the clock of a shared machine; "
        "`benchmarks/gridsearch.py`."
    )
    return "\n".join([*lines, "", note])


def tables() -> str:
    """Compare networks for tables with scikit-learn's MLP."""
    record = _needed("tables")
    columns = ("table", "rows × columns", "measure", "`lamina train fnn`", "best MLP", "ahead of it", "linear",
               "seconds; speed, times that MLP")  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for r in record["rows"]:
        means, measure = r["means"], r["measure"]
        cells = [
            r["table"] if r["bar"] else f"*{r['table']}*",
            f"{r['rows']:,} × {r['columns']}",
            "R²" if measure == "r2" else measure,
            _shown(measure, means["lamina"]),
            f"{_shown(measure, means[r['peer']])} ({r['peer']})",
            f"{_shown(measure, r['ahead'])} ± {_shown(measure, r['standard_error'])}",
            _shown(measure, means["linear"]),
            f"{r['seconds']['lamina']:.1f}; {times(r['speed'])}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    behind = [r["table"] for r in record["rows"] if r["ahead"] < -r["standard_error"]]
    note = (f"Behind by more than one standard error: {', '.join(behind)}. " if behind else "") + (
        f"Means over {record['rows'][0]['n']} seeds; ± is the standard error of the mean paired difference. Each seed "
        "divides the rows 4:1:1; Lamina trains on the first part and watches the second, scikit-learn gets both, "
        "scaled; all are judged on the third. The best MLP has the best mean on the test rows of `MLPClassifier` or "
        "`MLPRegressor` with 200 iterations, with 2,000, and with 2,000 and early stopping; the record has all of "
        "them. friedman1 and the tables in italics are generated. The recipe was chosen on other tables, among them "
        "friedman1 with other seeds, but changed after a first look at diabetes, digits and, twice, friedman1; the "
        "tables in italics played no part. One CPU thread of a busy machine; `benchmarks/tables.py`."
    )
    return "\n".join([*lines, "", note])


def ensembles() -> str:
    """Compare ensembles for tables with one network."""
    if (record := recorded("ensembles")) is None:
        return ""
    members = record["members"]
    columns = ("table", "measure", "one network", f"mean of {members}", "ahead", "seeds", "seconds of one",
               f"time of {members}, times that of one", "in CPU time")  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for r in record["rows"]:
        measure = r["measure"]
        error = "" if r["standard_error"] is None else f" ± {_shown(measure, r['standard_error'])}"
        cells = [
            r["table"],
            "R²" if measure == "r2" else measure,
            *(_shown(measure, mean) for mean in r["means"]),
            f"{_shown(measure, r['ahead'])}{error}",
            str(r["n"]),
            f"{r['seconds'][0]:.1f}",
            f"{r['times']:.1f}",
            f"{r['cpu_times']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    worse = [r["table"] for r in record["rows"] if r["ahead"] < -(r["standard_error"] or 0)]
    longer = [r["table"] for r in record["rows"] if r["times"] > 3]
    missed = f"Behind by more than one standard error: {', '.join(worse)}. " if worse else ""
    missed += f"More than 3 times as long: {', '.join(longer)}. " if longer else ""
    note = missed + (
        "`NetworkClassifier` and `NetworkRegressor` beside `EnsembleClassifier` and `EnsembleRegressor` with "
        f"{members} members, all with their defaults; ± is the standard error of the mean paired difference over "
        "seeds, each of which sets another sixth of the rows aside for testing. "
        f"Up to {record['threads']} CPU threads of a busy machine, OMP_WAIT_POLICY {record['waiting']}; "
        "`benchmarks/ensembles.py`."
    )
    return "\n".join([*lines, "", note])


def own_tables() -> str:
    """Compare networks with boosted trees on published tables of mixed columns."""
    if (record := recorded("own_tables")) is None:
        return ""
    members, peers = record["members"], record["peers"]
    rows = [r for r in record["rows"] if r["n"] > 1]  # else nothing is known about the spread
    columns = ("table", "rows, of them with gaps", "columns, of them categories", "measure", "`lamina train fnn`",
               f"mean of {members}", "boosted trees", f"mean of {peers} MLPs", "linear", f"{members} ahead of one",
               f"{members} ahead of trees", "seeds")  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", "| --- | ---: | ---: | --- |" + " ---: |" * 8]
    for r in rows:
        measure = r["measure"]
        cells = [
            r["table"],
            f"{r['rows']:,}, {r['gaps']:,}",
            f"{r['columns']}, {r['categories']}",
            "R²" if measure == "r2" else measure,
            *(_shown(measure, r["means"][who]) for who in ("one", "ensemble", "trees", "mlps", "linear")),
            *(" ± ".join(_shown(measure, x) for x in r["ensemble_ahead"][who]) for who in ("one", "trees")),
            str(r["n"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    behind = {
        who: [r["table"] for r in rows if r["ensemble_ahead"][who][0] < -r["ensemble_ahead"][who][1]]
        for who in ("one", "trees")
    }
    said = "".join(
        f"The {members} networks are behind {whom} by more than one standard error: {', '.join(behind[who])}. "
        for who, whom in (("one", "one network"), ("trees", "the trees"))
        if behind[who]
    )
    sources = sorted({r["package"].partition("==")[0] for r in rows}, key=str.lower)
    note = said + (
        "Means over seeds; ± is the standard error of the mean paired difference. Each seed divides the rows 4:1:1; "
        "`lamina train fnn` trains on the first part and watches the second, the others get both, all are judged on "
        f"the third. The mean of {members} is that of `EnsembleClassifier` or `EnsembleRegressor`. The others are "
        "scikit-learn's: HistGradientBoosting with categories and gaps as they are; the mean of "
        f"{peers} MLPs with early stopping (Bagging, on all rows each), and LogisticRegression or Ridge, these two on "
        "one-hot codes and standardized numbers, with gaps filled and marked. All else are defaults, and no recipe was "
        f"chosen on these tables. They come from packages of PyPI ({', '.join(sources)}); `benchmarks/own_tables.py`."
    )
    return "\n".join([*lines, "", note])


def _shown(measure: str, value: float) -> str:
    return f"{value:.4f}" if measure == "r2" else f"{value:.1%}"


def language() -> str:
    """Show what recurrent networks reach on real texts, with both GRUs."""
    shown = {
        "multi30k": (
            "BLEU, lower-cased",
            lambda r: f"{r['mean']:.1f} ± {r['spread']:.1f} (cased {r['bleu_beams']:.1f})",
        ),
        "tinyshakespeare": ("nats per character", lambda r: f"{r['mean']:.3f} ± {r['spread']:.3f}"),
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
    """Show training tokens per second beside hand-written loops."""
    blocks = []
    for record in filter(None, map(recorded, ("tokens", "tokens-cuda"))):
        where = f"{record['threads']} CPU thread" if record["device"] == "cpu" else record["device"]
        head = f"| tokens/s in training, {where} | hidden | plain loop | `lamina.fit`; speed, times plain loop |"
        lines = [head, "| --- | ---: | ---: | ---: |"]
        for r in record["rows"]:
            ours = f"{r['lamina']:,.0f}, {times(r['ratio'])}"
            lines.append(f"| {r['task']} | {r['hidden']} | {r['by_hand']:,.0f} | {ours} |")
        note = (
            "Plain loop: a PyTorch loop with nn.LSTM on the same batches; for the notes' GRU, which torch does not "
            "have, "
            "a loop over its steps; `benchmarks/tokens.py`."
        )
        blocks.append("\n".join([*lines, "", note]))
    return "\n\n".join(blocks)


def gradient_flow() -> str:
    """Tell what watching the gradients costs."""
    found = recorded("gradient_flow-cuda")
    if found is None:
        return ""
    rows = [
        "| one captured update, " + found["gpu"] + " | alone | watched | speed, times alone |",
        "| --- | ---: | ---: | ---: |",
    ]
    for row in found["rows"]:
        alone, watched = row["microseconds_without"], row["microseconds_with"]
        speed = faster(row["ratio"], row["spread"])
        rows.append(f"| {row['network']} | {alone:.0f} µs | {watched:.0f} µs | {speed} |")
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


TELLING = "lenet5-mnist", "alexnet-cifar10-bn", "resnet18-cifar10-94", "resnet18-cifar10-96", "resnet18-fashion"


def telling() -> str:
    """Show five rows of the results: the second table of the README."""
    from results import rows

    lines = ["| one command each | test set, % | seeds | published | training |", "| --- | ---: | ---: | --- | ---: |"]
    for row in map(rows().__getitem__, TELLING):
        found = json.loads((ROOT / f"results/records/{row['name']}.json").read_text(encoding="utf-8"))
        value = f"{found['shows']} {found['mean']:.2f} ± {found['std']:.2f}"
        lines.append(f"| {row['title']} | {value} | {found['n']} | {row['published']} | {found['training']:.1f} s |")
    return "\n".join(lines)


GROWING = {
    "members": "an update of K networks 64-32-10, batch 64",
    "depth": "an update of a pre-activation ResNet, pictures of 32×32, batch 8",
    "length": "an update of a GRU of 64 units along T steps, batch 16",
    "examples": "an epoch of 10-64-64-2 over N rows, batch 1000",
}


def growth() -> str:
    """Show how time and memory grow with size: the largest size of each question, and the fitted exponents."""
    record = _needed("growth")
    lines = [
        "| what | sizes | who | time at the largest; speed, times plain PyTorch | memory there | time grows as "
        "| memory grows as |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for fit in record["exponents"]:
        rows = [r for r in record["rows"] if (r["question"], r["who"]) == (fit["question"], fit["who"])]
        least, most = min(r["size"] for r in rows), max(rows, key=lambda r: r["size"])
        powers = ("–" if fit[cost] is None else f"size^{fit[cost]:.2f}" for cost in ("time", "memory"))
        lines.append(
            f"| {GROWING[fit['question']]} | {least:,} to {most['size']:,} | {fit['who']} | "
            f"{1e3 * most['seconds']:,.0f} ms, {times(most['speed'])} | {most['bytes'] / 2**20:,.0f} MiB | "
            f"{' | '.join(powers)} |"
        )
    note = f"{record['threads']} CPU thread, {record['dtype']}; exponents are fitted to the upper half of the sizes"
    return "\n".join([*lines, "", f"{note}; `benchmarks/growth.py`."])


def results() -> str:
    """Show what networks reach on published data, beside what was published."""
    from results import rows

    lines = ["| network and data | test set, % | n | published | command | training | joules |",
             "| --- | ---: | ---: | --- | ---: | ---: | ---: |"]  # fmt: skip
    below = []
    for row in rows().values():
        found = json.loads((ROOT / f"results/records/{row['name']}.json").read_text(encoding="utf-8"))
        spread = "" if found["std"] is None else f" ± {found['std']:.2f}"
        value = f"{found['shows']} {found['mean']:.2f}{spread}"
        joules = "–" if found["joules"] is None else f"{found['joules']:,.0f}"
        cells = row["title"], value, str(found["n"]), row["published"], f"{found['seconds']:.0f} s"
        lines.append(f"| {' | '.join(cells)} | {found['training']:.1f} s | {joules} |")
        about = f" {row['about'][0].upper()}{row['about'][1:]}." if "about" in row else ""
        where = f"{found['device']}, torch {found['packages']['torch']}"
        below.append(f"- **{row['name']}**: `{row['command']}`; {where}.{about}")
    return "\n".join([*lines, "", *below])


def comparisons() -> str:
    """Show what one choice changes: the configurations of populations, seed by seed beside the best of them."""
    from results import rows

    lines = ["| comparison | configuration | validation accuracy, % | behind the best, points | n |",
             "| --- | --- | ---: | ---: | ---: |"]  # fmt: skip
    below = []
    for row in rows("comparison").values():
        found = json.loads((ROOT / f"results/records/{row['name']}.json").read_text(encoding="utf-8"))
        best = max((each["scores"] for each in found["rows"]), key=statistics.mean)
        title = row["title"]
        for each in found["rows"]:
            scores, n = each["scores"], len(each["scores"])
            apart = [first - second for first, second in zip(best, scores, strict=True)]
            behind = f"{100 * statistics.mean(apart):.2f} ± {100 * statistics.stdev(apart) / n**0.5:.2f}"
            values = ", ".join(f"{name} {value}" for name, value in each["values"].items())
            accuracy = f"{100 * statistics.mean(scores):.2f} ± {100 * statistics.stdev(scores):.2f}"
            lines.append(f"| {title} | {values} | {accuracy} | {'best' if scores is best else behind} | {n} |")
            title = ""
        below.append(f"- **{row['name']}**: `{row['command']}`; torch {found['packages']['torch']}.")
    return "\n".join([*lines, "", *below])


def _span(values: list[float]) -> str:
    return f"{min(values):.2%} to {max(values):.2%}"


def filled(text: str) -> str:
    """Put each table between its marks."""
    for name, make in TABLES:
        pattern = rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: f"{m[1]}{make()}\n{m[2]}", text, flags=re.DOTALL)
    return text


PAGES = (
    ROOT / "README.md",
    *(ROOT / f"docs/{name}.md" for name in ("benchmarks", "results", "architectures", "scale", "faults")),
)
TABLES = (
    ("highlights", highlights),
    ("architectures", architectures),
    ("imports", imports),
    ("accuracy", accuracy),
    ("tables", tables),
    ("ensembles", ensembles),
    ("own_tables", own_tables),
    ("kmeans", kmeans),
    ("activations", activations),
    ("small_networks", small_networks),
    ("time_to_99", time_to_99),
    ("gru", gru),
    ("resnet", resnet),
    ("population", population),
    ("search_overhead", search_overhead),
    ("scaling", scaling),
    ("gridsearch", gridsearch),
    ("language", language),
    ("tokens", tokens),
    ("gradient_flow", gradient_flow),
    ("pages", pages),
    ("results", results),
    ("comparisons", comparisons),
    ("telling", telling),
    ("growth", growth),
    *fault_tables.tables(recorded),
)


def main() -> int:
    """Report, or write."""
    wrong = []
    for path in PAGES:
        old = path.read_text(encoding="utf-8")
        new = filled(old)
        if "--write" in sys.argv:
            path.write_text(new, encoding="utf-8")
        elif old != new:
            wrong.append(f"{path.relative_to(ROOT)} has an out-of-date table: run  make catalogue")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
