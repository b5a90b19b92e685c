"""Find where numbers stopped being finite, by doing the steps since the last good moment again with open eyes."""

from typing import TYPE_CHECKING, Any

from torch import nn

from lamina._types import Tensor
from lamina.training.stopping import StopReason

if TYPE_CHECKING:
    from lamina.training.learner import Learner


def diagnose(step: "Learner", good: tuple[dict[str, Tensor], int, int, int], bad: int) -> StopReason:
    """Replay from a good moment up to the first bad step and name the layer; the state of the step is overwritten."""
    tensors, number, epoch, batch = good
    step.by_hand()
    step.restore(tensors, number)
    step.begin(epoch, batch)
    while step.step < bad:
        if batch == step.batches:
            epoch, batch = epoch + 1, 0
            step.begin(epoch)
        step()
        batch += 1
    if batch == step.batches:
        step.begin(epoch + 1)
    broken = [name for name, p in step.model.named_parameters() if not p.isfinite().all()]
    layer = next(filter(None, step.feed.ranks.gathered(_first_bad_layer(step))), None)
    where = (
        f"layer {layer!r} was the first to return NaN or infinity"
        if layer
        else "the outputs were finite, but the loss was not"
    )
    if broken:
        where += f"; the previous update had already made {broken[0]!r} infinite"
    rate = step.totals()["learning_rate"]
    return StopReason(
        "diverged",
        f"the loss has not been finite since step {bad + 1}: {where}. "
        f"Try a smaller learning_rate (now {rate:g}), clip the gradients (clip=1), or check the data",
        bad,
    )


def _first_bad_layer(step: "Learner") -> str | None:
    found: list[str] = []

    def hook(name: str) -> Any:
        def look(module: nn.Module, inputs: Any, outputs: Any) -> None:
            tensors = [t for t in (outputs if isinstance(outputs, tuple) else (outputs,)) if isinstance(t, Tensor)]
            if not found and any(t.is_floating_point() and not t.isfinite().all() for t in tensors):
                found.append(name)

        return look

    leaves = [(name, m) for name, m in step.model.named_modules() if not list(m.children())]
    handles = [module.register_forward_hook(hook(name or "network")) for name, module in leaves]
    try:
        step()
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None
