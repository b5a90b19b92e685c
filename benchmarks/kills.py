"""Kill commands at random moments and continue them: is anything lost, and are the bytes those of one left alone?

    python benchmarks/kills.py --kills 200       200 faults over train, search, ranks, export and pages

Faults are SIGKILL (half of them), SIGTERM, SIGHUP, and SIGSTOP followed by SIGCONT; checkpoints are written as often as
shipped. A command that ended before its fault came is begun anew and struck earlier. Each fault is written to --state
as soon as it is known: the same command continues a benchmark that was interrupted. The record is
benchmarks/records/kills.json.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import record

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGHUP", "SIGSTOP")
VERBS = ("train", "train", "search", "ranks", "export", "pages")
"""How often each comes, in turn."""
PAUSE = 1.5
"""Seconds that a stopped command stands still."""
TRAIN = ["train", "fnn", "--data", "digits", "--epochs", "60", "--set", "hidden=64", "--threads", "1", "--quiet"]
RATES = ",".join(f"{1e-3 * (1 + i):.4g}" for i in range(12))
SEARCH = ["search", "fnn", f"learning_rate={RATES}", "--data", "moons", "--epochs", "40"]
ON = ["--on", "processes:2", "--threads", "1", "--batch", "2"]


def lamina(home: Path, *words: str) -> subprocess.Popen[bytes]:
    """Type a command."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "LAMINA_DEVICE": "cpu"}
    with open(home / "log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "lamina", *words], cwd=home, stdout=log, stderr=log, env=environment
        )


def done(home: Path, *words: str) -> int:
    """Type a command and wait for its end."""
    return lamina(home, *words).wait(900)


def content(folder: Path) -> list[bytes]:
    """Give the bytes of a run that are promised to be the same."""
    return [(folder / name).read_bytes() for name in ("weights.safetensors", "history.jsonl", "evaluation.json")]


def outcomes(folder: Path) -> Any:
    """Give everything that a search must find again: all but the time it took."""
    from lamina.studies.study import Study

    study = Study.open(folder)
    found = [(r.number, r.values, {**r.outcome.as_dict(), "seconds": 0}) for r in study.results]
    best = [(folder / "best" / name).read_bytes() for name in ("weights.safetensors", "history.jsonl")]
    return found, best, (study.test or {}).get("metrics")


def struck(process: subprocess.Popen[bytes], name: str, delay: float) -> str:
    """Let a command run for so long, then strike it; say how it ended."""
    try:
        process.wait(delay)
        return "ended before"
    except subprocess.TimeoutExpired:
        pass
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(getattr(signal, name))
    if name == "SIGSTOP":
        time.sleep(PAUSE)
        process.send_signal(signal.SIGCONT)
        return f"continued, exit {process.wait(900)}"
    code = process.wait(120)
    left = psutil.wait_procs(family, timeout=60)[1]
    return f"exit {code}" if not left else f"exit {code}, left {len(left)} processes"


def continued(home: Path, folder: Path, begin: list[str], again: list[str], here: str, code: int | None) -> str:
    """Bring a command that was struck to its end; say what became of it."""
    if not (folder / here).exists():
        shutil.rmtree(folder, ignore_errors=True)  # struck before anything was written: nothing could be lost
        return "" if done(home, *begin) == 0 else "cannot be begun again"
    return "" if done(home, *again) == 0 else "lost"


