"""Networks as .pt2 files: programs of `torch.export`, or compiled ahead of time by AOTInductor."""

import shutil
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lamina._errors import RunError
from lamina._types import Tensor
from lamina.export.onnx_file import SIZES, TOLERANCE, difference, in_float32, traced, without_known_warnings
from lamina.training.deployment import Deployed
from lamina.training.files import write


def save_program(deployed: Deployed, path: Path, aot: bool = False) -> None:
    """Write a network as a program that torch runs without Lamina, after a comparison with the trained one.

    Args:
        deployed: the network and what it reads.
        path: the .pt2 file.
        aot: compile it for this kind of machine, which needs a C++ compiler; nothing is compiled where it runs.

    Raises:
        RunError: there is no compiler, or the program computes something else.
    """
    deployed = in_float32(deployed)
    program = traced(deployed)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, "model.pt2")
        with without_known_warnings():
            run = _compiled(program, draft) if aot else _saved(program, draft)
        for seed, sizes in enumerate(product(*(SIZES.get(name, SIZES["time"]) for name in deployed.free))):
            inputs = deployed.examples(dict(zip(deployed.free, sizes, strict=True)), seed)
            with torch.no_grad():
                wanted, found = (_as_tuple(each(*inputs)) for each in (deployed.module.eval(), run))
            pairs = zip(found, wanted, strict=True)
            worst = float(np.max([difference(one.detach().numpy(), other) for one, other in pairs]))  # keeps a NaN
            if not worst <= TOLERANCE:
                raise RunError(
                    f"the program computes something else than the trained network: outputs differ by {worst:.2g} of "
                    f"the largest one, more than {TOLERANCE:g}. Nothing was written."
                )
        write(path, draft.read_bytes())


def _saved(program: torch.export.ExportedProgram, draft: Path) -> Callable[..., Any]:
    torch.export.save(program, draft)
    return torch.export.load(draft).module()


def _compiled(program: torch.export.ExportedProgram, draft: Path) -> Callable[..., Any]:
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        compiler = get_cpp_compiler()
    except InvalidCxxCompiler:
        compiler = ""
    if shutil.which(compiler or "") is None:
        raise RunError(
            "--aot compiles the network, which needs a C++ compiler such as g++ or clang++, and none was found: "
            "install one, or name it in the environment variable CXX; without --aot no compiler is needed."
        )
    torch._inductor.aoti_compile_and_package(program, package_path=str(draft))
    return torch._inductor.aoti_load_package(str(draft))


def _as_tuple(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
