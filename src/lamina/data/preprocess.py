r"""From stored examples to what a network takes, with numbers fitted on the training part alone.

Pictures get the network's number of channels and size and are normalized by mean and standard deviation of each
channel; columns of numbers are standardized, missing values become the training mean and are marked in a column of
their own, categories become one column a value, rare ones share a column, dates become parts; real targets are
standardized, and predictions given in their units.
The columns of a series have one mean and standard deviation at all times; tokens stay the whole numbers they are. Texts
are prepared by `tokens.TextPreprocess`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch

from lamina._errors import DataError, choice
from lamina._types import Float, Num, Tensor
from lamina.data._dates import CYCLES, LINEAR, cyclic_parts, linear_parts, moment
from lamina.data._unknown import refuse_unknown, some, unknown_rows
from lamina.data.augment import Augment
from lamina.data.dataset import Dataset, Spec, Subset, _as_list, _as_tuple, _check_fields, all_targets
from lamina.data.source import Source
from lamina.data.statistics import Moments, TableStatistics

RESIZE = ("fit", "crop", "stretch")
RARE = 5  # categories with fewer training rows share an input ...
SHARE = 0.01  # ... unless they have at least this share of the rows, as in a small table
MANY = 1000  # at most so many categories of a column have an input of their own
_UNMEASURED = ("classification", "multilabel", "tagging", "description")  # tasks without real targets
_LARGEST = 2**28  # numbers of an example
_PART = 2**22  # numbers looked at together
_ENOUGH = 20_000  # pictures that fix mean and standard deviation when each of them must be decoded


@dataclass(frozen=True)
class Preprocess:
    r"""A fitted preparation of inputs and targets; plain numbers that travel with a run.

    $$\hat u_j = \frac{u_j - \mu_j}{\sigma_j}$$
    with mean and standard deviation (divisor N) of the training part; sigma = 1 where a feature is constant.

    Args:
        spec: what the stored examples are.
        inputs: the shape of one prepared example.
        kept: its shape before the last step, (channels, height, width) for pictures.
        scale: what a stored picture is multiplied by first: 1/255 for bytes.
        mean: of each channel, column of numbers or component.
        std: of the same.
        seen: for each column the numbers of the categories that have an input of their own.
        missing: for each column whether the training part lacks values there.
        fill: what stands in for a missing number: the mean of its column.
        target_mean: of real targets.
        target_std: of real targets.
        resize: how pictures change their proportions: "fit" pads with 0, "crop" keeps the middle, "stretch" distorts.
        pooled: for each column the numbers of the categories that are too rare in the training part for an input of
            their own and share one with each other and with unknown ones; in a column without rare ones an unknown
            category is none of the known.
        parts: for each column of dates the parts that differ in the training part: the year and the days since the
            first are standardized; month, weekday and hour return, and are the sine and cosine of an angle.
        first: for each column of dates the first moment of the training part, in seconds since 1970.

    >>> from lamina.data.synthetic import linear
    >>> data = linear(50)
    >>> prepare = Preprocess.fit(data)
    >>> prepared = prepare.apply(data.inputs)
    >>> prepared.dtype, bool(prepared.mean().abs() < 1e-6), bool((prepared.std(correction=0) - 1).abs() < 1e-6)
    (torch.float32, True, True)
    """

    spec: Spec
    inputs: tuple[int, ...]
    kept: tuple[int, ...]
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    seen: tuple[tuple[int, ...], ...] = ()
    missing: tuple[bool, ...] = ()
    fill: tuple[float, ...] = ()
    target_mean: tuple[float, ...] = ()
    target_std: tuple[float, ...] = ()
    resize: str = "fit"
    pooled: tuple[tuple[int, ...], ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    first: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, nothing in (("pooled", ()), ("parts", ()), ("first", 0.0)):
            object.__setattr__(self, name, getattr(self, name) or (nothing,) * len(self.seen))

    @classmethod
    def fit(
        cls,
        train: Dataset,
        inputs: tuple[int, ...] | int | None = None,
        *,
        resize: str = "fit",
        standardize: bool | None = None,
    ) -> "Preprocess":
        """Fit to the training part.

        Args:
            train: the training part; no other example has an influence.
            inputs: the shape the network takes, or its number of inputs; None keeps what is stored.
            resize: "fit", "crop" or "stretch" for pictures of other proportions.
            standardize: whether to shift and scale inputs; by default yes, but a truth table stays 0 and 1.

        >>> from lamina.data.load import load
        >>> Preprocess.fit(load("digits"), (1, 28, 28)).inputs
        (1, 28, 28)
        """
        choice("resize", resize, RESIZE)
        spec = train.spec
        if not len(train):
            raise DataError("preprocessing must be fitted on at least 1 training example, got 0.")
        if spec.kind in ("text", "pairs"):
            raise DataError(f"data of kind {spec.kind!r} need a dictionary: preprocess them with `TextPreprocess.fit`.")
        standardize = not spec.complete if standardize is None else standardize
        if spec.kind == "table":
            return _fit_table(train, inputs, standardize, resize)
        kept, prepared = _shapes(spec, spec.inputs, inputs)
        stored = train.take(torch.arange(1))[0]
        scale = 1 / 255 if spec.kind == "image" and stored.dtype == torch.uint8 else 1.0
        bare = cls(spec, prepared, kept, scale, (), (), resize=resize)
        if spec.kind == "tokens":
            mean = std = torch.zeros(0)
        elif standardize:
            size = max(math.prod(spec.inputs), math.prod(kept))
            parts = (bare.keep(part) for part in _inputs(train, size))
            if scale != 1:
                mean, std = _byte_moments(parts)
            elif spec.kind == "image":
                mean, std = _moments(part.movedim(1, -1).flatten(0, -2) for part in parts)
            elif spec.kind == "series":
                mean, std = _moments(part.flatten(0, -2) for part in parts)
            else:
                mean, std = _moments(part.flatten(1) for part in parts)
        else:
            width = {"image": kept[0], "series": kept[-1]}.get(spec.kind, math.prod(kept))
            mean, std = torch.zeros(width), torch.ones(width)
        return cls(spec, prepared, kept, scale, _numbers(mean), _numbers(std), (), (), (), *_fit_targets(train), resize)

    @property
    def kept_dtype(self) -> torch.dtype:
        """The type of a kept example: bytes where the stored pictures are bytes, int64 for tokens, else float32."""
        if self.spec.kind == "tokens":
            return torch.int64
        return torch.uint8 if self.scale != 1 else torch.float32

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the prepared columns of a table, in order."""
        return tuple(name for _, name in self._layout()) if self.spec.kind == "table" else self.spec.features

    @property
    def columns(self) -> dict[str, tuple[int, ...]]:
        """Which prepared columns each named column became, by their places in `names`."""
        if self.spec.kind != "table":
            return {name: (i,) for i, name in enumerate(self.spec.features)}
        layout = self._layout()
        return {
            name: tuple(i for i, (j, _) in enumerate(layout) if j == k) for k, name in enumerate(self.spec.features)
        }

    def _layout(self) -> list[tuple[int, str]]:
        """Give, for each prepared column of a table, the place of the column it comes from, and its name."""
        spec = self.spec
        names = list(enumerate(spec.features))
        numbers = [(j, name) for j, name in names if _is_number(spec)[j]]
        linear = [(j, f"{name} {part}") for j, name in names for part in LINEAR if part in self.parts[j]]
        cyclic = [
            (j, f"{name} {part} {way}")
            for j, name in names
            for part in CYCLES
            if part in self.parts[j]
            for way in ("sin", "cos")
        ]
        values = [
            (j, text)
            for j, name in names
            for text in (
                *(f"{name}={spec.levels[j][i]}" for i in self.seen[j]),
                *([f"{name} other"] * bool(self.pooled[j])),
            )
        ]
        return [*numbers, *linear, *values, *cyclic, *((j, f"{name} missing") for j, name in names if self.missing[j])]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was decided when fitting, for people."""
        names = self.spec.features
        shares = [f"{len(pooled)} of {name!r}" for name, pooled in zip(names, self.pooled, strict=False) if pooled]
        rare = (
            f"Categories with fewer than {RARE} training rows (in a small table, {100 * SHARE:g} % of them) share one "
            f"input per column with unknown ones: {some(shares)}."
        )
        dates = [
            f"The date {names[j]!r} becomes {', '.join(parts)}; days are counted from "
            f"{moment(self.first[j], self.spec.dates[j])}."
            for j, parts in enumerate(self.parts)
            if parts
        ]
        return (*([rare] if shares else []), *dates)

    def apply(self, inputs: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Prepare stored examples; a category that the training part does not have counts as other."""
        return self.finisher(inputs.device)(self.keep(inputs))

    def keep(self, inputs: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Make what is kept of stored examples: pictures of the network's size, still bytes, or finished rows."""
        if tuple(inputs.shape[1:]) != self.spec.inputs:
            raise DataError(
                f"examples must have the shape {self.spec.inputs} of the training data, got {tuple(inputs.shape[1:])}."
            )
        if self.spec.kind == "image":
            if inputs.is_floating_point() and self.kept_dtype == torch.uint8:
                raise DataError(f"pictures must be bytes (0 to 255) as in training, got {inputs.dtype}: convert them.")
            return resized(_with_channels(inputs, self.kept[0]), self.kept[1:], self.resize).to(self.kept_dtype)
        if self.spec.kind == "table":
            return self._rows(inputs)
        if not self.mean:
            return inputs
        mean, std = (_constant(numbers, inputs.device) for numbers in (self.mean, self.std))
        if self.spec.kind == "series":
            return ((inputs.double() - mean) / std).float()
        return ((inputs.flatten(1).double() - mean) / std).float().reshape(-1, *self.kept)

    def _rows(self, rows: Tensor) -> Tensor:
        """Join standardized numbers, a column for each category or for all rare ones, and marks of missing values."""
        spec = self.spec
        mean, std, fill = (_constant(values, rows.device) for values in (self.mean, self.std, self.fill))
        values = _linear(spec, rows, self.parts, self.first)
        filled = torch.where(values.isnan(), fill, values)
        blocks = [((filled - mean) / std).float()]
        if spec.unknown == "error":
            refuse_unknown(spec, rows, self._known)
        for column, (levels, seen, pooled) in enumerate(zip(spec.levels, self.seen, self.pooled, strict=True)):
            if levels:
                values = rows[:, column]
                hit = values[:, None] == torch.tensor(seen, dtype=values.dtype, device=rows.device)
                other = ~hit.any(1, keepdim=True) & ~values[:, None].isnan()
                blocks.append((torch.cat([hit, other], 1) if pooled else hit).float())
        for column, parts in enumerate(self.parts):
            blocks += [part.float()[:, None] for part in cyclic_parts(rows[:, column], parts)]
        gaps = [column for column, gap in enumerate(self.missing) if gap]
        return torch.cat([*blocks, rows[:, gaps].isnan().float()], 1)

    def unknown(self, inputs: Num[Tensor, "batch ..."]) -> dict[str, int]:
        """Count, for each column of a table, the rows whose category the training part does not have.

        >>> from lamina.data.dataset import ArrayDataset
        >>> spec = Spec("table", "regression", (1,), 1, features=("color",), levels=(("blue", "red"),))
        >>> prepare = Preprocess.fit(ArrayDataset(torch.zeros(4, 1), torch.zeros(4), spec))
        >>> prepare.unknown(torch.tensor([[1.0], [0.0], [-1.0], [torch.nan]]))
        {'color': 2}
        """
        return unknown_rows(self.spec, inputs, self._known) if self.spec.kind == "table" else {}

    @property
    def _known(self) -> list[tuple[int, ...]]:
        return [(*seen, *pooled) for seen, pooled in zip(self.seen, self.pooled, strict=True)]

    def finisher(self, device: torch.device | str) -> Callable[[Tensor], Tensor]:
        """Give the last step: pictures are normalized, everything gets the network's shape. No host is asked."""
        shape, affine = self.inputs, self.affine(device)
        if affine is None:
            return lambda kept: kept.reshape(-1, *shape)
        factor, shift = (number[:, None, None] for number in affine)
        return lambda kept: (kept.float() * factor + shift).reshape(-1, *shape)

    def affine(self, device: torch.device | str) -> tuple[Tensor, Tensor] | None:
        """Give factor and shift of each channel, by which kept pictures are normalized; None for other data."""
        if self.spec.kind != "image":
            return None
        std = torch.tensor(self.std, dtype=torch.float64)
        factor = (self.scale / std).to(device, torch.float32)
        return factor, (-torch.tensor(self.mean, dtype=torch.float64) / std).to(device, torch.float32)

    def targets(self, targets: Num[Tensor, "batch ..."]) -> Num[Tensor, "batch ..."]:
        """Prepare targets: labels as int64; real ones standardized, float32, [batch, outputs] or their own shape.

        Those of a multi-label task stay 0 and 1, float32, [batch, outputs].
        """
        if self.spec.task in ("classification", "tagging"):
            return targets.long()
        if self.spec.task == "multilabel":
            return targets.float()
        shape = (self.spec.outputs,) if self.spec.task == "regression" else self.spec.target_shape
        mean, std = (_constant(numbers, targets.device) for numbers in (self.target_mean, self.target_std))
        columns = targets.double().reshape(len(targets), *shape)
        return ((columns - mean) / std).float()

    def untargets(self, outputs: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Give real outputs of a network in the units of the stored targets, those of a classifier as they are."""
        if self.spec.task in ("classification", "multilabel", "tagging"):
            return outputs
        mean, std = (_constant(numbers, outputs.device) for numbers in (self.target_mean, self.target_std))
        return (outputs.double() * std + mean).to(outputs.dtype)

    def source(
        self,
        dataset: Dataset,
        device: torch.device | str = "cpu",
        budget: int = 2 * 2**30,
        augment: Augment | None = None,
    ) -> Source:
        """Give prepared batches of a dataset on a device; see `Source`, and `BlockSource` for a large table."""
        if getattr(dataset, "statistics", None) is not None:
            from lamina.data.block_source import BlockSource

            return BlockSource(cast(Any, dataset), self, device, augment)
        return Source(dataset, self, device, budget, augment)

    def as_dict(self) -> dict[str, Any]:
        """Give plain JSON values; `from_dict` takes them back, every number exactly."""
        return {**_as_list(asdict(self)), "spec": self.spec.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Preprocess":
        """Make a preparation of what `as_dict` gave.

        >>> from lamina.data.synthetic import moons
        >>> prepare = Preprocess.fit(moons(20))
        >>> Preprocess.from_dict(prepare.as_dict()) == prepare
        True
        """
        _check_fields(cls, values, "preprocessing")
        rest = {name: _as_tuple(value) for name, value in values.items() if name != "spec"}
        return cls(Spec.from_dict(values["spec"]), **rest)

    def _lengths(self) -> dict[str, int]:
        """Say how many entries fields must have for these data; torch would repeat a single one in silence."""
        spec, columns = self.spec, len(self.spec.levels) if self.spec.kind == "table" else 0
        if columns:
            width = sum(_is_number(spec)) + sum(part in LINEAR for parts in self.parts for part in parts)
        else:
            width = {"image": self.kept[0], "series": self.kept[-1], "tokens": 0}.get(spec.kind, math.prod(self.kept))
        real = 0 if spec.task in _UNMEASURED else spec.outputs if spec.task == "regression" else 1
        return {
            **dict.fromkeys(("seen", "missing", "pooled", "parts", "first"), columns),
            **{"mean": width, "std": width, "fill": width if columns else 0, "target_mean": real, "target_std": real},
        }

    def check(self) -> None:
        """Refuse a preparation whose numbers do not fit its data, before somebody computes with it.

        Raises:
            ValueError: or what torch raises; whoever has read a file says which one is damaged.
        """
        spec = self.spec
        for name, length in self._lengths().items():
            if len(getattr(self, name)) != length:
                raise ValueError(f"the length of `{name}` must be {length}, got {len(getattr(self, name))}")
        for name in ("mean", "std", "fill", "target_mean", "target_std", "first"):
            for number in getattr(self, name):
                if not math.isfinite(number) or (name.endswith("std") and number <= 0):
                    raise ValueError(f"`{name}` has the value {number}")
        if max(math.prod(spec.inputs), math.prod(self.kept), spec.outputs) > _LARGEST:
            sizes = f"{spec.inputs} kept as {self.kept}, and {spec.outputs} outputs"
            raise ValueError(f"an example must have at most {_LARGEST} numbers, got {sizes}")
        example = torch.zeros(1, *spec.inputs, dtype=torch.uint8 if spec.kind == "image" else torch.float64)
        if self.apply(example).shape != (1, *self.inputs):
            raise ValueError(f"its numbers are not those of inputs {self.inputs}")
        if spec.task not in _UNMEASURED:
            self.untargets(self.targets(torch.zeros(1, *(spec.target_shape or (spec.outputs,)))))


def _with_channels(
    images: Num[Tensor, "batch channel height width"], channels: int
) -> Num[Tensor, "batch other height width"]:
    """Turn gray pictures into RGB by repetition, or RGB into gray by luminance, as Pillow does."""
    have = images.shape[1]
    if have == channels:
        return images
    if (have, channels) == (1, 3):
        return images.expand(-1, 3, -1, -1)
    if (have, channels) != (3, 1):
        raise DataError(f"pictures of {have} channels cannot be given {channels}: only 1 (gray) and 3 (RGB) are known.")
    if images.is_floating_point():
        weight = torch.tensor([0.299, 0.587, 0.114], dtype=images.dtype, device=images.device)
        return (images * weight[:, None, None]).sum(1, keepdim=True)
    weight = torch.tensor([19595, 38470, 7471], dtype=torch.int32, device=images.device)
    return ((images.int() * weight[:, None, None]).sum(1, keepdim=True) + 0x8000 >> 16).to(images.dtype)


def resized(
    images: Num[Tensor, "batch channel height width"], size: tuple[int, ...], policy: str = "fit"
) -> Num[Tensor, "batch channel other_height other_width"]:
    """Scale pictures bilinearly (smoothed when they shrink); bytes stay bytes.

    Args:
        images: bytes or floats.
        size: the wanted (height, width).
        policy: "fit" scales until the longer side fits and pads with 0; "crop" keeps the middle that has the wanted
            proportions; "stretch" ignores the proportions.

    >>> resized(torch.tensor([[[[0, 100]]]], dtype=torch.uint8), (1, 4), "stretch").tolist()
    [[[[0, 25, 75, 100]]]]
    """
    choice("policy", policy, RESIZE)
    height, width = images.shape[2:]
    if (height, width) == tuple(size):
        return images
    if policy == "crop":
        factor = max(size[0] / height, size[1] / width)
        part = max(1, round(size[0] / factor)), max(1, round(size[1] / factor))
        top, left = (height - part[0]) // 2, (width - part[1]) // 2
        return resized(images[:, :, top : top + part[0], left : left + part[1]], size, "stretch")
    if policy == "fit":
        factor = min(size[0] / height, size[1] / width)
        part = max(1, round(height * factor)), max(1, round(width * factor))
        top, left = (size[0] - part[0]) // 2, (size[1] - part[1]) // 2
        border = left, size[1] - part[1] - left, top, size[0] - part[0] - top
        return torch.nn.functional.pad(resized(images, part, "stretch"), border)
    floats = images if images.is_floating_point() else images.float()
    scaled = torch.nn.functional.interpolate(floats, tuple(size), mode="bilinear", align_corners=False, antialias=True)
    # Many a mean of bytes lies halfway between two: the nudge, larger than a rounding error, always takes the larger.
    return scaled if images.is_floating_point() else (scaled + 2**-10).round().clamp(0, 255).to(images.dtype)


def _fit_table(train: Dataset, inputs: tuple[int, ...] | int | None, standardize: bool, resize: str) -> Preprocess:
    spec = train.spec
    found = getattr(train, "statistics", None)  # a table on disk was counted when it was split
    if found is None:
        found = TableStatistics(spec)
        for rows in _inputs(train, len(spec.levels)):
            found.add(rows)
    parts, (mean, std) = found.parts, found.linear()
    fill = mean
    if not standardize:
        mean, std = torch.zeros_like(mean), torch.ones_like(std)
    own = [_categories(counts, found.rows) for counts in found.counts]
    seen, pooled = tuple(often for often, _ in own), tuple(rare for _, rare in own)
    width = len(mean) + sum(map(len, seen)) + sum(map(bool, pooled)) + sum(found.missing)
    width += sum(2 * (part in CYCLES) for own in parts for part in own)
    kept, prepared = _shapes(spec, (width,), inputs)
    targets = _fit_targets(train)
    return Preprocess(
        spec,
        prepared,
        kept,
        1.0,
        _numbers(mean),
        _numbers(std),
        seen,
        found.missing,
        _numbers(fill),
        *targets,
        resize,
        pooled,
        parts,
        found.first,
    )


def _is_number(spec: Spec) -> list[bool]:
    """Say for each column of a table whether it holds numbers: neither categories nor dates."""
    return [not levels and not date for levels, date in zip(spec.levels, spec.dates, strict=True)]


def _linear(spec: Spec, rows: Tensor, parts: Sequence[tuple[str, ...]], first: Sequence[float]) -> Tensor:
    """Give the columns of numbers and the years and days of dates, NaN where a value is missing."""
    dates = [part for j, own in enumerate(parts) for part in linear_parts(rows[:, j], own, first[j])]
    mine = [column for column, number in enumerate(_is_number(spec)) if number]
    numbers = (rows if len(mine) == rows.shape[1] else rows[:, mine]).double()
    return torch.cat([numbers, *(part[:, None] for part in dates)], 1) if dates else numbers


def _categories(counts: Tensor, rows: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give the categories of a training column that have an input of their own, and those too rare for one."""
    found = counts.nonzero().flatten()
    counts = counts[found]
    own = counts >= min(RARE, SHARE * rows)
    own[counts.argsort(descending=True, stable=True)[MANY:]] = False
    return tuple(found[own].tolist()), tuple(found[~own].tolist())


def _fit_targets(train: Dataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Give mean and standard deviation of real targets.

    They are those of each output, of a series of each column at all times, of a structured target of all its entries.
    """
    spec = train.spec
    if spec.task in _UNMEASURED:
        return (), ()
    if spec.kind == "table" and (found := getattr(train, "statistics", None)) is not None:
        mean, std = found.target_moments()
        return _numbers(mean), _numbers(std)
    if spec.task == "structured" and train.take(torch.arange(1))[1].dtype == torch.uint8:
        return (0.0,), (255.0,)
    columns = len(spec.target.split(", ")) if spec.kind == "series" and spec.target else spec.outputs
    width = columns if spec.task == "regression" and spec.outputs % columns == 0 else 1
    mean, std = _moments(part.reshape(-1, width) for part in all_targets(train).split(_PART))
    times = spec.outputs // width if spec.task == "regression" else 1
    return _numbers(mean) * times, _numbers(std) * times


def _inputs(train: Dataset, size: int) -> Iterator[Tensor]:
    """Read inputs of this size part by part; of pictures that must be decoded, evenly spaced ones are enough."""
    whole, base = torch.arange(len(train)), train
    while isinstance(base, Subset):
        base = base.dataset
    if train.spec.kind == "image" and getattr(base, "inputs", None) is None and len(train) > _ENOUGH:
        whole = torch.linspace(0, len(train) - 1, _ENOUGH).long()
    for part in whole.split(max(1, _PART // size)):
        yield train.take(part)[0]


def _byte_moments(parts: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Compute mean and standard deviation of each channel of bytes / 255, exactly up to the last division.

    Sums of 256 squares of bytes are below 2^24 and therefore exact in float32, in whatever order they are added.
    """
    count, sums, squares = 0, torch.zeros(()), torch.zeros(())
    for part in parts:
        channels = part.transpose(0, 1).flatten(1)
        count += channels.shape[1]
        blocks = torch.nn.functional.pad(channels, (0, -channels.shape[1] % 256)).float().unflatten(1, (-1, 256))
        sums, squares = sums + blocks.sum(2).double().sum(1), squares + blocks.square().sum(2).double().sum(1)
    totals = [(int(first), int(second)) for first, second in zip(sums.tolist(), squares.tolist(), strict=True)]
    mean = [first / (255 * count) for first, _ in totals]
    std = [math.sqrt(count * second - first**2) / (255 * count) or 1.0 for first, second in totals]
    return torch.tensor(mean, dtype=torch.float64), torch.tensor(std, dtype=torch.float64)


def _moments(parts: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column over all parts."""
    found = Moments()
    for part in parts:
        found.add(part)
    return found.mean, found.std


def _shapes(
    spec: Spec, natural: tuple[int, ...], wanted: tuple[int, ...] | int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Decide the kept shape and the prepared shape from what the data are and what the network takes."""
    shape = (wanted,) if isinstance(wanted, int) else natural if wanted is None else tuple(wanted)
    if math.prod(shape) == math.prod(natural) and not (spec.kind == "image" and len(shape) == 3):
        return natural, shape
    if spec.kind != "image":
        raise DataError(
            f"the network takes inputs of shape {shape}, but these data have {math.prod(natural)} numbers per example "
            f"after preprocessing: build it with inputs={math.prod(natural)}."
        )
    if len(shape) == 3:
        _with_channels(torch.zeros(1, natural[0], 1, 1), shape[0])
        return shape, shape
    for channels in (natural[0], 1, 3):
        side = math.isqrt(shape[0] // channels)
        if len(shape) == 1 and channels * side * side == shape[0]:
            return (channels, side, side), shape
    raise DataError(
        f"pictures of shape {natural} cannot be given the shape {shape} that the network takes: "
        "ask for (channels, height, width), or for the size of a square gray or RGB picture."
    )


def _constant(numbers: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64, device=device)


def _numbers(values: Tensor) -> tuple[float, ...]:
    return tuple(values.double().flatten().tolist())
