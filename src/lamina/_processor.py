"""Which processor this is, and whether it runs the bfloat16 products that it announces.

Some virtual machines announce AMX but cannot run it: there oneDNN, which torch's bfloat16 products go through, ends
the process with an illegal instruction. Nothing inside a process can survive that, so a child tries it, once for each
processor and torch; what it found is kept in the user's cache.
"""

import contextlib
import functools
import hashlib
import os
import platform
import subprocess
import sys
import uuid
from pathlib import Path

from lamina._errors import InstructionError

LIMIT = "ONEDNN_MAX_CPU_ISA"
"""The variable that limits oneDNN's instructions; it is read once, at the first product of a process."""
_LIMITS = ("AVX512_CORE_BF16", "AVX512_CORE", "AVX2", "SSE41")
_TRIAL = """
import torch
factors = torch.ones(64, 64), torch.ones(4, 8, 16, 16), torch.ones(8, 8, 3, 3)
a, maps, kernel = (part.bfloat16().requires_grad_() for part in factors)
((a @ a).sum() + torch.nn.functional.conv2d(maps, kernel).sum()).backward()
torch.set_float32_matmul_precision("medium")
assert (factors[0] @ factors[0]).sum() == 64**3
"""


def cache_folder() -> Path:
    """Give the folder where this user keeps what was found out or compiled for this machine; it may not exist."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamina"
    except RuntimeError:  # a user without a home keeps nothing
        return Path(os.devnull) / "lamina"


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache, complete or not at all; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{uuid.uuid4().hex}")  # threads, and processes of other machines, write too
        try:
            draft.write_bytes(content)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)


@functools.cache
def processor() -> str:
    """Describe the processor as far as compiled code depends on it."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    return f"{platform.machine()} {platform.processor()}"


def require_bfloat16() -> None:
    """Refuse bfloat16 products on a CPU where they would end the process.

    Raises:
        InstructionError: with the value that the variable must have before Python starts, if one helps.
    """
    limit = bfloat16_limit()
    if limit == os.environ.get(LIMIT, ""):
        return
    if limit is None:
        raise InstructionError(
            "`precision` 'bfloat16' cannot be used on this CPU: its products end the process, whatever instructions "
            "oneDNN may use. Use 'float32'.",
            None,
        )
    raise InstructionError(
        "`precision` 'bfloat16' would end the process on this CPU, which announces instructions that it cannot run: "
        f"set the environment variable {LIMIT}={limit} before Python starts, or use 'float32'.",
        limit,
    )


def bfloat16_limit() -> str | None:
    """Find the value of `ONEDNN_MAX_CPU_ISA` under which this processor runs bfloat16 products.

    Returns:
        The value the variable has now ("" when it is not set) if products run with it, else one that cures them; None
        when nothing does.
    """
    return _limit(os.environ.get(LIMIT, ""))


@functools.cache
def _limit(now: str) -> str | None:
    import torch

    key = hashlib.sha256("\n".join([_TRIAL, torch.__version__, processor(), now]).encode()).hexdigest()[:16]
    memory = cache_folder() / f"bfloat16-{key}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = memory.read_text(encoding="utf-8")
        if found in (now, "none", *_LIMITS):
            return None if found == "none" else found
    limit = next((value for value in dict.fromkeys((now, *_LIMITS)) if _runs(value)), None)
    keep(memory, ("none" if limit is None else limit).encode())
    return limit


def _runs(limit: str) -> bool:
    """Let a child try the products under a limit."""
    environment = {name: value for name, value in os.environ.items() if name != LIMIT}
    if limit:
        environment[LIMIT] = limit
    try:
        done = subprocess.run([sys.executable, "-c", _TRIAL], env=environment, capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
