"""Write the run folders of this folder, and what they say: to be run with version 0.1 (commit 9782862), here, once.

They are read by tests/training/test_old_runs.py and never written again: folders of users look like these.
"""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import torch

import lamina
from lamina.training.fit import fit, resume
from lamina.training.loop import Event
from lamina.training.plan import plan
from lamina.training.run import Run

CASES = {
    "table": ("fnn", "iris", {"epochs": 6, "hidden": 5, "dropout": 0.2}),
    "pictures": ("fnn", "digits", {"epochs": 3, "hidden": 6, "dropout": 0.1, "batch_size": 64}),
    "series": ("many-to-one", "wave", {"epochs": 2, "hidden": 4}),
    "tokens": ("many-to-one", "agreement", {"epochs": 2, "hidden": 4, "embedding": 3}),
    "pairs": ("seq2seq", "phrasebook", {"max_steps": 12, "hidden": 6, "embedding": 5}),
    "text": ("many-to-many", "tale.txt", {"epochs": 3, "hidden": 8, "embedding": 4}),
    "descriptions": ("one-to-many", "digit-words", {"epochs": 1, "hidden": 6}),
}
STOPPED = {"pictures": 30, "tokens": 40}
"""Runs that were interrupted in the middle of their second epoch, after so many updates."""


def said(run: Run, name: str) -> object:
    """Say what a run predicts for what a user may ask."""
    if name == "text":
        return run.write("the ", 20, temperature=0)
    if name == "pairs":
        found = run.predict(["the dog sleeps", "a cat"])
        return [list(found.texts), found.values.tolist()]
    if name == "descriptions":
        found = run.predict(lamina.load("digits").inputs[:3])
        return [list(found.texts), found.values.tolist()]
    inputs, _ = lamina.load(CASES[name][1]).take(torch.arange(3))
    return run.predict(inputs).values.tolist()


def make(name: str) -> dict[str, object]:
    """Train, stop where it says so, and resume a copy for one more epoch."""
    architecture, data, options = CASES[name]

    def stop(event: Event) -> None:
        if event.step == STOPPED.get(name):
            os.kill(os.getpid(), signal.SIGINT)

    job = plan(architecture, data, options=options, out=name)
    try:
        run = fit(job.model, job.task, job.recipe, folder=name, observers=(stop,))
        found = {"metrics": run.evaluate().metrics, "predictions": said(run, name)}
    except KeyboardInterrupt:
        found = {}
    with tempfile.TemporaryDirectory() as place:
        again = shutil.copytree(name, f"{place}/run")
        epochs = None if name in STOPPED or name == "pairs" else options["epochs"] + 1
        resumed = resume(again, epochs=epochs)
        found["resumed"] = json.loads(Path(again, "history.jsonl").read_text().splitlines()[-1])
        if name in STOPPED:
            found["predictions"] = said(resumed, name)
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in CASES:
        shutil.rmtree(name, ignore_errors=True)
    Path("said.json").write_text(json.dumps({name: make(name) for name in CASES}, indent=1) + "\n")
