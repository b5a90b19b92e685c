"""`lamina experiment`: try a claim of the notes."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lamina._errors import ArgumentError
from lamina.cli._options import Json
from lamina.cli._tables import show, show_json
from lamina.cli._usage import number


def experiment(
    identifier: Annotated[
        str | None, Argument(metavar="ID", help="A catalogue id such as N4.12, or the name of an experiment.")
    ] = None,
    list_all: Annotated[bool, Option("--list", help="List all experiments and exit.")] = False,
    seeds: Annotated[
        int | None, number(help="Number of random seeds; the experiment's own by default.", least=1, most=10_000)
    ] = None,
    first_seed: Annotated[int, number(help="First random seed; another one gives fresh random numbers.")] = 0,
    output: Annotated[
        Path | None, Option("-o", "--output", help="Draw the table as a .svg, .pdf, .png or .tex file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Test a claim of the notes: print a small table and whether each claim holds in it (exit code 1 if one fails)."""
    if list_all or identifier is None:
        _list(as_json)
        return
    function = _find(identifier)
    if output is not None:
        from lamina.drawing.save import suffix_of

        suffix_of(output)
    result = function(**_options(function, identifier, seeds, first_seed))
    if output is not None:
        from lamina.drawing.save import save
        from lamina.experiments.plots import plot

        save(plot(result), output)
    if as_json:
        show_json(_plain(identifier, function, result, output))
    else:
        print(result)
        if output is not None:
            print(f"drawn: {output}")
    if not all(claim.holds for claim in result.claims):
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    from lamina.experiments import registry

    found: dict[Any, list[str]] = {}
    for key, function in registry().items():
        found.setdefault(function, []).append(key)
    rows = [(ids, function.__name__, (function.__doc__ or "").split("\n")[0]) for function, ids in found.items()]
    if as_json:
        show_json([{"ids": ids, "name": name, "what": what} for ids, name, what in rows])
        return
    show(("id", "experiment", "what it does"), [(", ".join(ids), name, what) for ids, name, what in rows])


def _find(identifier: str) -> Any:
    from lamina.experiments import registry

    found = registry()
    by_name = {function.__name__: function for function in found.values()}
    function = found.get(identifier.upper()) or by_name.get(identifier)
    if function is None:
        from lamina._catalogue import items

        known = identifier.upper() in items()
        why = "is in the catalogue but has no experiment" if known else "is not the id of an experiment"
        raise ArgumentError(f"`ID` {identifier!r} {why}: `lamina experiment --list` shows all of them.")
    return function


def _options(function: Any, identifier: str, seeds: int | None, first_seed: int) -> dict[str, Any]:
    import inspect

    from lamina.experiments.result import drawing_from

    known = inspect.signature(function).parameters
    count = len(known["seeds"].default) if seeds is None and "seeds" in known else seeds or 1
    options = drawing_from(function, range(first_seed, first_seed + count))
    if seeds is not None and "seeds" not in options:
        raise ArgumentError(f"`--seeds` has no meaning for {identifier}: {function.__name__} runs once; leave it out.")
    if first_seed and not options:
        raise ArgumentError(
            f"`--first-seed` has no meaning for {identifier}: {function.__name__} uses no random numbers; leave it out."
        )
    return options


def _plain(identifier: str, function: Any, result: Any, output: Path | None) -> dict[str, Any]:
    """Give a result as what JSON can say."""
    return {
        "id": identifier.upper(),
        "experiment": function.__name__,
        "title": result.title,
        "rows": [dict(zip(result.columns, row, strict=True)) for row in result.rows],
        "claims": [
            {**vars(claim), "holds": bool(claim.holds), "numbers": dict(claim.numbers)} for claim in result.claims
        ],
        "draw": None if result.plot is None else asdict(result.plot),
        "plot": None if output is None else str(output),
    }
