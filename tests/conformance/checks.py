"""The checks of the conformance table; each takes modules in float64 and raises when a promise is broken."""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_leaves

Inputs = tuple[Tensor, ...]


def floats(outputs: object) -> list[Tensor]:
    """Return the floating-point tensors of an output of any structure."""
    return [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor) and leaf.is_floating_point()]


def close(first: object, second: object, tolerance: float) -> None:
    ours, theirs = floats(first), floats(second)
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def squares(outputs: object) -> Tensor:
    """Give one number that depends on every output, differently on each."""
    return torch.stack([((leaf + 0.3 * torch.cos(torch.arange(leaf.numel()).reshape(leaf.shape).to(leaf))) ** 2).mean()
                        for leaf in floats(outputs)]).sum()  # fmt: skip


def gradients_are_finite(module: nn.Module, inputs: Inputs) -> None:
    """Every parameter gets a finite gradient, and at least one that is not zero."""
    squares(module.train()(*inputs)).backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, f"{name} got no gradient"
        assert parameter.grad.isfinite().all(), f"{name} got a gradient that is not finite"
        assert parameter.grad.abs().max() > 0, f"{name} got the gradient zero"


def survives_saving(module: nn.Module, twin: nn.Module, inputs: Inputs, path: str) -> None:
    """A twin from another seed that loads the saved weights computes the same, bit for bit."""
    from safetensors.torch import load_file, save_file

    before = floats(module.eval()(*inputs))
    save_file(dict(module.state_dict()), path)
    twin.load_state_dict(load_file(path))
    for a, b in zip(before, floats(twin.eval()(*inputs)), strict=True):
        assert torch.equal(a, b)


def members_equal_separate_runs(members: list[nn.Module], inputs: Inputs, training: bool) -> None:
    """`vmap` over stacked members gives the outputs, gradients and buffers of separate runs."""
    members = [member.train(training) for member in members]
    params, buffers = stack_module_state(members)  # type: ignore[arg-type]
    params, buffers = ({k: v.detach().clone() for k, v in tensors.items()} for tensors in (params, buffers))
    base = copy.deepcopy(members[0]).to("meta")

    def loss(p: dict[str, Tensor], b: dict[str, Tensor]) -> tuple[Tensor, list[Tensor]]:
        outputs = functional_call(base, (p, b), inputs)
        return squares(outputs), floats(outputs)

    gradients, outputs = vmap(torch.func.grad(loss, has_aux=True))(params, buffers)
    for k, member in enumerate(members):
        member.zero_grad()
        separate = member(*inputs)
        squares(separate).backward()
        close([leaf[k] for leaf in outputs], separate, 1e-12)
        for name, parameter in member.named_parameters():
            # a last bit grows on its way through 50 layers with batch normalization
            torch.testing.assert_close(gradients[name][k], parameter.grad, rtol=1e-8, atol=1e-10)
        for name, buffer in member.named_buffers():
            torch.testing.assert_close(buffers[name][k], buffer, rtol=1e-12, atol=1e-12)


def compiled_equals_eager(make: Callable[[], nn.Module], inputs: Inputs, backend: str, tolerance: float) -> None:
    """`torch.compile` of the whole graph gives the outputs and gradients of the eager module, training and not."""
    for training in (True, False):
        torch._dynamo.reset()
        eager, compiled = make().train(training), make().train(training)
        expected, outputs = eager(*inputs), torch.compile(compiled, backend=backend, fullgraph=True)(*inputs)
        close(outputs, expected, tolerance)
        squares(expected).backward()
        squares(outputs).backward()
        for a, b in zip(compiled.parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=tolerance, atol=tolerance)


def exported_equals_eager(module: nn.Module, inputs: Inputs) -> None:
    """`torch.export` of the module in evaluation computes the same."""
    expected = module.eval()(*inputs)
    close(torch.export.export(module, inputs).module()(*inputs), expected, 1e-12)


def same_on_cuda(make: Callable[[], nn.Module], inputs: Inputs) -> None:
    """Outputs and gradients on the GPU equal those on the CPU in float64."""
    for training in (True, False):
        cpu, gpu = make().train(training), make().train(training).cuda()
        expected, outputs = cpu(*inputs), gpu(*(x.cuda() for x in inputs))
        close([leaf.cpu() for leaf in floats(outputs)], expected, 1e-9)
        squares(expected).backward()
        squares(outputs).backward()
        for a, b in zip(gpu.parameters(), cpu.parameters(), strict=True):
            torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-7, atol=1e-9)


def count(module: nn.Module) -> int:
    """Count the trainable numbers of a module."""
    return sum(math.prod(p.shape) for p in module.parameters() if p.requires_grad)
