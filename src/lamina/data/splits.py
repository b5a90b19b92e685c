r"""Training, validation and test part of a dataset (§1.5 of the notes): 4:1:1, seeded, stratified, grouped.

With ratios a:b:c of N examples the validation part gets floor(N b / (a+b+c)) and the test part
floor(N c / (a+b+c)) of them; the training part gets the rest. A class that has an example for each part is in each,
which can make the validation and test parts of data with many small classes larger. The test part is sealed: it is read
through `Split.open_test` only, which counts.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch

from lamina._errors import ArgumentError, DataError, DataWarning, at_least
from lamina._shown import Shown
from lamina._types import Float, Int, Seed, Tensor
from lamina.data._unknown import categories, refuse_unknown, some, unknown_rows
from lamina.data.dataset import BaseDataset, Dataset, Spec, Subset, all_targets
from lamina.functional.random import as_generator

PARTS = ("training", "validation", "test")


class Sealed:
    """A dataset that says what and how many it holds but gives examples only after it was opened, and counts that.

    Notes: N1.67 (§1.5).

    >>> from lamina.data.synthetic import blobs
    >>> part = Sealed(blobs(9))
    >>> len(part), part.openings, len(part.open()), part.openings
    (9, 0, 9, 1)
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.openings = 0

    @property
    def spec(self) -> Spec:
        """What the sealed examples are."""
        return self._dataset.spec

    def __len__(self) -> int:
        return len(self._dataset)

    def open(self) -> Dataset:
        """Give the dataset and count."""
        self.openings += 1
        return self._dataset

    def take(self, indices: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor]:
        """Refuse: the only way to the examples is `Split.open_test`."""
        raise DataError(
            f"the test part is sealed, and {len(indices)} of its examples were asked for: open it once, at the end, "
            "with `split.open_test()`."
        )


@dataclass(frozen=True, repr=False)
class Split(Shown):
    """Three parts of a dataset, of which the last is read once, at the very end.

    Notes: N1.66, N1.67 (§1.5).

    Args:
        train: fits the parameters.
        validation: chooses hyperparameters and the moment to stop.
        test: sealed; `open_test` gives it.
        note: one sentence with the sizes.
        origin: how to load and split the same data again; None for data made in memory.

    >>> from lamina.data.synthetic import blobs
    >>> parts = blobs(600).split()
    >>> len(parts.train), len(parts.validation), len(parts.test), parts.openings
    (400, 100, 100, 0)
    """

    train: Dataset
    validation: Dataset
    test: Sealed
    note: str
    origin: Mapping[str, Any] | None = None

    def _headline(self) -> str:
        return f"Split({self.note})"

    def open_test(self) -> Dataset:
        """Give the test part and count it in `openings`; an honest experiment does this once."""
        return self.test.open()

    @property
    def openings(self) -> int:
        """How often the test part was opened."""
        return self.test.openings


