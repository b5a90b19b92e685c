"""The compiled updates of K networks equal the readable one."""

from itertools import product

import pytest
import torch

from lamina.kernels.native import compiler
from lamina.populations._forms import CompiledUpdate
from populations.updates import CLIPS, OPTIMIZERS, PENALTIES, assert_equals_reference


@pytest.mark.skipif(compiler() is None, reason="needs g++")
@pytest.mark.parametrize("kind,penalty,clip", [
    ("gd", PENALTIES[0], CLIPS[0]), ("gd", PENALTIES[2], CLIPS[3]), ("momentum", PENALTIES[1], CLIPS[1]),
    ("nesterov", PENALTIES[0], CLIPS[2]), ("adam", PENALTIES[0], CLIPS[0]), ("adam", PENALTIES[2], CLIPS[1]),
    ("adam", PENALTIES[1], CLIPS[3]), ("adamw", PENALTIES[0], CLIPS[0]), ("adamw", PENALTIES[1], CLIPS[1]),
    ("rmsprop", PENALTIES[0], CLIPS[0]), ("rmsprop", PENALTIES[2], CLIPS[2]),
])  # fmt: skip
def test_the_compiled_update_equals_the_reference(kind, penalty, clip, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp()))
    assert_equals_reference(CompiledUpdate, kind, penalty, clip)


@pytest.mark.slow
@pytest.mark.parametrize("kind,penalty,clip", list(product(OPTIMIZERS, PENALTIES, CLIPS)))
def test_every_compiled_update_equals_the_reference(kind, penalty, clip):
    assert_equals_reference(CompiledUpdate, kind, penalty, clip)
    assert_equals_reference(CompiledUpdate, kind, penalty, clip, torch.float32, tolerance=1e-5)


@pytest.mark.cuda
@pytest.mark.parametrize("kind,penalty,clip", list(product(OPTIMIZERS, PENALTIES, CLIPS)))
def test_the_kernels_equal_the_reference(kind, penalty, clip):
    assert_equals_reference(CompiledUpdate, kind, penalty, clip, device="cuda")
    assert_equals_reference(CompiledUpdate, kind, penalty, clip, torch.float32, "cuda", 1e-5)
