"""A processor that announces AMX and cannot run it: put this folder on PYTHONPATH.

As there, a bfloat16 product on the CPU (also a float32 one that may round to bfloat16) ends the process with an illegal
instruction, unless oneDNN was limited before its first product; the variable is read once, when torch is imported.
"""

import importlib.util
import os
import signal
import sys


def cripple(torch):
    if os.environ.get("ONEDNN_MAX_CPU_ISA") in ("AVX512_CORE_BF16", "AVX512_CORE", "AVX2", "SSE41"):
        return
    functional = torch.nn.functional

    def checked(product):
        def run(first, *rest, **more):
            low = first.dtype == torch.bfloat16 or (
                first.dtype == torch.float32
                and (torch.is_autocast_enabled("cpu") or torch.backends.mkldnn.matmul.fp32_precision == "bf16")
            )
            if low and first.device.type == "cpu":
                os.kill(os.getpid(), signal.SIGILL)
            return product(first, *rest, **more)

        return run

    for home, name in [
        *[(torch, name) for name in ("matmul", "mm", "bmm", "addmm", "baddbmm")],
        *[(torch.Tensor, name) for name in ("__matmul__", "matmul", "mm", "bmm", "addmm", "baddbmm")],
        *[(functional, name) for name in ("linear", "conv2d")],
    ]:
        setattr(home, name, checked(getattr(home, name)))


class AfterTorch:
    """Finds torch as usual, and changes it once it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            cripple(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, AfterTorch())
