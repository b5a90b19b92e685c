"""Data as lines of text: what they are, how the classes are balanced, some examples as pictures, rows or texts."""

import math

import torch

from lamina._markup import Markup, tag
from lamina._tables import Table
from lamina._types import Tensor
from lamina.data._dates import moment
from lamina.data.dataset import Dataset, Spec, all_targets
from lamina.data.pictures import thumbnail
from lamina.data.several import Layout
from lamina.data.text.texts import IGNORE, text_of

_SHARP = "image-rendering: pixelated; margin-right: 4px"
_LINE = 72  # characters of a text that are shown


def describe(dataset: Dataset, samples: int = 5) -> list[str]:
    r"""Say in lines of text what a dataset is: sizes, class balance, and its first examples.

    Args:
        dataset: any dataset.
        samples: how many examples to show.

    >>> from lamina.data.synthetic import truth_table
    >>> print("\n".join(describe(truth_table("or"), samples=2)))
    or: 4 vectors of 2 numbers, classification into 2 classes (column 'or').
    classes: 0 1 (25.0 %), 1 3 (75.0 %)
    samples:
      y1  y2  or
      0   0   0
      1   0   1
    """
    spec, official = dataset.spec, getattr(dataset, "official_test", None)
    lines = [f"{spec.source or 'data'}: {what(dataset)}."]
    if official is not None:
        lines.append(f"An official test set of {len(official)} examples is kept for the test part.")
    lines += [*balance(dataset), *spec.notes]
    taken = torch.arange(min(samples, len(dataset)))
    return lines + (["samples:", *_examples(spec, *dataset.take(taken))] if len(taken) else [])


def what(dataset: Dataset) -> str:
    """Name the number and the kind of the examples and the task.

    >>> from lamina.data.synthetic import truth_table
    >>> what(truth_table("or"))
    "4 vectors of 2 numbers, classification into 2 classes (column 'or')"
    """
    spec, count = dataset.spec, len(dataset)
    size = " x ".join(map(str, spec.inputs))
    kinds = {
        "image": f"pictures of {size}",
        "table": f"rows of {size} column" + "s" * (spec.inputs != (1,)),
        "vector": f"vectors of {size} number" + "s" * (spec.inputs != (1,)),
        "series": f"windows of {size} numbers",
        "tokens": f"sequences of {size} tokens",
        "text": f"texts of up to {size} characters",
        "pairs": f"pairs of texts of up to {size} characters",
        "several": f"examples of {Layout(spec.several)}",
        "batches": f"examples of {Layout(spec.several)} from a loader",
    }
    tasks = {
        "classification": f"classification into {spec.outputs} classes",
        "multilabel": f"any number of {spec.outputs} labels",
        "regression": f"regression of {spec.outputs} number" + "s" * (spec.outputs > 1),
        "structured": f"targets of shape {' x '.join(map(str, spec.target_shape))}",
        "tagging": f"one of {spec.outputs} labels at each step",
        "translation": f"to be translated into {spec.target}" if spec.target else "to be translated",
        "language": "whose next characters are to be predicted",
        "description": "to be described by a text",
    }
    if spec.task == "translation":
        return f"{count} {kinds[spec.kind]}, {tasks[spec.task]}"
    target = f" (column {spec.target!r})" if spec.target else ""
    if spec.task == "multilabel" and spec.target == ", ".join(spec.classes):
        target = ""  # the line of the labels names the columns
    also = f", weighted by {spec.weight!r}" * bool(spec.weight) + f", grouped by {spec.group!r}" * bool(spec.group)
    return f"{count} {kinds[spec.kind]}, {tasks[spec.task]}{target}{also}"


def balance(dataset: Dataset) -> list[str]:
    """Count the classes, or give the range of real targets.

    >>> from lamina.data.synthetic import truth_table
    >>> balance(truth_table("or"))
    ['classes: 0 1 (25.0 %), 1 3 (75.0 %)']
    """
    spec = dataset.spec
    if not len(dataset) or spec.task in ("tagging", "translation", "language", "description"):
        return []
    if getattr(dataset, "streamed", False):
        return []  # it would have to be read
    targets = all_targets(dataset)
    if spec.task in ("classification", "multilabel"):
        single = spec.task == "classification"
        counts = (torch.bincount(targets, minlength=spec.outputs) if single else targets.sum(0).long()).tolist()
        shares = [
            f"{name} {n} ({n / len(targets):.1%})".replace("%", " %")
            for name, n in zip(spec.classes, counts, strict=True)
        ]
        hidden = len(shares) - 20
        return [
            ("classes: " if single else "labels: ")
            + ", ".join(shares[:20])
            + (f" and {hidden} more" if hidden > 0 else "")
        ]
    values = targets.double()
    return [f"targets: from {values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}"]


def _examples(spec: Spec, inputs: Tensor, targets: Tensor) -> list[str]:
    """Show pictures as characters side by side, or rows as columns of text."""
    names = [_target_text(spec, target) for target in targets]
    if spec.kind == "image":
        pictures = [_picture(image) for image in inputs]
        width = len(pictures[0][0])
        rows = [name[:width].ljust(width) for name in names], *zip(*pictures, strict=True)
        return [("  " + "  ".join(row)).rstrip() for row in rows]
    if spec.kind in ("text", "pairs", "tokens"):
        return [f"  {line}" for line in example_lines(spec, inputs, targets)]
    return [f"  {line}" for line in _rows(spec, inputs, names).text().splitlines()]


