"""The run-time compiler: what it says when something is wrong."""

import pytest

from lamina.functional import nvrtc


def test_a_failed_call_is_named():
    with pytest.raises(RuntimeError, match=r"cuModuleLoadData failed with status 218\."):
        nvrtc._check(218, "cuModuleLoadData")


@pytest.mark.cuda
def test_a_refused_source_comes_with_the_log_of_the_compiler():
    with pytest.raises(RuntimeError, match=r"(?s)NVRTC refused a kernel: .*undeclared_name"):
        nvrtc.compile_source("__global__ void f(int* p) { *p = undeclared_name; }", ["--gpu-architecture=sm_80"])
