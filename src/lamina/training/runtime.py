"""What a result depends on besides the code: device, threads, flags, versions; recorded and restored on resume."""

import math
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from lamina import __version__
from lamina._errors import ArgumentError, choice, nearest, whole
from lamina._processor import LIMIT, require_bfloat16
from lamina.training._denormals import flushed

THREAD_OPERATIONS = 20e6
"""Floating point operations of an update that occupy one thread; with fewer, threads mostly wait for each other."""

DEVICE = "LAMINA_DEVICE"
"""The environment variable that says what "auto" means on this machine."""

NARROW = ("mps",)
"""Devices without float64."""

KINDS = ("auto", "cpu", "cuda", "mps")
STEPS = ("auto", "eager", "compiled", "captured")
BATCH_NORMS = ("global", "local")


@dataclass(frozen=True)
class Runtime:
    """Where and how a run computes.

    Args:
        device: "auto" (CUDA, else Apple's MPS, else the CPU), "cpu", "cuda", "cuda:1" or "mps"; a run records which.
        threads: how many threads torch uses on the CPU; sums, and so results, depend on it. 0 chooses by the work of
            an update: small networks are faster with one.
        flush_denormal: whether numbers too small for full precision become zero; they slow a CPU down tenfold.
        deterministic: whether only deterministic algorithms are used; on CUDA a bit-exact resume needs it.
        step: how an update is executed: "eager", "compiled" (CPU), "captured" (one recorded CUDA graph) or "auto", the
            best for the device and the length of the run; the run records what was chosen.
        batch_norm: over what batch normalization averages where several ranks train: "global", the whole batch as in
            one process, or "local", the part of each rank, which needs no exchange in the middle of an update.
    """

    device: str = "auto"
    threads: int = 0
    flush_denormal: bool = True
    deterministic: bool = False
    step: str = "auto"
    batch_norm: str = "global"

    def __post_init__(self) -> None:
        choice("step", self.step, STEPS)
        choice("batch_norm", self.batch_norm, BATCH_NORMS)
        whole("threads", self.threads, 0)
        kind, colon, index = str(self.device).partition(":")
        if kind not in KINDS or (colon and not (kind == "cuda" and index.isdecimal())):
            meant = {"gpu": "cuda", "nvidia": "cuda", "metal": "mps", "apple": "mps"}.get(kind.lower())
            hint = f" Did you mean {meant!r}?" if meant else nearest(kind, KINDS, " Did", "")
            listed = "'auto', 'cpu', 'cuda', 'cuda:1' (or another number) and 'mps'"
            raise ArgumentError(f"`device` must be one of {listed}, got {self.device!r}.{hint}")

    def ready(self, precision: str = "float32", *, stacked: bool = False) -> "Runtime":
        """Fill in the device, and refuse what this machine cannot do, before anything is written.

        Args:
            precision: of the recipe.
            stacked: whether many networks are trained as one, which needs float64 for their sums.
        """
        narrow = stacked or precision in ("float64", "bfloat16")
        found = replace(self, device=_automatic(narrow)) if self.device == "auto" else self
        kind, _, index = found.device.partition(":")
        there = torch.cuda.is_available() if kind == "cuda" else kind != "mps" or torch.backends.mps.is_available()
        if not there or (index and int(index) >= torch.cuda.device_count()):
            raise ArgumentError(f"`device` {found.device!r} is not available on this machine: use 'auto' or 'cpu'.")
        if kind in NARROW and narrow:
            what = "a search" if stacked else f"precision {precision!r}"
            raise ArgumentError(f"`device` {found.device!r} cannot compute {what}: use device='cpu'.")
        if precision == "bfloat16" and found.device == "cpu":
            require_bfloat16()
        return found

    def here(self) -> "Runtime":
        """Give a recorded runtime again; where its device is missing, the one that this machine would choose."""
        try:
            return self.ready()
        except ArgumentError:
            return replace(self, device=_automatic(True), threads=0, step="auto")

    def __str__(self) -> str:
        """Say where it computes, for people."""
        if self.device.startswith("cuda"):
            return f"on {self.device}: {torch.cuda.get_device_name(self.device)}"
        if self.device != "cpu":
            return f"on {self.device}"
        return f"on the CPU, {self.threads} thread{'s' * (self.threads != 1)}" if self.threads else "on the CPU"

    def with_threads(self, work: float) -> "Runtime":
        """Fill in the number of threads on the CPU, unless it is given: by a fixed rule from the work of an update.

        Args:
            work: how many floating point operations it takes.

        >>> Runtime("cpu").with_threads(1e6).threads, Runtime("cpu", threads=3).with_threads(1e6).threads
        (1, 3)
        """
        if self.threads or self.device != "cpu":
            return self
        return replace(self, threads=max(1, min(torch.get_num_threads(), math.ceil(work / THREAD_OPERATIONS))))

    @contextmanager
    def applied(self, precision: str = "float32") -> "Iterator[Runtime]":
        """Set the flags for as long as a run lasts, then put back what was there; yield the runtime, filled in.

        Args:
            precision: of the recipe; only "tf32" lets products and convolutions on CUDA round to TF32.
        """
        self = self.ready(precision)
        threads = torch.get_num_threads()
        deterministic = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        rounded = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        try:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
            if self.threads:
                torch.set_num_threads(self.threads)
            if self.deterministic:
                torch.use_deterministic_algorithms(True)
            with flushed(self.flush_denormal):
                yield replace(self, threads=torch.get_num_threads())
        finally:
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = rounded
            torch.set_num_threads(threads)
            if self.deterministic:  # the call imports the compiler
                torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])

    def differences(self, recorded: dict[str, Any]) -> list[str]:
        """Say where the present environment differs from the recorded one, so that a resume may not be bit-exact."""
        now = environment(self)
        keys = ("torch", "machine", "cpu", "onednn", "device", "threads", "flush_denormal", "deterministic", "step")
        return [
            f"{key} was {recorded[key]} and is now {now[key]}"
            for key in keys
            if key in recorded and recorded[key] != now[key]
        ]


def wide(device: torch.device) -> torch.dtype:
    """Give the type in which sums are kept on a device: float64 wherever there is one.

    >>> wide(torch.device("cpu")), wide(torch.device("mps"))
    (torch.float64, torch.float32)
    """
    return torch.float32 if device.type in NARROW else torch.float64


def _automatic(wide: bool) -> str:
    """Choose the device of this machine: CUDA, else MPS unless float64 is needed, else the CPU."""
    if named := os.environ.get(DEVICE, ""):
        if named == "auto":
            raise ArgumentError(f"{DEVICE} must name a device, got 'auto': unset it, or use cpu, cuda or mps.")
        return Runtime(named).device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() and not wide else "cpu"


def environment(runtime: Runtime, reason: str = "") -> dict[str, Any]:
    """Describe versions, machine and flags, without any path or name of the machine.

    Args:
        runtime: with everything filled in.
        reason: why the step is of this kind.
    """
    values = {
        "lamina": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": f"{sys.platform} {platform.machine()}",
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "onednn": os.environ.get(LIMIT, ""),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        **asdict(runtime),
    }
    if reason:
        values["step_reason"] = reason
    if runtime.device.startswith("cuda"):
        values["gpu"] = torch.cuda.get_device_name()
    return values
