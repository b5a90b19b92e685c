"""The work of the page on ResNet18: the table of its stages for any choice of sizes.

The table of the notes' ResNet18 lies in `shipped/tables/resnet18.json`; this command writes it anew:

python -m lamina.pages.chapters.ch4.resnet18._work
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from lamina.architectures.build import build
from lamina.inspection.summary import summary

STORED = files("lamina.pages").joinpath("shipped").joinpath("tables").joinpath("resnet18.json")
STAGES = {"layer1": "B", "layer2": "C", "layer3": "D", "layer4": "E"}
CHOICES: dict[str, Any] = {
    "depth": 18,
    "block": "original",
    "stem": "imagenet",
    "channels": 3,
    "size": 224,
    "classes": 1000,
}
"""The choices of the notes."""


def stages(depth: int, block: str, stem: str, channels: int, size: int, classes: int) -> Iterator[dict[str, Any]]:
    """List what every part of a ResNet returns, how many parameters it has, what it costs and what it sees.

    >>> found = next(stages(18, "original", "cifar", 1, 28, 10))
    >>> found["parameters"], [row["parameters"] for row in found["rows"]][:2]
    (11172810, [576, 128])
    """
    network = build(f"resnet{depth}", block=block, stem=stem, inputs=(channels, size, size), outputs=classes)
    table = summary(network)
    rows = [
        {
            "part": row.name,
            "block": STAGES.get(row.name, "A" if row.name in ("conv1", "bn1", "maxpool") else ""),
            "kind": row.kind,
            "output": list(row.output[1:]),
            "parameters": row.parameters,
            "flops": row.flops,
            "sees": None if row.field is None or row.field.whole else row.field.size[0],
        }
        for row in table.shown(1)
        if row.name != "(itself)"
    ]
    yield {"rows": rows, "parameters": table.parameters, "flops": table.flops, "size": size}


@cache
def stored() -> dict[str, Any]:
    """Read the table of the notes' ResNet18.

    >>> stored()["parameters"]
    11689512
    """
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Compute the table and store it."""
    from pathlib import Path

    path = Path(str(STORED))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(next(stages(**CHOICES)), indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
