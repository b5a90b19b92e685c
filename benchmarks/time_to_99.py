"""How long does it take from a command to 99 % on MNIST: `lamina train lenet5`, process start to process end?

The official files lie on disk (`LAMINA_DATA`); each seed is a fresh process that imports, reads, splits off validation
data, trains, judges the test set once and writes its run folder with the report. One process goes first, unmeasured,
so that bytecode, file cache and compiled kernels are there, as they are on a machine that is used. A second kind of run
does the same through `lamina.fit` and says how long each part takes; it stands in for the command where that cannot
start because a package of the command line is missing.

python benchmarks/time_to_99.py --device cuda
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from record import FOLDER, write

EPOCHS = 10
OPTIONS = {"activation": "relu", "pooling": "max", "translate": 1}
OPTIONS |= {"batch_size": 256, "learning_rate": 0.006, "warmup": 0.15}
PARTS = """
import time
start = time.perf_counter()
parts = []
def mark(name):
    global start
    now = time.perf_counter()
    parts.append([name, now - start])
    start = now
import torch
mark("import torch")
import lamina
from lamina.training.executors.choose import learner
from lamina.training.fit import fit
from lamina.training.tasks.arrays import Arrays
from lamina.training.plan import plan
from lamina.training.runtime import Runtime
mark("import lamina")
job = plan("lenet5", "mnist", options=OPTIONS, epochs=EPOCHS, seed=SEED, out=OUT)
mark("read and split the data, build the network")
if DEVICE == "cuda":
    torch.zeros(1, device=DEVICE)
    mark("start CUDA")
stamps = []
def watch(event):
    if not stamps or event.row is not None:
        stamps.append(time.perf_counter())
run = fit(job.model, job.split, job.recipe, folder=OUT, observers=[watch], runtime=Runtime(DEVICE))
end = time.perf_counter()
parts += [["prepare the data, make the step, first update", stamps[0] - start], ["epochs", stamps[-1] - stamps[0]]]
parts.append(["save", end - stamps[-1]])
start = end
accuracy = run.evaluate().metrics["accuracy"]
mark("judge the test set")
import json
print(json.dumps({"test": {"accuracy": accuracy}, "parts": parts}))
"""


def command(seed: int, device: str, out: str) -> list[str]:
    settings = [word for key, value in OPTIONS.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "lenet5", "--data", "mnist", "--device", device, "--epochs", str(EPOCHS), "--seed", str(seed)]
    return [sys.executable, "-m", "lamina", *words, *settings, "--out", out, "--json"]


def script(seed: int, device: str, out: str) -> list[str]:
    values = {"OPTIONS": OPTIONS, "EPOCHS": EPOCHS, "DEVICE": device, "SEED": seed, "OUT": out}
    return [sys.executable, "-c", "".join(f"{name} = {value!r}\n" for name, value in values.items()) + PARTS]


def clocked(words: list[str]) -> tuple[float, dict]:
    start = time.perf_counter()
    found = subprocess.run(words, capture_output=True, encoding="utf-8")
    if found.returncode:
        raise RuntimeError(found.stderr)
    return time.perf_counter() - start, json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if _cuda() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--show", action="store_true", help="print the record too")
    options = parser.parse_args()
    if not os.environ.get("LAMINA_DATA"):
        print("skipped: MNIST is not here; run  lamina data get mnist  and set LAMINA_DATA")
        return
    rows, way, described = [], command, " ".join(command(0, options.device, "RUN")[2:])
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in some containers, whose every process compiles torch
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        try:
            clocked(command(1000, options.device, f"{folder}/first"))
        except RuntimeError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            print(f"the command line cannot start, lamina.fit is timed instead:\n{error}", file=sys.stderr)
            way, described = script, f"lamina.fit in a fresh process, as  {described}"
        clocked(script(1000, options.device, f"{folder}/second"))
        for seed in range(options.seeds):
            seconds, result = clocked(way(seed, options.device, f"{folder}/{seed}"))
            rows.append({"seed": seed, "seconds": seconds, "accuracy": result["test"]["accuracy"]})
            print(f"seed {seed}: {rows[-1]['accuracy']:.2%} after {seconds:.2f} s", flush=True)
        _, found = clocked(script(0, options.device, f"{folder}/parts"))
    for part, seconds in found["parts"]:
        print(f"{seconds:7.3f} s  {part}")
    median = statistics.median(row["seconds"] for row in rows)
    print(f"median {median:.2f} s, lowest accuracy {min(row['accuracy'] for row in rows):.2%}")
    name = "time_to_99-cuda" if options.device == "cuda" else "time_to_99"
    gpu = {"gpu": _gpu()} if options.device == "cuda" else {}
    write(name, rows, device=options.device, precision="float32", command=described, parts=found["parts"], **gpu)
    if options.show:
        print((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name()


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


if __name__ == "__main__":
    main()
