"""A table of the layers of a network: what each returns, how many parameters it has, what it costs and what it sees."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from lamina._errors import ArgumentError, at_least
from lamina._markup import tag
from lamina._shown import card
from lamina._tables import Table, bar, table
from lamina.inspection._example import Inputs, example_inputs, followed_axes, time_first
from lamina.inspection._trace import Trace, trace
from lamina.inspection.receptive_field import ReceptiveField, _field_trace, by

ITSELF = "(itself)"
"""The name of the row for what a network does outside its layers."""


@dataclass(frozen=True)
class Row:
    """One layer. Numbers include the layers inside of it, except those called `own`.

    Args:
        name: its name in the network.
        kind: its class.
        around: the name of the row it is inside of, "" for none.
        depth: inside how many other rows it is.
        calls: how often it ran; a recurrent cell runs at every step.
        output: the shape of what it returned, with the batch axis.
        parameters: how many numbers are learned or frozen in it, each counted where it first appears.
        own_parameters: those that no layer inside of it holds.
        shared: how many of its numbers are counted in another row.
        flops: the operations of products and convolutions for the whole batch.
        own_flops: those that no layer inside of it does.
        memory: the bytes that autograd keeps for the backward pass.
        own_memory: those that no layer inside of it keeps.
        share: its part of all parameters.
        field: what its units see; None for layers that do not depend on the input.
    """

    name: str
    kind: str
    around: str
    depth: int
    calls: int
    output: tuple[int, ...]
    parameters: int
    own_parameters: int
    shared: int
    flops: int
    own_flops: int
    memory: int
    own_memory: int
    share: float
    field: ReceptiveField | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {key: value for key, value in vars(self).items() if key != "field"}
        if self.field is not None:
            values["field"] = {"size": self.field.size, "jump": self.field.jump, "start": self.field.start}
            values["sees_everything"] = self.field.whole
        return values


@dataclass(frozen=True, repr=False)
class Summary:
    """The layers of a network and the totals.

    Args:
        kind: the class of the network.
        rows: one per layer, in the order of their first call; `(itself)` is what happens outside of all layers.
        inputs: the shapes of the inputs, with the batch axis.
        output: the shape of the outputs.
        parameters: how many numbers it has, each once.
        trainable: how many of them are learned.
        flops: operations of products and convolutions of one call with the whole batch.
        memory: the bytes that autograd keeps for the backward pass of that call.
        parameter_bytes: the bytes of the parameters.
        batch_axis: the axis of inputs and outputs that numbers examples.
        guessed: operations whose effect on receptive fields is not known.
    """

    kind: str
    rows: tuple[Row, ...]
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    parameters: int
    trainable: int
    flops: int
    memory: int
    parameter_bytes: int
    batch_axis: int = 0
    guessed: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Row:
        """Return the row of the layer with this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise ArgumentError(f"`name` must be that of a layer ({', '.join(r.name for r in self.rows)}), got {name!r}.")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "rows": [row.as_dict() for row in self.rows]}

    def depth_for(self, lines: int) -> int:
        """Return how many levels of layers fit into a number of lines; at least one."""
        deepest = 1 + max((row.depth for row in self.rows), default=0)
        return next((d for d in range(deepest, 1, -1) if len(self.shown(d)) <= lines), 1)

    def shown(self, depth: int | None = None) -> list[Row]:
        """Return the rows of so many levels, without identities; None for all levels."""
        if depth is not None:
            at_least("depth", depth, 1)
        return [row for row in self.rows if row.kind != "Identity" and (depth is None or row.depth < depth)]

    def cells(self, depth: int | None = None, bars: bool = True) -> list[tuple[str, ...]]:
        """Return the table as texts, see `HEAD`: the rows `shown`, with bars for the shares."""
        return [
            (
                "  " * row.depth + (row.name[len(row.around) + 1 :] if row.around else row.name),
                row.kind + (f" ({row.calls} calls)" if row.calls > 1 else ""),
                _one_example(row.output, self.batch_axis),
                _parameters(row),
                _short(row.flops),
                _short_bytes(row.memory),
                "" if row.field is None else "all" if row.field.whole else by(row.field.size),
                f"{row.share:6.1%} {bar(row.share):8}" if bars else f"{row.share:.1%}",
            )
            for row in self.shown(depth)
        ]

    def total(self) -> str:
        """Say the totals in words."""
        batch = self.inputs[0][self.batch_axis]
        frozen = f", {self.trainable:,} of them trainable" if self.trainable != self.parameters else ""
        examples = "1 example" if batch == 1 else f"{batch:,} examples"
        return (
            f"{self.parameters:,} parameters{frozen} ({_short_bytes(self.parameter_bytes)}); for {examples} "
            f"{_short(self.flops)} operations forward and {_short_bytes(self.memory)} kept for the backward pass"
        )

    def _title(self) -> str:
        shapes = ", ".join(_one_example(shape, self.batch_axis) for shape in self.inputs)
        return f"{self.kind}: {shapes} to {_one_example(self.output, self.batch_axis)}"

    def __repr__(self) -> str:
        return f"Summary({self._title()}; {len(self.rows)} layers, {self.parameters:,} parameters)"

    def _repr_html_(self) -> str:
        rows = Table(HEAD, tuple(self.cells(bars=False)), range(2, len(HEAD)))
        return str(card(self._title(), rows, tag("p", self.total())))

    def __str__(self) -> str:
        lines = [self._title(), "", table(HEAD, self.cells(), left=2), "", self.total()]
        return "\n".join([*lines, *([f"guessed fields after: {', '.join(self.guessed)}"] if self.guessed else [])])


HEAD = ("layer", "kind", "output", "parameters", "FLOPs", "memory", "sees", "share")


