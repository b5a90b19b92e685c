"""Why a trained network gave an answer: which pixels, columns or words have to do with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lamina._errors import ArgumentError, nearest
from lamina._types import Float, Num, Tensor
from lamina.functional.attribution import contribution, enlarged, occlusion, saliency
from lamina.inspection.attribution import Choose, class_map, input_gradient, word_contributions

if TYPE_CHECKING:
    from lamina.drawing.scene import Scene
    from lamina.training.run import Run

SHOWN = 12
"""Columns that an explanation shows, the strongest first."""
PATCHES = 8
"""How many squares of occlusion fit into the shorter side of a picture."""


@dataclass(frozen=True)
class Seen:
    """An example as a network takes it, and its parts as people know them.

    Args:
        name: of the example, such as a file.
        inputs: a batch of one, prepared.
        picture: the stored picture.
        size: channels, height and width of the picture as the network takes it, perhaps as a vector.
        columns: the places of each named column on the last axis of the inputs.
        values: what the columns hold, as it was written.
        words: of a text, one for each token.
    """

    name: str
    inputs: Num[Tensor, "1 ..."]
    picture: Num[Tensor, "channel height width"] | None = None
    size: tuple[int, ...] = ()
    columns: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a network gave an answer for one example.

    Args:
        name: of the example.
        answer: what the network says, in words.
        of: the class, label or target that is explained.
        unit: what the numbers are in.
        maps: for a picture, a number for each of its pixels, by method: Grad-CAM, saliency, occlusion.
        picture: the picture.
        parts: for a table, a series or a text, what each column or word adds: its name or the word, its value, a
            number. Columns come with the strongest first, words in their order.
        text: whether the parts are words.
    """

    name: str
    answer: str
    of: str
    unit: str
    maps: Mapping[str, Float[Tensor, "height width"]] = field(default_factory=dict)
    picture: Num[Tensor, "channel height width"] | None = None
    parts: tuple[tuple[str, str, float], ...] = ()
    text: bool = False

    @property
    def title(self) -> str:
        """The example and the answer, in a line."""
        named = "" if self.of in self.answer else f", why {self.of}?"
        name = self.name if len(self.name) <= 40 else self.name[:39] + "…"
        return f"{name}: {self.answer}{named}"

    def __repr__(self) -> str:
        return f"Explanation({self.title})"

    def lines(self, count: int = SHOWN) -> list[str]:
        """Say it in lines for a terminal: the strongest parts, or where the heat of each map is greatest."""
        if self.parts:
            strong = sorted(self.parts, key=lambda part: -abs(part[2]))[:count]
            named = [(f"{name} = {value}" if value else name, number) for name, value, number in strong]
            long = max(len(name) for name, _ in named)
            return [f"  {name:<{long}}  {number:+.3g}" for name, number in named] + [f"  ({self.unit})"]
        lines = []
        for method, heat in self.maps.items():
            row, column = divmod(int(heat.argmax()), heat.shape[1])
            lines.append(f"  {method}: strongest at row {row}, column {column} of {heat.shape[0]} x {heat.shape[1]}")
        return lines

    def scene(self) -> "Scene":
        """Draw it."""
        from lamina.drawing import why
        from lamina.drawing.panels import picture_grid

        if self.text:
            words = [name for name, _, _ in self.parts]
            return why.colored_words(words, [n for _, _, n in self.parts], title=self.answer, unit=self.unit)
        if self.picture is None:
            shown = [(f"{name} = {value}" if value else name, number) for name, value, number in self.parts[:SHOWN]]
            return why.parts_chart(shown, title=self.title, unit=self.unit)
        pixels = picture_pixels(self.picture)
        pictures = [pixels, *(why.heated(pixels, heat.tolist()) for heat in self.maps.values())]
        cell = max(160.0, min(320.0, float(len(pixels[0]))))
        labels = [self.name if len(self.name) < cell / 6 else "picture", *self.maps]
        return picture_grid(
            pictures,
            len(pictures),
            cell=cell,
            gap=6,
            labels=labels,
            caption=self.answer,
            title=self.title,
            description=f"Red speaks for {self.of}, blue against it.",
        )

    def _repr_svg_(self) -> str:
        from lamina.drawing.svg import svg

        return svg(self.scene())

    def save(self, path: str | Path) -> Path:
        """Draw it to a file: .svg, .tex, .pdf or .png."""
        from lamina.drawing.save import save

        return save(self.scene(), path)


