"""The graph that torch's autograd records (§2.5 of the notes): operations and leaves, walked backwards."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor
from torch.autograd.graph import Node

from lamina._errors import ArgumentError


@dataclass(frozen=True)
class _Operation:
    """One node of the graph."""

    name: str
    leaf: bool


@dataclass(frozen=True)
class AutogradGraph:
    """A directed acyclic graph from one output (node 0, the root) to the leaves.

    Notes: N2.81 (§2.5).

    Args:
        nodes: operations and leaves, each before everything it depends on.
        edges: pairs (from, to) of places in `nodes`, along which a gradient is passed on.
    """

    nodes: tuple[_Operation, ...]
    edges: tuple[tuple[int, int], ...]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of the leaves, in the order of `nodes`."""
        return tuple(node.name for node in self.nodes if node.leaf)

    def text(self) -> str:
        """Draw the graph as an indented tree, a leaf in brackets; what was drawn before is only named, with a star."""
        below: dict[int, list[int]] = {}
        for start, end in self.edges:
            below.setdefault(start, []).append(end)
        lines: list[str] = []
        drawn: set[int] = set()
        stack = [(0, 0)]
        while stack:
            place, depth = stack.pop()
            node = self.nodes[place]
            label = f"[{node.name}]" if node.leaf else node.name
            again = place in drawn and place in below
            lines.append("  " * depth + label + (" *" if again else ""))
            if not again:
                drawn.add(place)
                stack += [(end, depth + 1) for end in reversed(below.get(place, []))]
        return "\n".join(lines)


def autograd_graph(output: Tensor, named: Mapping[str, Tensor]) -> AutogradGraph:
    """Walk the graph that autograd recorded while a tensor was computed.

    Notes: N2.81 (§2.5).

    Args:
        output: the tensor to start from, usually a loss.
        named: names for the leaves, for example `dict(model.named_parameters())`; others are named by their shape.

    >>> import torch
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> print(autograd_graph((w * w).sum(), {"w": w}).text())
    SumBackward0
      MulBackward0
        [w]
        [w]
    """
    root = output.grad_fn
    if root is None:
        raise ArgumentError("`output` must be computed from tensors that require gradients, got one without a graph.")
    order = _sorted(root)
    places = {node: place for place, node in enumerate(order)}
    names = {id(tensor): name for name, tensor in named.items()}
    edges = [(places[node], places[child]) for node in order for child in _children(node)]
    return AutogradGraph(tuple(_describe(node, names) for node in order), tuple(edges))


def _children(node: Node) -> list[Node]:
    return [child for child, _ in node.next_functions if child is not None]


def _describe(node: Node, names: Mapping[int, str]) -> _Operation:
    tensor = getattr(node, "variable", None)  # only the nodes of leaves have one
    if tensor is None:
        return _Operation(node.name().split("::")[-1], leaf=False)
    return _Operation(names.get(id(tensor), f"leaf {tuple(tensor.shape)}"), leaf=True)


def _sorted(root: Node) -> list[Node]:
    """Order all nodes such that each comes before its children, by depth-first search with a stack of its own."""
    done: list[Node] = []
    seen: set[Node] = {root}
    stack = [(root, iter(_children(root)))]
    while stack:
        node, children = stack[-1]
        for child in children:
            if child not in seen:
                seen.add(child)
                stack.append((child, iter(_children(child))))
                break
        else:
            done.append(node)
            stack.pop()
    return done[::-1]
