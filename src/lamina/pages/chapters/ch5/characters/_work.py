"""The work of the page on characters: a language model that writes while it learns."""

from collections.abc import Iterator
from dataclasses import asdict
from importlib.resources import files
from itertools import chain
from typing import Any

import torch

from lamina._errors import DataError, choice
from lamina._types import Int, Tensor
from lamina.architectures.decoding import sample
from lamina.architectures.recurrent import ManyToMany, ManyToManyConfig
from lamina.data.store import find
from lamina.data.text.batching import stream_windows
from lamina.data.text.corpora import tinyshakespeare
from lamina.data.text.phrasebook import sentences
from lamina.data.text.texts import RunningText, running_text_of
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import PAD, SPECIAL
from lamina.experiments.trained import EAGER, parts
from lamina.functional.losses import negative_log_likelihood
from lamina.functional.recurrent import State
from lamina.pages.kit._races import paced
from lamina.training.loop import Progress
from lamina.training.recipe import Adam, Clip, Recipe, Schedule, Stopping
from lamina.training.tasks._batches import as_state, no_state
from lamina.training.tasks.texts import _prompt, continue_text
from lamina.training.train import train

SOURCES = ("english", "german", "code", "shakespeare", "own")
"""Sentences of the phrase book in two languages, formulas of this library as Python, plays, or what a visitor gives."""
TEXTS = {
    "English phrases": "english",
    "German phrases": "german",
    "Python code": "code",
    **({"tiny Shakespeare": "shakespeare"} if find("tinyshakespeare") else {}),
    "my own text": "own",
}
"""The texts to choose from, by their names; the plays only where they lie on the disk."""
TEMPERATURES = (0.0, 0.5, 0.8, 1.0, 1.3)
"""At which a sample is written with every row."""
SHORTEST, LONGEST = 400, 2_000_000
"""Characters of a text that can be learned here."""
WINDOW, READERS, SAMPLE = 50, 16, 160


def text_of(source: str, own: str = "") -> str:
    """Give the text to learn.

    >>> text_of("german")[:23]
    'Heute scheint die Sonne'
    >>> text_of("own", "too short")
    Traceback (most recent call last):
    lamina._errors.DataError: the text has 9 characters, but 400 to 2,000,000 are needed: choose another one.
    """
    choice("source", source, SOURCES)
    if source in ("english", "german"):
        return "\n".join(pair[source == "german"] for pair in sentences(4000))
    if source == "code":
        folder = files("lamina.functional")
        names = ("activations", "dense", "losses", "recurrent", "optimizers", "clipping", "encoding")
        return "\n".join(folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in names)
    text = running_text_of(tinyshakespeare()) if source == "shakespeare" else own
    if not SHORTEST <= len(text) <= LONGEST:
        raise DataError(
            f"the text has {len(text):,} characters, but {SHORTEST} to {LONGEST:,} are needed: choose another one."
        )
    return text


def writer(
    source: str,
    own: str = "",
    cell: str = "gru",
    hidden: int = 96,
    learning_rate: float = 0.01,
    seed: int = 0,
    steps: int = 3000,
    every: float = 1.0,
) -> Iterator[dict[str, Any]]:
    """Learn a running text, character by character; now and then send the loss, samples and the network itself.

    The text is cut into sixteen pieces that are read side by side, fifty characters an update; the state is carried on.

    >>> first = next(writer("own", "to be or not to be, " * 30, hidden=8))
    >>> first["step"], round(first["losses"][0]), len(first["samples"]), len(first["samples"][0])
    (0, 3, 5, 160)
    """
    text = text_of(source, own)
    data = RunningText.of(text)
    prepare = TextPreprocess.fit(data)
    size = prepare.input_size
    config = ManyToManyConfig(
        size, size, hidden=hidden, cell=cell, embedding=min(32, size), padding=PAD, output_bias=True
    )
    network = ManyToMany(config, seed=seed)
    windows = stream_windows(prepare.stream(data), READERS, WINDOW)
    recipe = Recipe(
        Adam(learning_rate), epochs=-(-steps // len(windows)), batch_size=READERS, window=WINDOW, clip=Clip(1.0),
        schedule=Schedule("cosine", final=0.1), stopping=Stopping(max_steps=steps),
    )  # fmt: skip
    at, losses, total = Progress(), list[float](), 0.0
    run = train(network, parts(data), recipe, every=1, runtime=EAGER, at=at)
    for event, due in paced(chain([None], run), every):
        if event is not None and event.row is not None:
            continue
        if event is not None:  # the loss of this window alone, from the means over the windows so far
            total, before = event.batch * at.totals()["loss"], total if event.batch > 1 else 0.0
            losses.append(total - before)
        step = event.step if event is not None else 0
        if due or step == steps:
            yield {
                "step": step,
                "steps": steps,
                "characters": len(text),
                "entries": size,
                "losses": thinned(losses) or [_first_loss(network, *windows[0])],
                "samples": samples(network, prepare, seed=step),
                "network": packed(network, prepare),
            }


def samples(network: ManyToMany, prepare: TextPreprocess, seed: int, count: int = SAMPLE) -> list[str]:
    """Write at all temperatures side by side, in as many steps as one text takes; the first always takes the best.

    >>> row = next(writer("own", "to be or not to be, " * 30, hidden=8))
    >>> [len(text) for text in row["samples"]]
    [160, 160, 160, 160, 160]
    """
    scale = torch.tensor([1 / t if t else 1e6 for t in TEMPERATURES])[:, None]

    def write(words: Tensor, state: State) -> tuple[Tensor, State]:
        logits, state = network.write(words, state)
        return logits * scale, state

    state, start = as_state(no_state(network, len(scale))), _prompt(prepare.vocabulary, "").expand(len(scale))
    written = sample(write, state, start, None, count, seed=seed, never=range(len(SPECIAL)))
    return [prepare.vocabulary.decode(row, display=False) for row in written]


@torch.no_grad()
def _first_loss(network: ManyToMany, read: Int[Tensor, "batch time"], wanted: Int[Tensor, "batch time"]) -> float:
    return negative_log_likelihood(network(read), wanted).item()


def thinned(losses: list[float], most: int = 300) -> list[float]:
    """Give at most this many means of equal stretches, so that a row stays small.

    >>> thinned([1.0, 3.0, 5.0, 7.0], most=2)
    [2.0, 6.0]
    """
    stretch = max(1, -(-len(losses) // most))
    parts = [losses[i : i + stretch] for i in range(0, len(losses), stretch)]
    return [sum(part) / len(part) for part in parts]


def packed(network: ManyToMany, prepare: TextPreprocess) -> dict[str, Any]:
    """Give a network and its dictionary as plain values that travel to another process."""
    weights = {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}
    return {"config": asdict(network.config), "weights": weights, "prepare": prepare.as_dict()}


def write(network: dict[str, Any], prompt: str = "", steps: int = 300, temperature: float = 0.7, seed: int = 0) -> str:
    """Write with a packed network.

    >>> row = next(writer("own", "to be or not to be, " * 30, hidden=8))
    >>> len(write(row["network"], "to", steps=20))
    22
    """
    model = ManyToMany(ManyToManyConfig(**network["config"]))
    model.load_state_dict({name: torch.from_numpy(value) for name, value in network["weights"].items()})
    prepare = TextPreprocess.from_dict(network["prepare"])
    return continue_text(model.eval(), prepare, prompt, steps, temperature=temperature, seed=seed)
