"""The net under the tests: what no test may leave changed, what tests share, and why a test may be skipped."""

import contextlib
import os
import random
import signal
import threading

import numpy as np
import torch

from lamina.training._denormals import flushes
from lamina.training.run import Run

REASONS = (
    "needs a GPU",
    "needs LAMINA_DATA",
    "needs g++",
    "needs pdflatex",
    "needs pdftoppm",
    "needs ps",
    "needs unshare",
    "needs an ordinary user",
    "needs Linux or macOS",
    "needs Linux",
)
"""Why a test may be skipped: a GPU, official data files, a system or its programs are absent, or root cannot step back.
"""
AFTER_KILL = -signal.SIGKILL if hasattr(signal, "SIGKILL") else 1
"""The exit code of a process after `kill`."""


NOT_OURS = (
    "PYTEST_CURRENT_TEST",
    "TORCHINDUCTOR_CACHE_DIR",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "_RJEM_MALLOC_CONF",
    "MPLCONFIGDIR",
)
"""Variables that pytest, torch, scikit-learn, polars and matplotlib set for themselves when they are imported."""


def state() -> dict[str, object]:
    """Describe everything of this process that a test could leave changed for the next one."""
    return {
        "denormals flushed": flushes(),
        "threads of torch": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "cores": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None,
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        ),
        "precision": (
            torch.get_float32_matmul_precision(),
            torch.backends.mkldnn.matmul.fp32_precision,
            torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cudnn.allow_tf32,
            torch.backends.mkldnn.enabled,
            torch.is_autocast_enabled("cpu"),
            torch.is_autocast_enabled("cuda"),
        ),
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "environment": {name: value for name, value in os.environ.items() if name not in NOT_OURS},
        "working directory": os.getcwd(),
        "threads": {thread for thread in threading.enumerate() if not thread.daemon},
    }


def content(value: object) -> object:
    """Describe what a test could change of something that tests share: networks, tensors, and the record of a run.

    Torch counts the writes to each tensor. A test part may be opened and a report be written: those are not compared.
    """
    if isinstance(value, torch.Tensor):
        return None if value.is_inference() else value._version, value.requires_grad
    if isinstance(value, torch.nn.Module):
        modes = [part.training for part in value.modules()]
        tensors = [*value.named_parameters(), *value.named_buffers()]
        return modes, [(name, id(tensor), content(tensor)) for name, tensor in tensors]
    if isinstance(value, tuple | list):
        return [content(part) for part in value]
    if isinstance(value, Run):
        files = [
            value.folder / name for name in ("config.toml", "preprocess.json", "history.jsonl", "weights.safetensors")
        ]
        return content(value.model), len(value.rows), [path.stat().st_mtime_ns for path in files if path.exists()]
    return None


class Shared:
    """What fixtures of a wider scope than a test have given, and how it was."""

    def __init__(self) -> None:
        self.given: dict[object, tuple[str, object, object]] = {}

    def add(self, fixture, value: object) -> None:
        if fixture.scope != "function" and (now := content(value)) is not None:
            self.given[fixture] = fixture.argname, value, now

    def changes(self, names: list[str]) -> list[str]:
        """Say which of the fixtures that a test has asked for it has changed, each of them once."""
        found = []
        for fixture, (name, value, before) in self.given.items():
            if name in names and (now := content(value)) != before:
                found.append(f"`{name}`, which other tests share")
                self.given[fixture] = name, value, now
        return found


@contextlib.contextmanager
def seeded_generators():
    """Give a test the same global generators in any order of tests, and put back those that were there.

    Lamina itself uses none (`tests/conformance/test_generators.py`); layers of torch.nn that a test makes do.
    """
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    torch.random.default_generator.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])
        random.setstate(before[2])


def changes(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Say what differs between two states, of mappings only the entries that do."""
    found = []
    for name, was in before.items():
        now = after[name]
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
            was, now = ({key: side.get(key) for key in keys} for side in (was, now))
        found.append(f"{name}: {str(was)[:200]} became {str(now)[:200]}")
    return found


def listed(report):
    """Turn a skip without a listed reason into a failure."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in REASONS:
            report.outcome = "failed"
            report.longrepr = f"skipped because {reason!r}, which is not on the list in tests/safety.py"
    return report
