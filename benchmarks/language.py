"""What the benchmarks of real texts share: train by the recipe that `lamina train` takes, over seeds and both GRUs.

Each run is a fresh process that does what the command in its row says: load, split, fit with validation after each
epoch, keep the best weights, judge the test part. The GRU of the notes (reset before the product) and torch's (reset
after it) differ in nothing else. The first seed runs alone, and its seconds count; with `--parallel N` the others share
the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from record import FOLDER, write

RESETS = ("before", "after")
BEAMS = 5


@dataclass(frozen=True)
class Question:
    """One data set with the network that reads it, and the number that counts."""

    name: str
    architecture: str
    measure: str

    def command(self, seed: int | str, reset: str) -> str:
        said = "" if reset == "before" else f" --set reset={reset}"
        return f"lamina train {self.architecture} --data {self.name} --device cuda --seed {seed}{said}"


def train(question: Question, seed: int, reset: str, device: str, epochs: int | None) -> dict[str, Any]:
    """Train and judge once, in this process."""
    start = time.perf_counter()
    import torch

    from lamina.training.fit import fit
    from lamina.training.plan import plan
    from lamina.training.runtime import Runtime

    if device == "cpu":
        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        job = plan(
            question.architecture,
            question.name,
            options={"reset": reset},
            epochs=epochs,
            seed=seed,
            out=f"{folder}/run",
        )
        ready = time.perf_counter()
        run = fit(job.model, job.task, job.recipe, folder=job.folder, runtime=Runtime(device))
        fitted = time.perf_counter()
        metrics = run.evaluate().metrics
        if question.name == "multi30k":
            metrics |= bleus(run, job.split)
        best = min(run.rows, key=lambda row: row["validation_loss"])
        environment = json.loads((run.folder / "environment.json").read_text(encoding="utf-8"))
    return {
        "seed": seed,
        "reset": reset,
        **{name: float(value) for name, value in metrics.items()},
        "validation_loss": best["validation_loss"],
        "best_epoch": best["epoch"],
        "epochs": len(run.rows),
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "step": environment["step"],
        "prepare_seconds": ready - start,
        "seconds": fitted - ready,
    }


def bleus(run: Any, split: Any) -> dict[str, float]:
    """Translate the test part with beams."""
    from lamina.data.text.texts import answers_of, texts_of
    from lamina.functional.translation_metrics import bleu, chrf

    test = split.open_test()
    written, wanted = run.predict(texts_of(test), beams=BEAMS).texts, answers_of(test)
    return {
        "bleu_beams": bleu(written, wanted).score,
        "bleu_beams_lowercase": bleu(written, wanted, lowercase=True).score,
        "chrf_beams": chrf(written, wanted).score,
    }


def together(words: list[list[str]], parallel: int) -> list[dict[str, Any]]:
    """Run commands, so many at a time; what each printed last."""
    waiting, going, found = list(enumerate(words)), {}, {}
    while waiting or going:
        while waiting and len(going) < parallel:
            number, command = waiting.pop(0)
            going[number] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        for number, process in list(going.items()):
            if process.poll() is not None:
                out, err = going.pop(number).communicate()
                if process.returncode:
                    raise RuntimeError(err)
                found[number] = json.loads(out.splitlines()[-1])
                print(json.dumps(found[number]), flush=True)
        time.sleep(0.1)
    return [found[number] for number in range(len(words))]


def main(question: Question) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="other than recommended; nothing is recorded then")
    parser.add_argument("--resets", nargs="+", default=RESETS, choices=RESETS, help="the others stay in the record")
    parser.add_argument("--one", nargs=2, metavar=("SEED", "RESET"), help="train once and print the result")
    options = parser.parse_args()
    if not os.environ.get("LAMINA_DATA"):
        print(f"skipped: the data are not here; run  lamina data get {question.name}  and set LAMINA_DATA")
        return
    if options.one:
        seed, reset = options.one
        print(json.dumps(train(question, int(seed), reset, options.device, options.epochs)))
        return
    more = ["--device", options.device, *(["--epochs", str(options.epochs)] if options.epochs else [])]
    script = [sys.executable, str(Path(__file__).parent / f"{question.name}.py"), *more, "--one"]
    runs = [together([[*script, "0", reset]], 1)[0] for reset in options.resets]
    rest = [[*script, str(seed), reset] for reset in options.resets for seed in range(1, options.seeds)]
    for run in together(rest, options.parallel):
        if options.parallel > 1:
            del run["seconds"], run["prepare_seconds"]
        runs.append(run)
    name = f"{question.name}-cuda"
    if (FOLDER / f"{name}.json").is_file():
        before = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["runs"]
        runs = [*(run for run in before if run["reset"] not in options.resets), *runs]
    by_reset = {reset: [run for run in runs if run["reset"] == reset] for reset in RESETS}
    rows = [summary(question, reset, found) for reset, found in by_reset.items() if found]
    if not options.epochs:
        write(name, rows, device=device_name(), precision="float32", beams=BEAMS, runs=runs)


def summary(question: Question, reset: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and spread over seeds."""
    values = [run[question.measure] for run in runs]
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    row = {"command": question.command("SEED", reset), "gru": f"reset {reset} the product", "measure": question.measure}
    row |= {"mean": statistics.mean(values), "spread": spread, "n": len(values), "epochs": runs[0]["epochs"]}
    row |= {"parameters": runs[0]["parameters"], "step": runs[0]["step"], "seconds": runs[0]["seconds"]}
    for name in ("bleu_beams", "bleu", "chrf_beams", "accuracy", "token_accuracy"):
        if name in runs[0] and name != question.measure:
            row[name] = statistics.mean(run[name] for run in runs)
    print(
        f"reset {reset}: {question.measure} {row['mean']:.4f} ± {row['spread']:.4f} over {row['n']} seeds", flush=True
    )
    return row


def device_name() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