def split(
    dataset: Dataset,
    seed: Seed = 0,
    ratios: tuple[int, int, int] = (4, 1, 1),
    groups: Int[Tensor, " batch"] | None = None,
) -> Split:
    """Split into training, validation and test part as a pure function of the dataset and the seed.

    Classes are spread so that each part has, of every class, its share rounded up or down, but at least one example if
    the class has as many as there are parts. Of a smaller class one example is for training and a second one for
    validation, unless a part would be empty. With groups no group is in two parts, and shares are met as well as whole
    groups allow. An official test set stays the test part; the validation part is then taken from the rest by the same
    rule. A complete dataset (a truth table) is not divided: it has no unseen examples. What runs in time and what was
    published in three parts has a rule of its own (`BaseDataset.divide`).

    Notes: N1.66 (§1.5).

    Args:
        dataset: what to split.
        seed: which split.
        ratios: the shares of training, validation and test.
        groups: a number for each example; those of `dataset` when not given.

    Returns:
        The parts. A `DataWarning` says when examples of one part are copies of training examples, or when a class is
        too small for three parts; the note counts the examples with a category that no training example has.

    >>> from lamina.data.synthetic import blobs
    >>> split(blobs(60), seed=3).note
    'blobs: 40 training, 10 validation and 10 test examples, stratified by class, seed 3.'
    """
    _check_ratios(ratios)
    again = _origin(dataset, seed, ratios, groups)
    name = dataset.spec.source or "data"
    if dataset.spec.complete:
        note = (
            f"{name}: all {len(dataset)} examples serve for training, validation and test, since there are no others."
        )
        return Split(dataset, dataset, Sealed(dataset), note, again)
    own = dataset.divide(seed, ratios) if isinstance(dataset, BaseDataset) and groups is None else None
    if own is not None:
        train, validation, test, how = own
        note = f"{name}: {len(train)} training, {len(validation)} validation and {len(test)} test examples, {how}"
        return Split(train, validation, Sealed(test), f"{note}{_unknown(train, validation, test)}.", again)
    official = getattr(dataset, "official_test", None)
    sizes = _sizes(len(dataset), ratios if official is None else (*ratios[:2], 0), sum(ratios))
    own_groups = getattr(dataset, "groups", None)
    groups = own_groups if groups is None else groups
    labels = _strata(dataset)
    generator = as_generator(seed)
    if groups is not None:
        parts, how = _by_groups(_checked(groups, dataset), labels, sizes, generator), "grouped"
        how += f" by {dataset.spec.group!r}" if dataset.spec.group and groups is own_groups else ""
    elif labels is not None:
        parts, how = _by_class(labels, sizes, generator), f"stratified by {_LABELED[dataset.spec.task]}"
        _warn_rare(dataset, sum(size > 0 for size in sizes) + (official is not None))
    else:
        parts, how = _by_chance(len(dataset), sizes, generator), "by chance"
    train, validation = (Subset(dataset, indices) for indices in parts[:2])
    test = Subset(dataset, parts[2]) if official is None else official
    copies = _copies(dataset, parts, official)
    _warn_copies(copies if official is None else (copies[0], 0), (len(validation), len(test)))
    kind = "official test" if official is not None else "test"
    note = f"{name}: {len(train)} training, {len(validation)} validation and {len(test)} {kind} examples, {how}"
    note += f", weighted by {dataset.spec.weight!r}" if dataset.spec.weight else ""
    note += f", seed {seed}" if isinstance(seed, int) else ""
    if official is not None and copies[1]:  # nobody can change an official set, so this is no warning
        what = (
            "example is a copy of a training example" if copies[1] == 1 else "examples are copies of training examples"
        )
        note += f"; {copies[1]} official test {what}"
    note += _unknown(train, validation, test)
    return Split(train, validation, Sealed(test), note + ".", again)


def _origin(dataset: Dataset, seed: Seed, ratios: tuple[int, int, int], groups: Tensor | None) -> dict[str, Any] | None:
    """Say how the same split can be made again, if it can."""
    loaded = getattr(dataset, "origin", None)
    if loaded is None or groups is not None or not isinstance(seed, int):
        return None
    return {**loaded, "seed": seed, "ratios": list(ratios)}


def k_fold(
    dataset: Dataset, k: int, seed: Seed = 0, groups: Int[Tensor, " batch"] | None = None
) -> list[tuple[Subset, Subset]]:
    """Divide into k parts, each of them once the validation part and in all other rounds a part of the training data.

    Sizes differ by at most 1, also within each class; with groups no group is divided.

    Notes: N1.66 (§1.5).

    Args:
        dataset: what to divide, for example the training part of a split.
        k: how many parts, at least 2.
        seed: which division.
        groups: a number for each example; those of `dataset` when not given.

    >>> from lamina.data.synthetic import blobs
    >>> [(len(train), len(validation)) for train, validation in k_fold(blobs(10), 3)]
    [(6, 4), (7, 3), (7, 3)]
    """
    at_least("k", k, 2)
    groups = getattr(dataset, "groups", None) if groups is None else groups
    count = len(dataset) if groups is None else len(_checked(groups, dataset).unique())
    if count < k:
        what = "examples" if groups is None else "groups"
        raise DataError(f"{k} folds need at least {k} {what}, but there are {count}: use fewer folds.")
    labels = _strata(dataset)
    generator = as_generator(seed)
    if groups is None:
        order = torch.randperm(len(dataset), generator=generator)
        if labels is not None:
            order = order[labels[order].argsort(stable=True)]
        folds = [order[i::k].sort().values for i in range(k)]
    else:
        equal = [len(dataset) / k] * k
        folds = _by_groups(groups, labels, equal, generator)
    whole = torch.arange(len(dataset))
    return [(Subset(dataset, whole[~torch.isin(whole, fold)]), Subset(dataset, fold)) for fold in folds]


