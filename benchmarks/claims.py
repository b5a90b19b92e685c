"""Do the claims of all experiments hold with seeds that had no part in choosing them?

Every experiment that draws runs with 20 seeds from 2000 on, the others once. The bounds of the claims were chosen on
the seeds 1000 to 1029. Nothing is timed. With names or ids, only those are run again and the other rows stay.

python benchmarks/claims.py [NAME ...]
"""

import json
import math
import sys
from typing import Any

import record
import torch

from lamina.experiments import registry
from lamina.experiments.result import drawing_from

FIRST, COUNT = 2000, 20


def row(ids: list[str], function: Any) -> dict[str, Any]:
    options = drawing_from(function, range(FIRST, FIRST + COUNT))
    result = function(**options)
    claims = [
        {
            "sentence": claim.sentence,
            "holds": bool(claim.holds),
            "numbers": {name: value if math.isfinite(value) else None for name, value in claim.numbers.items()},
        }
        for claim in result.claims
    ]
    seeds = [FIRST, FIRST + COUNT - 1] if "seeds" in options else list(options.values())
    return {"ids": ids, "experiment": function.__name__, "seeds": seeds, "claims": claims}


def main() -> None:
    torch.set_num_threads(1)
    found: dict[Any, list[str]] = {}
    for key, function in registry().items():
        found.setdefault(function, []).append(key)
    stored, wanted = record.FOLDER / "claims.json", sys.argv[1:]
    old = (
        {each["experiment"]: each for each in json.loads(stored.read_text(encoding="utf-8"))["rows"]}
        if stored.exists()
        else {}
    )
    rows = {}
    for function, ids in found.items():
        name = function.__name__
        chosen = not wanted or name in wanted or set(ids) & set(wanted)
        if not chosen and name not in old:
            continue
        rows[name] = row(ids, function) if chosen else old[name]
        if chosen:
            failed = [claim["sentence"] for claim in rows[name]["claims"] if not claim["holds"]]
            print(ids[0], name, "holds" if not failed else f"FAILS: {failed}", flush=True)
            record.write("claims", [*rows.values(), *(old[n] for n in old if n not in rows)])
    every = [claim for each in rows.values() for claim in each["claims"]]
    print(f"{sum(claim['holds'] for claim in every)} of {len(every)} claims hold in {len(rows)} experiments")


if __name__ == "__main__":
    main()
