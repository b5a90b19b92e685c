"""Every architecture and layer under `torch.compile` and `torch.export`, with JAXTYPING_DISABLE=1 (see Makefile)."""

import pytest

from conformance import checks
from conformance.cases import ARCHITECTURES, LAYERS

MODULES = [case for case in ARCHITECTURES + LAYERS if case.trains]


@pytest.mark.parametrize("case", MODULES, ids=str)
def test_compiled_by_aot_eager_equals_eager(case):
    checks.compiled_equals_eager(case.module, case.arguments(), "aot_eager", 1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor's own
@pytest.mark.parametrize("case", MODULES, ids=str)
def test_compiled_by_inductor_equals_eager(case):
    checks.compiled_equals_eager(case.module, case.arguments(), "inductor", 1e-9)


@pytest.mark.parametrize("case", ARCHITECTURES + LAYERS, ids=str)
def test_exported_equals_eager(case):
    checks.exported_equals_eager(case.module(), case.arguments())