def folds(dataset: Dataset, k: int, seed: Seed = 0) -> list[Split]:
    """Give k splits whose test parts make up the data; a fifth of the rest is the validation part.

    Classes and groups are spread as in `k_fold`. What runs in time is cut into k + 1 stretches: each but the first is
    tested once, after training on what came before. An official test set is not touched.

    Notes: N1.66 (§1.5).

    Args:
        dataset: what to divide.
        k: how many folds, at least 2.
        seed: which division.

    Returns:
        The splits. A `DataWarning` says when examples of one fold are copies of others, or when a class is too small.

    >>> from lamina.data.synthetic import blobs
    >>> [(len(s.train), len(s.validation), len(s.test)) for s in folds(blobs(60), 3)]
    [(32, 8, 20), (32, 8, 20), (32, 8, 20)]
    """
    at_least("k", k, 2)
    name = dataset.spec.source or "data"
    if dataset.spec.complete:
        raise DataError(f"{name}: there are no other examples than these {len(dataset)}, so no fold could be unseen.")
    if getattr(dataset, "streamed", False):
        raise DataError(
            f"{name} is read block by block, but cross-validation needs all rows at once: read the whole table with "
            "stream=False, or give a sample of it."
        )
    if (times := getattr(dataset, "times", None)) is not None:
        return _stretches(dataset, times, k, name)
    if isinstance(dataset, BaseDataset) and dataset.earliest(1, 1) is not None:
        return [_stretch(dataset, i, k, seed, name) for i in range(k)]
    if isinstance(dataset, BaseDataset) and dataset.divide(seed, (4, 1, 1)) is not None:
        raise DataError(f"{name} has training, validation and test parts of its own: train on them with lamina train.")
    found = []
    pairs = k_fold(dataset, k, seed)
    _warn_folds(dataset, [part for _, part in pairs])
    for i, (rest, part) in enumerate(pairs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # said above, once for all folds
            inner = split(rest, seed, (4, 1, 0))
        found.append(Split(inner.train, inner.validation, Sealed(part), f"{name}: fold {i + 1} of {k}."))
    return found


def _stretches(dataset: Dataset, times: Float[Tensor, " batch"], k: int, name: str) -> list[Split]:
    """Cut rows into k + 1 stretches of time, about as many in each; rows of one moment stay together."""
    order, found = times.sort().values, []
    edges = [*(float(order[len(order) * j // (k + 1)]) for j in range(1, k + 1)), torch.inf]
    if len(set(edges)) <= k or len(times[times < edges[0]].unique()) < 2:
        raise DataError(
            f"{name} has {len(times.unique())} different moments, too few for {k} folds in order of time: ask for "
            "fewer folds."
        )
    for i in range(k):
        rows, tested = (times < edges[i]).nonzero().flatten(), (times >= edges[i]) & (times < edges[i + 1])
        train, validation, _ = (Subset(dataset, rows[part]) for part in in_time(times[rows], (4, 1, 0)))
        test = Sealed(Subset(dataset, tested.nonzero().flatten()))
        found.append(Split(train, validation, test, f"{name}: fold {i + 1} of {k}, in order of time."))
    return found


def _stretch(dataset: BaseDataset, i: int, k: int, seed: Seed, name: str) -> Split:
    """Train on the first i + 1 of k + 1 stretches of time, a fifth of them for validation, and test on the next."""
    known = dataset.earliest(i + 2, k + 1)
    parts = known.divide(seed, (4 * (i + 1), i + 1, 5)) if isinstance(known, BaseDataset) else None
    if parts is None:
        raise DataError(f"{name}: fold {i + 1} of {k} cannot be made in order of time.")
    return Split(parts[0], parts[1], Sealed(parts[2]), f"{name}: fold {i + 1} of {k}, in order of time.")


def _warn_folds(dataset: Dataset, parts: Sequence[Subset]) -> None:
    if dataset.spec.task in _LABELED:
        _warn_rare(dataset, len(parts))
    marks = dataset.fingerprints() if isinstance(dataset, BaseDataset) else None
    if marks is None:
        return
    home = torch.empty(len(dataset), dtype=torch.int64)
    for i, part in enumerate(parts):
        home[part.indices] = i
    same = marks.unique(return_inverse=True)[1]
    lowest, highest = (
        torch.zeros_like(same).scatter_reduce(0, same, home, how, include_self=False) for how in ("amin", "amax")
    )
    copies = int((lowest != highest)[same].sum())
    if copies:
        warnings.warn(
            f"{copies} of {len(dataset)} examples {'has a copy' if copies == 1 else 'have copies'} in another fold, "
            "which makes results look too good: remove copies, or keep them together with `groups`.",
            DataWarning,
            stacklevel=3,
        )


def _check_ratios(ratios: tuple[int, int, int]) -> None:
    if len(ratios) != 3 or min(ratios) < 0 or ratios[0] == 0:
        raise ArgumentError(
            f"`ratios` must be three numbers that are not negative, the first above 0, such as (4, 1, 1), got {ratios}."
        )


def _sizes(count: int, ratios: tuple[int, ...], total: int) -> list[int]:
    """Round the validation and the test part down and give the rest to the training part."""
    held = [count * share // total for share in ratios[1:]]
    sizes = [count - sum(held), *held]
    for part, share, size in zip(PARTS, ratios, sizes, strict=True):
        if share and not size:
            least = max(-(-total // r) for r in ratios[1:] if r)
            raise DataError(
                f"{count} examples are too few to split {':'.join(map(str, ratios))}, the {part} part would be empty: "
                f"use at least {least} examples or other `ratios`."
            )
    return sizes


def _checked(groups: Tensor, dataset: Dataset) -> Tensor:
    if len(groups) != len(dataset):
        raise DataError(f"`groups` must have one number for each of the {len(dataset)} examples, got {len(groups)}.")
    return groups


def in_time(times: Float[Tensor, " batch"], ratios: tuple[int, int, int]) -> list[Int[Tensor, " _"]]:
    """Give the places of the past, of what came later and of the latest; rows of one moment stay together.

    >>> [part.tolist() for part in in_time(torch.tensor([3.0, 1.0, 2.0, 1.0, 4.0, 1.0]), (4, 1, 1))]
    [[1, 2, 3, 5], [0], [4]]
    """
    sizes, order = _sizes(len(times), ratios, sum(ratios)), times.sort().values
    later, latest = (float(order[place]) if place < len(order) else torch.inf for place in (sizes[0], sum(sizes[:2])))
    masks = [times < later, (times >= later) & (times < latest), times >= latest]
    for part, share, mask in zip(PARTS, ratios, masks, strict=True):
        if share and not bool(mask.any()):
            raise DataError(
                f"{len(times.unique())} different moments are too few to split {':'.join(map(str, ratios))} in order "
                f"of time, the {part} part would be empty: rows of one moment stay together."
            )
    return [mask.nonzero().flatten() for mask in masks]


_LABELED = {"classification": "class", "multilabel": "label"}
_COMMON = 6  # rows that make a combination of labels common enough to be spread by itself


def _strata(dataset: Dataset) -> Tensor | None:
    """Give the number of the class of each example, or None for targets that are no labels.

    Of several labels each common combination is a class, and rows of a rare one count for the rarest of their labels.
    """
    if dataset.spec.task not in _LABELED:
        return None
    targets = all_targets(dataset)
    if dataset.spec.task == "classification":
        return targets
    _, place, counts = targets.unique(dim=0, return_inverse=True, return_counts=True)
    often = targets.sum(0)
    rarest = torch.where(targets > 0, often, math.inf).argmin(1)
    rare = torch.where(targets.any(1), rarest, targets.shape[1])
    chosen = torch.where(counts[place] >= _COMMON, place, len(counts) + rare)
    return chosen.unique(return_inverse=True)[1]


def _by_chance(count: int, sizes: Sequence[int], generator: torch.Generator) -> list[Tensor]:
    order = torch.randperm(count, generator=generator)
    return [part.sort().values for part in order.split(list(sizes))]


def _by_class(labels: Tensor, sizes: Sequence[int], generator: torch.Generator) -> list[Tensor]:
    """Deal the shuffled examples of each class to the parts as `_shares` and `_in_every_part` say."""
    order = torch.randperm(len(labels), generator=generator)
    order = order[labels[order].argsort(stable=True)]
    counts = torch.bincount(labels).tolist()
    parts: list[list[Tensor]] = [[] for _ in sizes]
    for members, shares in zip(order.split(counts), _in_every_part(_shares(counts, sizes)), strict=True):
        for part, piece in zip(parts, members.split(shares), strict=True):
            part.append(piece)
    return [torch.cat(pieces).sort().values for pieces in parts]


def _shares(counts: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Round the table of ideal shares count * size / N to integers that keep all row and column sums.

    Every entry is rounded up or down, the largest remainders up where the sums allow it. Rows are decided one by one,
    small classes first; a choice is allowed if the open rows can still meet the sums: with m open rows, each of which
    gives a part at most one example more, every part may lack 0 to m of them (Gale and Ryser for three parts).
    """
    total = sum(sizes)
    down = [[count * size // total for size in sizes] for count in counts]
    lacking = [size - sum(row[j] for row in down) for j, size in enumerate(sizes)]
    open_rows = [i for i, row in enumerate(down) if sum(row) < counts[i]]
    for done, i in enumerate(sorted(open_rows, key=lambda i: counts[i]), 1):
        remainder = [counts[i] * size % total for size in sizes]
        choices = [
            chosen
            for chosen in combinations(range(len(sizes)), counts[i] - sum(down[i]))
            if all(0 <= lack - (j in chosen) <= len(open_rows) - done for j, lack in enumerate(lacking))
        ]
        for j in max(choices, key=lambda chosen: sum(remainder[j] for j in chosen)):
            down[i][j] += 1
            lacking[j] -= 1
    return down


def _in_every_part(shares: Sequence[Sequence[int]]) -> list[list[int]]:
    """Bring each class into as many parts as it has examples for, the first parts first; no part becomes empty.

    >>> _in_every_part([[2, 1, 0], [9, 1, 2], [0, 1, 0]])
    [[1, 1, 1], [9, 1, 2], [1, 0, 0]]
    """
    rows, sums = [list(row) for row in shares], [sum(column) for column in zip(*shares, strict=True)]
    wanted = [part for part, size in enumerate(sums) if size]
    for row in sorted(rows, key=sum, reverse=True):  # small classes last, when the parts have got all they can
        required = wanted[: sum(row)]
        for part in (part for part in required if not row[part]):
            donor = max(wanted, key=lambda other: row[other] - (other in required))
            if sums[donor] > 1:
                row[donor], row[part] = row[donor] - 1, row[part] + 1
                sums[donor], sums[part] = sums[donor] - 1, sums[part] + 1
    return rows


def _by_groups(
    groups: Tensor, labels: Tensor | None, sizes: Sequence[float], generator: torch.Generator
) -> list[Tensor]:
    """Give whole groups, large ones first, each to the part where it brings the classes nearest to their shares."""
    inverse = groups.unique(return_inverse=True)[1].numpy()
    wanted = [j for j, size in enumerate(sizes) if size > 0]
    many, classes = int(inverse.max()) + 1, np.zeros(len(inverse), int) if labels is None else labels.numpy()
    if many < len(wanted):
        raise DataError(
            f"{many} groups are too few for {len(wanted)} parts, since no group may be divided: "
            "give more groups or split without `groups`."
        )
    table = np.zeros((many, int(classes.max()) + 1))
    np.add.at(table, (inverse, classes), 1)
    shuffled = torch.randperm(many, generator=generator).numpy()
    order = shuffled[np.argsort(-table.sum(1)[shuffled], kind="stable")]
    lack = np.array([sizes[j] for j in wanted])[:, None] * table.sum(0) / len(inverse)
    weight, home, filled = 1 / np.maximum(table.sum(0), 1), np.zeros(many, int), np.zeros(len(wanted), int)
    for place, group in enumerate(order):
        gain = ((lack**2 - (lack - table[group]) ** 2) * weight).sum(1)
        if (filled == 0).sum() >= many - place:  # as many empty parts as groups are left
            gain[filled > 0] = -np.inf
        best = int(gain.argmax())
        home[group], lack[best], filled[best] = best, lack[best] - table[group], filled[best] + 1
    rows = torch.from_numpy(home[inverse])
    parts = [torch.zeros(0, dtype=torch.int64) for _ in sizes]
    for place, j in enumerate(wanted):
        parts[j] = (rows == place).nonzero().flatten()
    return parts


def _warn_rare(dataset: Dataset, parts: int) -> None:
    spec, labels = dataset.spec, all_targets(dataset)
    single = spec.task == "classification"
    counts = torch.bincount(labels, minlength=spec.outputs) if single else labels.sum(0)
    rare = [f"{name!r} ({n:.0f})" for name, n in zip(spec.classes, counts.tolist(), strict=True) if n < parts]
    if rare:
        what = "classes" if single else "labels"
        warnings.warn(
            f"{what} with fewer than {parts} examples cannot be in every part: {', '.join(rare[:10])}"
            f"{', ...' if len(rare) > 10 else ''}. A single example is used for training, a second one for validation.",
            DataWarning,
            stacklevel=3,
        )


def _copies(dataset: Dataset, parts: Sequence[Tensor], official: Dataset | None) -> tuple[int, int]:
    """Count validation and test examples whose inputs are also in the training part, where that is cheap to know."""
    marks = dataset.fingerprints() if isinstance(dataset, BaseDataset) else None
    if marks is None:
        return 0, 0
    others = [marks[parts[1]], marks[parts[2]]]
    if official is not None:
        found = official.fingerprints() if isinstance(official, BaseDataset) else None
        others[1] = marks[:0] if found is None else found
    train = marks[parts[0]].sort().values
    places = [torch.searchsorted(train, other).clamp(max=len(train) - 1) for other in others]
    validation, test = (int((train[place] == other).sum()) for place, other in zip(places, others, strict=True))
    return validation, test


def _unknown(train: Dataset, validation: Dataset, test: Dataset) -> str:
    """Count the categories of a table that only the held parts have, or refuse them if the reader asked for that."""
    spec = train.spec
    if spec.kind != "table" or not any(spec.levels):
        return ""
    found = getattr(train, "statistics", None)  # of a table that stays on disk
    known = categories(spec, train.take(torch.arange(len(train)))[0]) if found is None else found.known
    rows = [part.take(torch.arange(len(part)))[0] for part in (validation, test)]
    if spec.unknown == "error":
        refuse_unknown(spec, torch.cat(rows), known)
    held = [(unknown_rows(spec, part, known), name) for part, name in zip(rows, PARTS[1:], strict=True)]
    found = [
        f"{name!r} in " + " and ".join(f"{counts[name]} {part}" for counts, part in held if name in counts)
        for name in spec.features
        if any(name in counts for counts, _ in held)
    ]
    return f"; categories that no training example has count as other: {some(found)} examples" if found else ""


def _warn_copies(copies: tuple[int, int], sizes: tuple[int, int]) -> None:
    found = [f"{n} of {size} {part} examples" for n, size, part in zip(copies, sizes, PARTS[1:], strict=True) if n]
    if found:
        what = "is a copy of a training example" if sum(copies) == 1 else "are copies of training examples"
        warnings.warn(
            f"{' and '.join(found)} {what}, which makes results look too good: remove copies, or keep them together "
            "with `groups`.",
            DataWarning,
            stacklevel=3,
        )
