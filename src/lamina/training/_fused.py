"""The optimizers of a recipe: all parameters in one call of torch's fused kernel.

`torch.optim` computes the same, bit for bit. Around the kernel it looks for hooks, groups tensors and checks arguments
in every update, which costs as much as the kernel itself for a small network, and it imports the compiler at the
start, which takes a second or two.
"""

from typing import Any, cast

import torch
from torch import nn

from lamina._types import Tensor


class Fused:
    """What the optimizers below share: the parts of `torch.optim.Optimizer` that a step uses.

    Args:
        params: what to change; a parameter without a gradient stays as it is.
        rate: the learning rate; a tensor on the device can be changed by a captured step.
    """

    def __init__(self, params: list[nn.Parameter], rate: float | Tensor) -> None:
        self.params = params
        self.param_groups: list[dict[str, Any]] = [{"params": params, "lr": rate}]
        self.state: dict[Tensor, dict[str, Tensor]] = {p: {} for p in params}

    def step(self) -> None:
        """Change the parameters along their gradients."""
        with torch.no_grad():
            grads = [p.grad for p in self.params]
            if any(g is None for g in grads):
                live = [p for p in self.params if p.grad is not None]
                if live:
                    self._update(live, [cast(Tensor, p.grad) for p in live])
            else:
                self._update(self.params, cast(list[Tensor], grads))

    def _update(self, params: list[nn.Parameter], grads: list[Tensor]) -> None:
        raise NotImplementedError

    def _lists(self, params: list[nn.Parameter], *names: str) -> list[list[Tensor]]:
        return [[self.state[p][name] for p in params] for name in names]


class FusedAdam(Fused):
    """Adam and AdamW, as `torch.optim.AdamW(fused=True)` computes them.

    Args:
        params: what to change.
        rate: the learning rate.
        betas: the decays of the two moments.
        eps: what is added to the root of the second moment.
        weight_decay: the share of the rate by which AdamW shrinks all parameters; 0 for Adam.

    >>> theta = nn.Parameter(torch.tensor([1.0, 1.0]))
    >>> theta.grad = torch.tensor([1e-3, -1e3])
    >>> FusedAdam([theta], rate=0.25).step()
    >>> [round(value, 3) for value in theta.tolist()]  # the first step is the rate times the sign of the gradient
    [0.75, 1.25]
    """

    def __init__(
        self,
        params: list[nn.Parameter],
        rate: float | Tensor,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, rate)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        for p in params:
            self.state[p] = {
                "step": torch.zeros((), dtype=torch.float32, device=p.device),
                "exp_avg": torch.zeros_like(p, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(p, memory_format=torch.preserve_format),
            }

    def _update(self, params: list[nn.Parameter], grads: list[Tensor]) -> None:
        steps, first, second = self._lists(params, "step", "exp_avg", "exp_avg_sq")
        self._count(steps)
        torch._fused_adamw_(
            tuple(params),
            grads,
            first,
            second,
            [],
            steps,
            lr=self.param_groups[0]["lr"],
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=self.weight_decay,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
        )

    def _count(self, steps: list[Tensor]) -> None:
        torch._foreach_add_(steps, 1)


class FusedSGD(Fused):
    """Gradient descent, with momentum if wanted, as `torch.optim.SGD(fused=True)` computes it.

    Args:
        params: what to change.
        rate: the learning rate.
        momentum: how much of the velocity is kept.
        nesterov: whether the gradient is added once more to the new velocity.

    >>> theta = nn.Parameter(torch.tensor([1.0]))
    >>> theta.grad = torch.tensor([2.0])
    >>> FusedSGD([theta], rate=0.25).step()
    >>> theta.tolist()
    [0.5]
    """

    def __init__(
        self, params: list[nn.Parameter], rate: float | Tensor, momentum: float = 0.0, nesterov: bool = False
    ) -> None:
        super().__init__(params, rate)
        self.momentum, self.nesterov = momentum, nesterov
        if momentum:
            for p in params:
                self.state[p] = {"momentum_buffer": torch.zeros_like(p, memory_format=torch.preserve_format)}

    def _update(self, params: list[nn.Parameter], grads: list[Tensor]) -> None:
        torch._fused_sgd_(
            tuple(params),
            grads,
            self._lists(params, "momentum_buffer")[0] if self.momentum else [],
            lr=self.param_groups[0]["lr"],
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=0.0,
            dampening=0.0,
            maximize=False,
            is_first_step=False,
        )


class FusedRMSprop(Fused):
    """RMSprop, as `torch.optim.RMSprop(foreach=True)` computes it: torch has no fused kernel.

    Args:
        params: what to change.
        rate: the learning rate.
        alpha: how much of the mean square is kept.
        eps: what is added to its root.
        momentum: how much of the velocity is kept.

    >>> theta = nn.Parameter(torch.tensor([1.0, 1.0]))
    >>> theta.grad = torch.tensor([1e-3, -1e3])
    >>> FusedRMSprop([theta], rate=0.25, alpha=0.75).step()
    >>> [round(value, 3) for value in theta.tolist()]
    [0.5, 1.5]
    """

    def __init__(
        self,
        params: list[nn.Parameter],
        rate: float | Tensor,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
    ) -> None:
        super().__init__(params, rate)
        self.alpha, self.eps, self.momentum = alpha, eps, momentum
        names = ("square_avg", "momentum_buffer") if momentum else ("square_avg",)
        for p in params:
            self.state[p] = {name: torch.zeros_like(p, memory_format=torch.preserve_format) for name in names}

    def _update(self, params: list[nn.Parameter], grads: list[Tensor]) -> None:
        own, rate = cast(list[Tensor], params), self.param_groups[0]["lr"]
        (squares,) = self._lists(params, "square_avg")
        torch._foreach_mul_(squares, self.alpha)
        torch._foreach_addcmul_(squares, grads, grads, value=1 - self.alpha)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_add_(roots, self.eps)
        if self.momentum:
            (velocity,) = self._lists(params, "momentum_buffer")
            torch._foreach_mul_(velocity, self.momentum)
            torch._foreach_addcdiv_(velocity, grads, roots)
            if isinstance(rate, Tensor):  # on the device, where a number would be asked from the host
                torch._foreach_sub_(own, torch._foreach_mul(velocity, rate))
            else:
                torch._foreach_add_(own, velocity, alpha=-rate)
        elif isinstance(rate, Tensor):
            torch._foreach_addcdiv_(own, torch._foreach_mul(grads, -rate), roots)
        else:
            torch._foreach_addcdiv_(own, grads, roots, value=-rate)
