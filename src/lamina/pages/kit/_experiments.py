"""Run an experiment in a process of its own, and show what it found."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lamina.pages.kit import _blocks as blocks

if TYPE_CHECKING:
    from marimo import Html


def outcome(result: Any) -> "Html":
    """Show what an experiment gave: its table, and which claims hold in it.

    Args:
        result: an `experiments.Result`.
    """
    claims = [("holds" if claim.holds else "does not hold", claim.sentence) for claim in result.claims]
    return blocks.column(
        blocks.table(result.columns, result.rows, caption=result.title), blocks.table(("", "what is claimed"), claims)
    )


def measured(button: Any, job: Any, words: str) -> "Html":
    """Show a button and what the experiment behind it has found so far.

    Args:
        button: that starts it.
        job: an `experiment` in another process.
        words: what it does and how long that takes.
    """
    if job.rows:
        return blocks.column(button, outcome(job.rows[-1]["result"]))
    said = words if job.state == "idle" else f"In a process of its own: {job.words} …"
    parts = [button, blocks.note(said, "bad" if job.state == "failed" else "plain")]
    return blocks.column(*parts)


def experiment(key: str, run: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Run the experiment of a row of the catalogue.

    Args:
        key: the row, such as "N1.38".
        run: which measurement it is; another number measures again.
        options: those of the experiment.

    >>> row = next(experiment("N1.66", 1))
    >>> row["result"].rows[0]
    (600, 400, 100, 100, True)
    """
    from lamina.experiments import registry

    yield {"result": registry()[key](**options), "run": run}