def picture_pixels(picture: Num[Tensor, "channel height width"]) -> list[list[Any]]:
    """Give a stored picture as rows of gray values or of red, green, blue, 0 to 255."""
    scaled = picture.float() if not picture.is_floating_point() else picture.clamp(0, 1) * 255
    return scaled[0].tolist() if len(picture) != 3 else scaled.permute(1, 2, 0).tolist()


def explain(
    run: "Run", what: Any, of: str | None = None, most: int | None = None, occluded: bool = True
) -> list[Explanation]:
    """Explain the answers of a run.

    Args:
        run: a trained network.
        what: what `Run.predict` takes.
        of: the class, label or target to explain; by default what the network answers, or the first target.
        most: how many examples to explain at most.
        occluded: whether to cover parts of pictures, which takes a few hundred predictions for each.
    """
    task, found = run.task, []
    for seen in task.seen(run.model, what)[:most]:
        predicted = task.told((seen.name,), run.model(seen.inputs).detach().cpu())
        names = task.aims()
        if of is not None and of not in names:
            raise ArgumentError(f"`of` must be one of {', '.join(names)}, got {of!r}{nearest(of, names)}")
        best = int(predicted.values[0].argmax()) if predicted.classes else 0
        place = best if of is None else names.index(of)
        answer = predicted.answers[0]
        if predicted.classes and not predicted.texts:
            answer = f"{answer} ({100 * float(predicted.values[0].max()):.0f} %)"
        choose, unit = task.aim(place)
        about = {"name": seen.name, "answer": answer, "of": names[place], "unit": unit}
        found.append(_explained(run.model, seen, choose, about, occluded))
    return found


def _explained(model: nn.Module, seen: Seen, choose: Choose, about: dict[str, Any], occluded: bool) -> Explanation:
    if seen.words:
        numbers = word_contributions(model, seen.inputs, choose).cpu().tolist()
        parts = [(word, "", number) for word, number in zip(seen.words, numbers, strict=True)]
        return Explanation(**about, parts=tuple(parts), text=True)
    if seen.picture is not None:
        return Explanation(**about, maps=picture_maps(model, seen, choose, occluded), picture=seen.picture)
    inputs = seen.inputs
    adds = contribution(input_gradient(model, inputs, choose), inputs).reshape(-1, inputs.shape[-1]).sum(0).cpu()
    columns = [(name, str(seen.values.get(name, "")), float(adds[list(at)].sum())) for name, at in seen.columns.items()]
    return Explanation(**about, parts=tuple(sorted(columns, key=lambda part: -abs(part[2]))))


def heat_of(model: nn.Module, seen: Seen, choose: Choose, side: int) -> Num[Tensor, "3 height width"]:
    """Draw where a small picture speaks for an output: Grad-CAM, or saliency where a network has no maps."""
    from lamina.drawing.why import heated

    assert seen.picture is not None
    maps = picture_maps(model, seen, choose, occluded=False)
    share = min(1.0, side / max(seen.picture.shape[-2:]))
    height, width = (max(1, round(share * size)) for size in seen.picture.shape[-2:])
    scaled = seen.picture if seen.picture.is_floating_point() else seen.picture / 255
    gray = enlarged(scaled.mean(0), height, width)
    pixels = heated((255 * gray).tolist(), enlarged(next(iter(maps.values())), height, width).tolist())
    return torch.tensor(pixels, dtype=torch.uint8).permute(2, 0, 1)


def picture_maps(
    model: nn.Module, seen: Seen, choose: Choose, occluded: bool
) -> dict[str, Float[Tensor, "height width"]]:
    """Compute the maps of a picture at its stored size; a network that reads it as a vector has no Grad-CAM."""
    assert seen.picture is not None
    height, width = seen.picture.shape[-2:]
    inputs, maps = seen.inputs, {}
    size = inputs.shape[1:] if inputs.dim() == 4 else seen.size or seen.picture.shape

    def output(pictures: Tensor) -> Tensor:
        return choose(model(pictures.reshape(len(pictures), *inputs.shape[1:])))

    if inputs.dim() == 4:
        try:
            maps["Grad-CAM"] = class_map(model, inputs, choose)
        except ArgumentError:  # no convolution with maps: the other two do
            pass
    maps["saliency"] = saliency(input_gradient(model, inputs, choose)[0].reshape(size))
    if occluded:
        maps["occlusion"] = occlusion(output, inputs[0].reshape(size), max(2, min(size[-2:]) // PATCHES * 2))
    return {name: enlarged(heat.float(), height, width).cpu() for name, heat in maps.items()}