def sample_card(dataset: Dataset, samples: int = 5) -> Markup | None:
    """Show the first examples in HTML: small pictures, rows of a table, or lines.

    >>> from lamina.data.synthetic import truth_table
    >>> sample_card(truth_table("or"), samples=1).count("<td")
    3
    """
    if not len(dataset):
        return None
    spec = dataset.spec
    inputs, targets = dataset.take(torch.arange(min(samples, len(dataset))))
    names = [_target_text(spec, target) for target in targets]
    if spec.kind == "image":
        named = zip(inputs, names, strict=True)
        shown = [tag("img", src=thumbnail(each), title=name, height=64, style=_SHARP) for each, name in named]
        return tag("div", shown)
    if spec.kind in ("text", "pairs", "tokens"):
        return tag("pre", "\n".join(example_lines(spec, inputs, targets)))
    return _rows(spec, inputs, names).html()


def _rows(spec: Spec, inputs: Tensor, names: list[str]) -> Table:
    """Write numbers and categories as a table of at most 12 columns, and the target."""
    if spec.several:
        layout = Layout(spec.several)
        parts = zip(*layout.unpack(inputs), names, strict=True)
        several = [(*map(_input_text, row), name) for *row, name in parts]
        return Table((*layout.called, spec.target or "target"), tuple(several))
    flat = inputs.flatten(1)[:, :12]
    features = (
        spec.features
        if spec.kind != "series"
        else tuple(f"{name}<{t + 1}>" for t in range(spec.inputs[0]) for name in spec.features)
    )
    heads = [*(features or tuple(f"x{i + 1}" for i in range(spec.inputs[0])))][: flat.shape[1]]
    cells = [[_cell(spec, j, value) for j, value in enumerate(row)] for row in flat.tolist()]
    more = ["..."] if math.prod(spec.inputs) > 12 else []
    body = [(*row, *more, name) for row, name in zip(cells, names, strict=True)]
    return Table((*heads, *more, spec.target or "target"), tuple(body))


def _input_text(part: Tensor) -> str:
    """Write one of several inputs: its number, or its shape."""
    return f"{part.item():.6g}" if part.numel() == 1 else " x ".join(map(str, part.shape))


def example_lines(spec: Spec, inputs: Tensor, targets: Tensor) -> list[str]:
    """Write texts or tokens and what belongs to them, one example per line.

    >>> spec = Spec("tokens", "classification", (2,), 2, ("no", "yes"), symbols=("a", "b"))
    >>> example_lines(spec, torch.tensor([[1, 0]]), torch.tensor([1]))
    ['b a  ->  yes']
    """
    if spec.kind == "tokens":
        read = [_words(row, spec.symbols) for row in inputs.tolist()]
    else:
        read = [_short(text_of(row)) for row in inputs]
    if spec.task == "tagging":
        written = [_words(row, spec.classes) for row in targets.tolist()]
    elif spec.kind != "tokens" and spec.task in ("translation", "language"):
        written = [_short(text_of(row)) for row in targets]
    else:
        written = [_target_text(spec, target) for target in targets]
    if spec.task == "language":
        return read
    return [f"{first}  ->  {second}" for first, second in zip(read, written, strict=True)]


def _words(row: list[int], names: tuple[str, ...]) -> str:
    return _short(" ".join("-" if i == IGNORE else names[i] if 0 <= i < len(names) else str(i) for i in row))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LINE else text[: _LINE - 4] + " ..."


def _cell(spec: Spec, column: int, value: float) -> str:
    if math.isnan(value):
        return "missing"
    levels = spec.levels[column] if spec.kind == "table" else ()
    if spec.dates and spec.dates[column]:
        return moment(value, spec.dates[column])
    return (levels[int(value)] if value >= 0 else "other") if levels else f"{value:.6g}"


def _target_text(spec: Spec, target: Tensor) -> str:
    if spec.task == "description":
        return _short(text_of(target))
    if spec.task == "classification":
        return spec.classes[int(target)]
    if spec.task == "multilabel":
        return labels_text(spec.classes, target)
    return ", ".join(f"{value:.6g}" for value in target.flatten()[:4].tolist()) + ", ..." * (target.numel() > 4)


def labels_text(classes: tuple[str, ...], there: Tensor) -> str:
    """Write the labels that an example has: those whose entry is at least one half.

    >>> labels_text(("rain", "snow", "wind"), torch.tensor([1, 0, 1]))
    'rain; wind'
    """
    return "; ".join(name for name, value in zip(classes, there.tolist(), strict=True) if value >= 0.5) or "none"


def _picture(image: Tensor) -> list[str]:
    """Draw a picture in ten shades of characters, at most 28 wide; a character is about twice as high as wide."""
    shades, (_, height, width) = " .:-=+*#%@", image.shape
    columns = min(28, 2 * width)
    rows = max(1, round(columns * height / width / 2))
    gray = torch.nn.functional.interpolate(image.float().mean(0)[None, None], (rows, columns), mode="area")[0, 0]
    low, span = gray.min(), (gray.max() - gray.min()).clamp(min=1e-9)
    return ["".join(shades[int(v)] for v in row) for row in ((gray - low) / span * 9.999).tolist()]
