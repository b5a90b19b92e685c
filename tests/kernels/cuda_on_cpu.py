"""Run CUDA kernels on the CPU, one thread after the other, so that they are tested where there is no GPU.

The source is compiled by g++ behind a few lines that stand in for CUDA: every thread of a block is a coroutine, and
`__syncthreads` hands on to the next one.
"""

import ctypes
import re
import subprocess
from pathlib import Path

from lamina.kernels._nvrtc import _value
from lamina.kernels.loading import source

SHIM = r"""
#include <ucontext.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>
using std::abs; using std::isfinite; using std::max; using std::min;
struct Place { unsigned x = 0, y = 0, z = 0; };
static Place threadIdx, blockIdx, blockDim, gridDim;
static std::vector<ucontext_t> threads(1024);
static std::vector<std::vector<char>> stacks(1024, std::vector<char>(65536));
static std::vector<bool> done(1024);
static ucontext_t scheduler;
alignas(16) static float dynamic_memory[64 * 1024];
static void (*kernel)();
static void __syncthreads() { swapcontext(&threads[threadIdx.x], &scheduler); }
static void begin() { kernel(); done[threadIdx.x] = true; }
static float __fadd_rn(float a, float b) { volatile float r = a + b; return r; }
static float __fmul_rn(float a, float b) { volatile float r = a * b; return r; }
static void run(int gx, int gy, int count, void (*f)()) {
  kernel = f; gridDim = {(unsigned)gx, (unsigned)gy, 1}; blockDim = {(unsigned)count, 1, 1};
  for (int y = 0; y < gy; ++y) for (int x = 0; x < gx; ++x) {
    blockIdx = {(unsigned)x, (unsigned)y, 0};
    std::fill(dynamic_memory, dynamic_memory + 64 * 1024, std::numeric_limits<float>::quiet_NaN());
    for (int t = 0; t < count; ++t) {
      getcontext(&threads[t]); done[t] = false;
      threads[t].uc_stack.ss_sp = stacks[t].data(); threads[t].uc_stack.ss_size = 65536;
      threads[t].uc_link = &scheduler;
      makecontext(&threads[t], begin, 0);
    }
    for (bool left = true; left;) {
      left = false;
      for (int t = 0; t < count; ++t) if (!done[t]) {
        left = true; threadIdx = {(unsigned)t, 0, 0}; swapcontext(&scheduler, &threads[t]);
      }
    }
  }
}
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
struct alignas(16) float4 { float x, y, z, w; };
"""


def emulated(name: str, folder: Path):
    """Compile the kernels of a text of the package and return what launches them by name on CPU tensors."""
    text = source(name)
    code = SHIM + re.sub(r"extern __shared__ float (\w+)\[\];", r"float* \1 = dynamic_memory;", text)
    code = re.sub(r"^#pragma unroll.*$", "", code, flags=re.MULTILINE)
    for name, inside in re.findall(r'extern "C" __global__ void (\w+)\(([^)]*)\)', text):
        kinds = [re.sub(r"\w+$", "", part.strip()).strip() for part in inside.split(",")]
        unpacked = ", ".join(f"*({kind}*)(arguments_of_{name}[{i}])" for i, kind in enumerate(kinds))
        code += f"static void** arguments_of_{name};\nstatic void call_{name}() {{ {name}({unpacked}); }}\n"
        code += f'extern "C" void run_{name}(int gx, int gy, int count, void** arguments) {{\n'
        code += f"  arguments_of_{name} = arguments; run(gx, gy, count, call_{name});\n}}\n"
    (folder / "kernels.cpp").write_text(code)
    command = ["g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-o", "kernels.so"]
    subprocess.run([*command, "kernels.cpp"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "kernels.so"))

    def launch(name, blocks, threads, arguments, shared):
        assert threads <= 1024 and shared <= 48 * 1024 and max(blocks) > 0
        values = [_value(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        getattr(library, f"run_{name}")(*blocks, threads, pointers)

    return launch
