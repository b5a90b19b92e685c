"""The run-time compiler: what it says when something is wrong."""

import threading

import pytest
import torch

from lamina.kernels import _nvrtc as nvrtc


def test_a_failed_call_is_named():
    with pytest.raises(RuntimeError, match=r"cuModuleLoadData failed with status 218\."):
        nvrtc._check(218, "cuModuleLoadData")


def test_what_cannot_be_compiled_is_reported_and_not_used():
    with pytest.warns(RuntimeWarning, match=r"gru\.cu cannot be compiled, torch's kernels are used: "):
        assert nvrtc.library_or_none("gru.cu", ("gru_forward",), 0) is None  # no macros, and here no GPU either


@pytest.mark.cuda
def test_a_refused_source_comes_with_the_log_of_the_compiler():
    with pytest.raises(RuntimeError, match=r"(?s)NVRTC refused a kernel: .*undeclared_name"):
        nvrtc.compile_source("__global__ void f(int* p) { *p = undeclared_name; }", ["--gpu-architecture=sm_80"])


@pytest.mark.cuda
def test_a_thread_that_has_called_nothing_yet_can_launch():
    source = 'extern "C" __global__ void seven(int* p) { *p = 7; }'
    kernel = nvrtc.compile_kernels(source, ["seven"], {}, 0)["seven"]
    value, failed = torch.zeros(1, dtype=torch.int32, device="cuda"), []

    def launch():
        try:
            kernel.launch(1, 1, [value], cooperative=False)
        except RuntimeError as error:
            failed.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert not failed and value.item() == 7