class Faults:
    """Faults and what they are compared with.

    Args:
        home: a folder for everything.
        seed: of moments and signals.
    """

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.seed = home, seed
        self.kept = home / "alone.json"
        self.alone = json.loads(self.kept.read_text(encoding="utf-8")) if self.kept.exists() else {}

    def reference(self, verb: str) -> float:
        """Run a command undisturbed, once; give the seconds that it took."""
        if verb not in self.alone:
            shutil.rmtree(self.home / f"alone-{verb}", ignore_errors=True)
            begun = time.monotonic()
            words = self.begin(verb, f"alone-{verb}")
            if verb == "export":
                self.reference("train")
                begun = time.monotonic()
            assert verb == "pages" or done(self.home, *words) == 0, f"{verb} failed: see {self.home / 'log'}"
            self.alone[verb] = time.monotonic() - begun if verb != "pages" else 12.0
            self.kept.write_text(json.dumps(self.alone), encoding="utf-8")
        return self.alone[verb]

    def begin(self, verb: str, name: str) -> list[str]:
        """Give the command that begins."""
        if verb == "search":
            return [*SEARCH, "--folder", name, *ON]
        if verb == "export":
            return ["export", "alone-train", "-o", f"{name}.onnx", "--quiet"]
        return [*TRAIN, "--out", name, *(["--ranks", "2"] if verb == "ranks" else [])]

    def one(self, number: int) -> dict[str, Any]:
        """Strike one command and continue it."""
        draw, verb = random.Random(f"{self.seed} {number}"), VERBS[number % len(VERBS)]
        name, total = draw.choice(SIGNALS), self.reference(verb)
        for _ in range(8):
            delay = draw.uniform(0.2, total)
            ended, fault = self.strike(verb, self.home / f"{verb}-{number}", name, delay)
            if fault or ended != "ended before":
                break
            total = delay
        return {"number": number, "verb": verb, "signal": name, "delay": round(delay, 3), "of": round(total, 1),
                "ended": ended, "fault": fault}  # fmt: skip

    def strike(self, verb: str, folder: Path, name: str, delay: float) -> tuple[str, str]:
        """Strike one command after so many seconds and continue it; say how it ended, and what is wrong."""
        ended, fault = getattr(self, "pages" if verb == "pages" else "command")(verb, folder, name, delay)
        for path in (folder, folder.with_suffix(".onnx")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return ended, fault or ("left processes" if "left" in ended else "")

    def command(self, verb: str, folder: Path, name: str, delay: float) -> tuple[str, str]:
        """Strike a command that writes; compare what it wrote in the end."""
        begin = self.begin(verb, folder.name)
        ended = struck(lamina(self.home, *begin), name, delay)
        if verb == "export":
            file, alone = folder.with_suffix(".onnx"), (self.home / "alone-export.onnx").read_bytes()
            if file.exists() and file.read_bytes() != alone:
                return ended, "corrupt: half a file"
            file.unlink(missing_ok=True)
            fault = "" if done(self.home, *begin) == 0 else "lost"
            return ended, fault or ("" if file.read_bytes() == alone else "other bytes")
        again = ["resume", folder.name, "--quiet", *(["--ranks", "2"] if verb == "ranks" else [])]
        here, read = "config.toml", content
        if verb == "search":
            again, here, read = ["search", "--resume", folder.name, *ON], "study.toml", outcomes
        finished = ended == "ended before" or ended == "continued, exit 0"
        fault = "" if finished else continued(self.home, folder, begin, again, here, None)
        return ended, fault or ("" if read(folder) == read(self.home / f"alone-{verb}") else "other bytes")

    def pages(self, verb: str, folder: Path, name: str, delay: float) -> tuple[str, str]:
        """Strike the server of the pages while somebody reads; another one must serve at the same port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = ["notes", "--no-browser", "--port", str(port)]
        process = lamina(self.home, *words)
        if name == "SIGSTOP":
            time.sleep(delay)
            process.send_signal(signal.SIGSTOP)
            time.sleep(PAUSE)
            process.send_signal(signal.SIGCONT)
            ended, second = "continued", process
        else:
            ended, second = struck(process, name, delay), lamina(self.home, *words)
        try:
            return ended, "" if _serves(port) else "does not serve"
        finally:
            struck(second, "SIGTERM", 0.1)


def _serves(port: int) -> bool:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as page:
                return page.status == 200 and b"<html" in page.read().lower()
        except OSError:
            time.sleep(0.2)
    return False


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long; call again to go on")
    parser.add_argument("--state", type=Path, default=Path(__file__).parents[1] / "build" / "kills.jsonl")
    parser.add_argument("--home", type=Path, default=Path(__file__).parents[1] / "build" / "kills")
    asked = parser.parse_args()
    asked.state.parent.mkdir(parents=True, exist_ok=True)
    asked.home.mkdir(parents=True, exist_ok=True)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, commands would be deaf to it
    lines = asked.state.read_text(encoding="utf-8").splitlines() if asked.state.exists() else []
    rows = {row["number"]: row for row in map(json.loads, lines)}
    faults, begun = Faults(asked.home, asked.seed), time.monotonic()
    for path in asked.home.glob("*-[0-9]*"):  # of a fault that was interrupted
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for number in range(asked.kills):
        if number not in rows:
            if time.monotonic() - begun > asked.seconds:
                sys.exit(f"{len(rows)} of {asked.kills} faults are done: the same command goes on")
            rows[number] = faults.one(number)
            with open(asked.state, "a", encoding="utf-8") as file:
                file.write(json.dumps(rows[number]) + "\n")
            print(json.dumps(rows[number]), flush=True)
    found = [rows[number] for number in range(asked.kills)]
    total = {
        "faults": len(found),
        "while it ran": sum(row["ended"] != "ended before" for row in found),
        "by verb": Counter(row["verb"] for row in found),
        "by signal": Counter(row["signal"] for row in found),
        "bad": sum(bool(row["fault"]) for row in found),
    }
    print(json.dumps(total))
    record.write("kills", found, seed=asked.seed, total=total, bar={"bad": 0})
    shutil.rmtree(asked.home)
    sys.exit(bool(total["bad"]))


if __name__ == "__main__":
    main()
