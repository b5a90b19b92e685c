"""Run an experiment in a process of its own, and show what it found."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lamina.pages.kit import _blocks as blocks
from lamina.pages.kit._jobs import train
from lamina.pages.kit._recorded import finding, recorded

if TYPE_CHECKING:
    from marimo import Html


def outcome(result: Any, sentence: str) -> "Html":
    """Show what an experiment gave just now, as `recorded` shows what it gave once.

    Args:
        result: an `experiments.Result`.
        sentence: what it says, as `recorded` takes it.
    """
    return finding(result, "Measured just now: " + sentence)


def waiting(job: Any, idle: str) -> "Html":
    """Say what a job that has not told anything yet is doing.

    Args:
        job: work in another process.
        idle: what to say before it was started.
    """
    words = idle if job.state == "idle" else f"In a process of its own: {job.words} …"
    return blocks.note(words, "bad" if job.state == "failed" else "plain")


def experiment_button(label: str) -> Any:
    """Make a button that runs an experiment; `measured` shows it in the next cell."""
    made: Any = blocks.button(label)
    made.work = train(experiment)
    return made


def measured(button: Any, key: str, sentence: str, idle: str, beside: Sequence[Any] = (), **options: Any) -> "Html":
    """Show an `experiment_button` and what the experiment behind it has found: at first, what was recorded.

    Args:
        button: that starts it.
        key: the row of the catalogue that the experiment belongs to.
        sentence: what the record says, as `recorded` takes it.
        idle: what the button measures and how long that takes.
        beside: more widgets; all then stand at the left of the result.
        options: those of the experiment.
    """

    def draw(job: Any) -> "Html":
        told = (
            blocks.column(blocks.note(idle), recorded(_name(key), sentence))
            if job.state == "idle"
            else waiting(job, idle)
        )
        found = outcome(job.rows[-1]["result"], sentence) if job.rows else told
        if not beside:
            return blocks.column(button, found)
        return blocks.panel(blocks.controls("Measurements", *beside, button), found)

    return button.work.show(draw, running=button.value > 0, key=key, run=button.value, **options)


def _name(key: str) -> str:
    from lamina.experiments import registry

    return str(registry()[key].__name__)


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