def summary(model: Any, inputs: Inputs = None, batch: int = 1) -> Summary:
    """List the layers of a network with their output shapes, parameters, costs and receptive fields.

    The network is called without values (torch's meta device) in evaluation mode, so nothing in it changes. FLOPs are
    those of products and convolutions, with a multiplication and an addition as two; memory is what autograd keeps
    for the backward pass of this call, without masks of dropout and without the inputs of recomputed blocks.

    Notes: N3.35, N3.36 (§3.2, Remark 3.7).

    Args:
        model: any torch module, or a run.
        inputs: the shape of one example, or an example (or a tuple, for several arguments) with its batch axis; what
            the network was built for if absent.
        batch: for how many examples to count, when `inputs` is no tensor.

    Returns:
        The table; `print` shows it.

    >>> from lamina.architectures.build import build
    >>> table = summary(build("fnn", inputs=3, outputs=1, hidden=(5, 5, 5)))
    >>> table.parameters, table.flops, [row.own_parameters for row in table.rows if row.own_parameters]
    (86, 140, [20, 30, 30, 6])
    """
    network = _as_network(model)
    at_least("batch", batch, 1)
    example = example_inputs(network, inputs, batch)
    found = trace(network, example, followed_axes(network, example[0]))
    axis = 1 if time_first(network) else 0
    fields = found if example[0].shape[axis] == 1 else _field_trace(network, inputs)
    numbers = list(network.parameters())
    root = found.visits[""]
    return Summary(
        kind=type(network).__name__,
        rows=_rows(network, found, fields),
        inputs=tuple(tuple(part.shape) for part in example),
        output=root.shape,
        parameters=sum(p.numel() for p in numbers),
        trainable=sum(p.numel() for p in numbers if p.requires_grad),
        flops=sum(visit.flops for visit in found.visits.values()),
        memory=sum(visit.kept for visit in found.visits.values()),
        parameter_bytes=sum(p.numel() * p.element_size() for p in numbers),
        batch_axis=axis,
        guessed=fields.guessed,
    )


def _as_network(model: Any) -> nn.Module:
    """Return the network of a run, or the network itself."""
    network = model if isinstance(model, nn.Module) else getattr(model, "model", None)
    if not isinstance(network, nn.Module):
        raise ArgumentError(
            f"`model` must be a torch module or a run, got {type(model).__name__}: build one with "
            'lamina.build("lenet5").'
        )
    return network


def _rows(network: nn.Module, found: Trace, fields: Trace) -> tuple[Row, ...]:
    own = _own_parameters(network, found.visits)
    around = {name: _nearest(name.rpartition(".")[0], found.visits) for name in found.visits if name}
    sums = {name: [own[name], visit.flops, visit.kept] for name, visit in found.visits.items()}
    for name in sorted(around, key=lambda name: name.count("."), reverse=True):  # the innermost first
        sums[around[name]] = [whole + part for whole, part in zip(sums[around[name]], sums[name], strict=True)]
    total, root, rows = max(1, sum(own.values())), found.visits[""], list[Row]()
    depths = {"": -1}
    for name in sorted(around, key=lambda name: name.count(".")):
        depths[name] = depths[around[name]] + 1
    alone = [own[""], root.flops, root.kept]
    for name in [*([""] if not around or any(alone) else []), *around]:
        visit, (parameters, flops, memory) = found.visits[name], sums[name] if name else alone
        held = sum(p.numel() for p in visit.module.parameters()) if name else parameters
        rows.append(
            Row(
                name=name or ITSELF,
                kind=type(visit.module).__name__,
                around=around.get(name, ""),
                depth=max(0, depths[name]),
                calls=visit.calls,
                output=visit.shape,
                parameters=parameters,
                own_parameters=own[name],
                shared=held - parameters,
                flops=flops,
                own_flops=visit.flops,
                memory=memory,
                own_memory=visit.kept,
                share=parameters / total,
                field=_field(fields, name),
            )
        )
    return tuple(rows)


def _nearest(name: str, called: Container[str]) -> str:
    """Return the innermost called module with this name or around it."""
    while name not in called:
        name = name.rpartition(".")[0]
    return name


def _field(fields: Trace, name: str) -> ReceptiveField | None:
    visit = fields.visits[name]
    if visit.seen is None:
        return None
    return ReceptiveField(name, type(visit.module).__name__, visit.seen, fields.extent)


def _own_parameters(network: nn.Module, called: Any) -> dict[str, int]:
    """Count the parameters of each called module: its own and those of parts that were never called by themselves."""
    counts = dict.fromkeys(called, 0)
    for name, parameter in network.named_parameters():
        counts[_nearest(name.rpartition(".")[0], counts)] += parameter.numel()
    return counts


def _parameters(row: Row) -> str:
    if not row.shared:
        return f"{row.parameters:,}"
    return "shared" if not row.parameters else f"{row.parameters:,} + shared"


def _one_example(shape: Sequence[int], batch_axis: int) -> str:
    sizes = [size for axis, size in enumerate(shape) if axis != batch_axis]
    return "×".join(map(str, sizes)) or "1"


def _short(number: float, units: Sequence[str] = ("", "k", "M", "G", "T", "P"), base: int = 1000) -> str:
    """Write a number with three digits and a letter for its size."""
    place = 0
    while abs(number) >= base and place < len(units) - 1:
        number, place = number / base, place + 1
    return f"{number:.0f}{units[place]}" if place == 0 else f"{number:.3g}{units[place]}"


def _short_bytes(number: float) -> str:
    """Write a number of bytes."""
    return _short(number, (" B", " KiB", " MiB", " GiB", " TiB"), 1024)
