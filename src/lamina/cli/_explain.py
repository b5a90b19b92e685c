"""The verb explain."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._options import Json, RunPath
from lamina.cli._tables import show_json
from lamina.cli._usage import number
from lamina.cli._voice import say


def explain(
    run: RunPath,
    inputs: Annotated[
        list[str], Argument(metavar="INPUT...", help="Pictures, a table, a file of texts, or texts, as for `predict`.")
    ],
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="Draw to this file: .png, .svg, .pdf or .tex; several are numbered."),
    ] = None,
    of: Annotated[
        str | None, Option("--of", help="Which class, label or target to explain; by default the answer.")
    ] = None,
    top: Annotated[int, number(help="Number of columns or words to show, the strongest first.", least=1)] = 12,
    most: Annotated[int, number(help="Number of examples to explain at most.", least=1)] = 10,
    as_json: Json = False,
) -> None:
    """Say why a trained network answers as it does: which pixels, columns or words have to do with it."""
    from lamina.drawing.save import suffix_of
    from lamina.training.run import Run

    if output is not None:
        suffix_of(output)
    trained = Run.load(run)
    found = trained.explain(inputs, of=of, most=most)
    if not found:
        raise ArgumentError("there is nothing to explain: every text is blank.")
    files = _named(output, len(found))
    for each, file in zip(found, files, strict=True):
        if file is not None:
            each.save(file)
    if as_json:
        rows = [
            {
                "name": each.name,
                "answer": each.answer,
                "of": each.of,
                "parts": [{"part": name, "value": value, "adds": adds} for name, value, adds in each.parts],
                "maps": {name: heat.tolist() for name, heat in each.maps.items()},
            }
            for each in found
        ]
        show_json(rows, None)
        return
    for each, file in zip(found, files, strict=True):
        say(each.title, *each.lines(top), *([f"  drawn to {file}"] if file else []))


def _named(output: Path | None, count: int) -> list[Path | None]:
    """Give the files of several drawings their numbers.

    >>> [path.name for path in _named(Path("why.png"), 2)], _named(None, 1)
    (['why-1.png', 'why-2.png'], [None])
    """
    if output is None or count == 1:
        return [output] * count
    return [output.with_stem(f"{output.stem}-{i + 1}") for i in range(count)]
