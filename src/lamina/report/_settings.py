"""How a run was made: recipe, network, preprocessing and environment as tables."""

from collections.abc import Sequence
from typing import Any

from lamina._tables import Table
from lamina.report._commands import changes, stretches
from lamina.report._formatting import duration, number, plain, shape
from lamina.report._record import Record


def recipe(record: Record) -> Table:
    """List the recipe under the names that `--set` takes, and in what those of earlier stretches differed."""
    *before, last = stretches(record.config)
    rows = [(key, record.clean(plain(value))) for key, value in last.items()]
    for place, flat in zip(record.config.get("earlier", {}).values(), before, strict=True):
        other = (f"{key} {plain(value)}" for key, value in changes(last, flat).items() if key != "since")
        rows.append((f"up to update {number(place['step'])}", record.clean(", ".join(other))))
    return _pairs(rows, "option")


def architecture(record: Record) -> Table:
    """List the network's own options."""
    stored = record.config["architecture"]
    rows = [("network", str(stored.get("code") or stored.get("network")))]
    return _pairs([*rows, *((key, plain(value)) for key, value in stored.get("config", {}).items())], "option")


def preprocess(record: Record) -> Table | None:
    """Say what is done to an example before the network sees it."""
    fitted = record.preprocess
    if fitted is None:
        return None
    spec = fitted["spec"]
    if "vocabulary" in fitted and "steps" not in fitted:
        return _pairs(
            [*_dictionaries(fitted), *(("note", record.clean(str(n))) for n in spec.get("notes", ()))], "what"
        )
    if "each" in fitted:
        rows = [(name, f"{shape(size)} ({kind}), {how}") for name, size, kind, how in fitted["each"]]
        return _pairs([*rows, *_targets(fitted)], "input")
    rows = [
        ("examples", str(spec["kind"])),
        ("stored shape", shape(spec["inputs"])),
        ("prepared shape", shape(fitted["inputs"])),
    ]
    if spec["kind"] == "image" and list(fitted["kept"][1:]) != list(spec["inputs"][1:]):
        ways = {"fit": "scaled to fit, padded with 0", "crop": "cropped to the middle", "stretch": "stretched"}
        rows.append(("resizing", ways.get(fitted["resize"], str(fitted["resize"]))))
    if spec["kind"] != "table" and 0 < len(fitted["mean"]) <= 4:
        rows += [("mean", _numbers(fitted["mean"])), ("standard deviation", _numbers(fitted["std"]))]
    elif spec["kind"] != "table" and fitted["mean"]:
        rows.append(("standardized", f"each of {number(len(fitted['mean']))} components"))
    rows += _targets(fitted)
    if "steps" in fitted:
        rows += [_dictionary("dictionary", fitted["vocabulary"]), ("longest text", f"{fitted['steps']} entries")]
    rows += [("note", record.clean(str(note))) for note in spec.get("notes", ())]
    return _pairs(rows, "what")


def _targets(fitted: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how real targets were standardized."""
    return [
        (name, _numbers(fitted[key]) if len(fitted[key]) <= 4 else f"{len(fitted[key])} numbers")
        for name, key in (("target mean", "target_mean"), ("target standard deviation", "target_std"))
        if fitted[key]
    ]


def _dictionaries(fitted: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how texts become words, and how many there are."""
    rows = [("examples", str(fitted["spec"]["kind"]))]
    for key, name in (("vocabulary", "dictionary"), ("answer_vocabulary", "dictionary of the answers")):
        if fitted[key] is not None:
            rows.append(_dictionary(name, fitted[key]))
    return [*rows, *([("longest text", f"{fitted['longest']} entries")] if fitted["longest"] else [])]


def _dictionary(name: str, vocabulary: dict[str, Any]) -> tuple[str, str]:
    wording = vocabulary["wording"]
    folded = ", without capital letters" if wording["fold"] else ""
    return name, f"{number(len(vocabulary['words']))} entries, level {wording['level']}{folded}"


def columns(record: Record) -> Table | None:
    """List what was fitted to each column of a table."""
    fitted = record.preprocess
    if fitted is None or fitted["spec"]["kind"] != "table":
        return None
    spec = fitted["spec"]
    moments = iter(zip(fitted["mean"], fitted["std"], strict=True))
    rows = []
    for j, (name, levels) in enumerate(zip(spec["features"], spec["levels"], strict=True)):
        parts = fitted["parts"][j]
        gap = "filled in and marked" if fitted["missing"] and fitted["missing"][j] else "none"
        if levels:
            known = [str(levels[i]) for i in fitted["seen"][j]]
            shown = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
            rare = len(fitted["pooled"][j])
            shown = "; ".join([*([shown] if known else []), *([f"{number(rare)} rare ones as other"] if rare else [])])
            rows.append((str(name), f"category: {shown}", "", "", gap))
        elif parts:
            rows.append((str(name), f"date ({spec['dates'][j]}): {', '.join(parts)}", "", "", gap))
        else:
            mean, std = next(moments)
            rows.append((str(name), "number", number(mean), number(std), gap))
    return Table(("column", "kind", "mean", "standard deviation", "missing values"), tuple(rows), (2, 3))


def environment(record: Record) -> Table | None:
    """List versions, device and flags, and when and how long the run trained."""
    rows = [(key, record.clean(plain(value))) for key, value in (record.environment or {}).items()]
    if record.seconds is not None:
        rows.append(("training time", duration(record.seconds)))
    if record.ended is not None:
        rows.append(("last check", f"{record.ended:%Y-%m-%d %H:%M} UTC"))
    return _pairs(rows, "what") if rows else None


def _numbers(values: Sequence[Any]) -> str:
    return ", ".join(number(value) for value in values)


def _pairs(rows: Sequence[tuple[str, str]], head: str) -> Table:
    return Table(
        (head, "value"),
        tuple((key.replace("_", " ") if head == "what" else key, value) for key, value in rows),
        (),
        (0,) if head == "option" else (),
    )
