"""The loader of texts and of modules that need triton."""

import re
import sys
from pathlib import Path

import lamina.kernels
from lamina.kernels.loading import source, with_triton

HOME = Path(lamina.kernels.__file__).parent


def test_without_triton_there_is_no_such_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "lamina.kernels._norm_triton", raising=False)
    assert with_triton.__wrapped__("_norm_triton") is None


def test_included_texts_stand_where_they_are_named():
    text, own = source("cells.cu"), (HOME / "cells.cu").read_text(encoding="utf-8")
    (name,) = re.findall(r'#include "(\w+\.cu)"\n', own)
    before, after = own.split(f'#include "{name}"\n')
    assert text == before + source(name) + after
