"""The kernels of batch norm and ReLU against double precision."""

import pytest
import torch

from kernels.norms import batch_norm_relu, batch_norm_relu_and_skip, draw, outcome, readable, running
from lamina.kernels.norm import kernels_apply, recorded_kernels

SHAPES = [(16, 16, 8, 8), (4, 64, 9, 7), (5, 256, 4, 4), (7, 100, 5, 5), (5, 48, 3, 3), (3, 3, 7, 7)]


@pytest.mark.cuda
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.bfloat16, 0.03)])
@pytest.mark.parametrize("kind", ["relu", "plain", "residual", "skip"])
def test_kernels_equal_the_reference_in_double_precision(shape, dtype, tolerance, kind, generator):
    channels = shape[1]
    u, d, r = (draw(generator, *shape, dtype=dtype).cuda() for _ in range(3))
    affine = {
        "weight": torch.rand(channels, generator=generator).cuda() + 0.5,
        "bias": draw(generator, channels).float().cuda(),
    }
    results = []
    for exact in (False, True):
        cast = torch.Tensor.double if exact else torch.clone
        tensors = {"inputs": cast(u * 2 + 3), **{name: cast(t) for name, t in affine.items()}}
        residual = cast(r).requires_grad_()

        def function(*arguments, exact=exact, residual=residual):
            if kind == "skip":
                if exact:
                    return readable(*arguments) + 2 * arguments[0]
                active, skip = batch_norm_relu_and_skip(*arguments)
                return active + 2 * skip
            of = readable if exact else batch_norm_relu
            return of(*arguments, residual=residual if kind == "residual" else None, relu=kind != "plain")

        statistics = tuple(t.cuda() if t.ndim == 0 else cast(t.float().cuda()) for t in running(channels))
        with recorded_kernels():
            assert exact or kernels_apply(tensors["inputs"])
            found = outcome(function, tensors, statistics, cast(d))
        results.append(found + ([residual.grad] if kind == "residual" else []))
    for ours, exact in zip(*results, strict=True):
        assert ((ours - exact).double().norm() <= tolerance * exact.double().norm()).item()


@pytest.mark.cuda
def test_kernels_repeat_and_can_be_recorded(generator):
    u, w, b = (
        draw(generator, 64, 32, 16, 16, dtype=torch.bfloat16).cuda(),
        torch.ones(32).cuda(),
        torch.zeros(32).cuda(),
    )
    u.requires_grad_()

    def update():  # no graph of this stream may outlive the call
        return [*torch.autograd.grad(batch_norm_relu(u, w, b).sum(), u), batch_norm_relu(u, w, b).detach()]

    with recorded_kernels():
        first = update()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            again = update()
    graph.replay()
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
