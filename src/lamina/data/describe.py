"""Data as lines of text: what they are, how the classes are balanced, some examples as pictures or rows."""

import math

import torch

from lamina._types import Tensor
from lamina.data.dataset import Dataset, Spec, all_targets


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
    lines = [f"{spec.source or 'data'}: {_what(dataset)}."]
    if official is not None:
        lines.append(f"An official test set of {len(official)} examples is kept for the test part.")
    lines += [*_balance(dataset), *spec.notes]
    taken = torch.arange(min(samples, len(dataset)))
    return lines + (["samples:", *_examples(spec, *dataset.take(taken))] if len(taken) else [])


def _what(dataset: Dataset) -> str:
    """Name the number and the kind of the examples and the task."""
    spec, count = dataset.spec, len(dataset)
    size = " x ".join(map(str, spec.inputs))
    kinds = {"image": f"pictures of {size}", "table": f"rows of {size} columns", "vector": f"vectors of {size} numbers"}
    tasks = {
        "classification": f"classification into {spec.outputs} classes",
        "regression": f"regression of {spec.outputs} number" + "s" * (spec.outputs > 1),
        "structured": f"targets of shape {' x '.join(map(str, spec.target_shape))}",
    }
    target = f" (column {spec.target!r})" if spec.target else ""
    return f"{count} {kinds[spec.kind]}, {tasks[spec.task]}{target}"


def _balance(dataset: Dataset) -> list[str]:
    """Count the classes, or give the range of real targets."""
    spec, targets = dataset.spec, all_targets(dataset)
    if not len(targets):
        return []
    if spec.task == "classification":
        counts = torch.bincount(targets, minlength=spec.outputs).tolist()
        shares = [
            f"{name} {n} ({n / len(targets):.1%})".replace("%", " %")
            for name, n in zip(spec.classes, counts, strict=True)
        ]
        hidden = len(shares) - 20
        return ["classes: " + ", ".join(shares[:20]) + (f" and {hidden} more" if hidden > 0 else "")]
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
    flat = inputs.flatten(1)[:, :12]
    heads = [*(spec.features or tuple(f"x{i + 1}" for i in range(spec.inputs[0])))][: flat.shape[1]]
    cells = [[_cell(spec, j, value) for j, value in enumerate(row)] for row in flat.tolist()]
    more = ["..."] if math.prod(spec.inputs) > 12 else []
    table = [[*heads, *more, spec.target or "target"]]
    table += [[*row, *more, name] for row, name in zip(cells, names, strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  " + "  ".join(text.ljust(n) for text, n in zip(row, widths, strict=True)).rstrip() for row in table]


def _cell(spec: Spec, column: int, value: float) -> str:
    if math.isnan(value):
        return "missing"
    levels = spec.levels[column] if spec.levels else ()
    return levels[int(value)] if levels else f"{value:.6g}"


def _target_text(spec: Spec, target: Tensor) -> str:
    if spec.task == "classification":
        return spec.classes[int(target)]
    return ", ".join(f"{value:.6g}" for value in target.flatten()[:4].tolist()) + ", ..." * (target.numel() > 4)


def _picture(image: Tensor) -> list[str]:
    """Draw a picture in ten shades of characters, at most 28 wide; a character is about twice as high as wide."""
    shades, (_, height, width) = " .:-=+*#%@", image.shape
    columns = min(28, 2 * width)
    rows = max(1, round(columns * height / width / 2))
    gray = torch.nn.functional.interpolate(image.float().mean(0)[None, None], (rows, columns), mode="area")[0, 0]
    low, span = gray.min(), (gray.max() - gray.min()).clamp(min=1e-9)
    return ["".join(shades[int(v)] for v in row) for row in ((gray - low) / span * 9.999).tolist()]
