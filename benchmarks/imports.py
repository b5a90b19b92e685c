"""How long does it take before a user sees anything: `import lamina`, `lamina --help`, `lamina list`?

Each is a fresh process; the time of an empty interpreter is subtracted. Peers: `import torch`, `import sklearn`.
"""

import statistics
import subprocess
import sys
import time

from record import write

CASES = {
    "import lamina": "import lamina",
    "lamina --help": "from lamina.cli import app; app(['--help'], standalone_mode=False)",
    "lamina list": "from lamina.cli import app; app(['list'], standalone_mode=False)",
    "import torch": "import torch",
    "import sklearn": "import sklearn",
}


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(repeats: int = 9) -> None:
    seconds("pass")
    empty = statistics.median(seconds("pass") for _ in range(repeats))
    rows = []
    for name, statement in CASES.items():
        seconds(statement)  # warm-up: bytecode, file cache
        times = [seconds(statement) - empty for _ in range(repeats)]
        rows.append(
            {"what": name, "seconds": statistics.median(times), "spread": statistics.stdev(times), "n": repeats}
        )
        print(f"{name:16} {rows[-1]['seconds']:.3f} s ± {rows[-1]['spread']:.3f}")
    write("imports", rows)


if __name__ == "__main__":
    main()
