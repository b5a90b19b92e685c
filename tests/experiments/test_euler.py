import pytest

from lamina.experiments.euler import blocks_as_steps, euler_order
from lamina.experiments.result import ClaimError


@pytest.mark.notes("N4.15", "N4.16")
def test_residual_networks_are_eulers_method(unchecked):
    result = euler_order(seeds=2).check()
    assert result.column("L") == [8, 16, 32, 64, 128] and max(result.column("network apart")) < 1e-14
    # the catalogue has 1.96, 1.98, 1.99, 2.00
    assert result.column("ratio")[1:] == pytest.approx([1.97, 1.985, 1.992, 1.996], abs=0.02)
    with pytest.raises(ClaimError, match="its error halves"):
        euler_order(seeds=1, depths=(8, 32)).check()


@pytest.mark.notes("N4.21")
def test_only_the_preactivation_block_is_a_step_in_time():
    result = blocks_as_steps(seeds=2).check()
    original = result.column("original")
    assert original[-1] / original[-2] == pytest.approx(10, rel=0.01)
    assert result.column("pre-activation")[0] == pytest.approx(result.column("pre-activation")[-1])
    with pytest.raises(ClaimError, match="grows as 1/tau"):
        blocks_as_steps(seeds=1, step_sizes=(0.1, 1.0)).check()
