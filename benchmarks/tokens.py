"""How many tokens a second does `lamina.fit` train, against a hand-written PyTorch loop on the same batches?

    python benchmarks/tokens.py [--device cuda]

Three tasks: a language model with an LSTM (windows of a running text, state carried on), a translator with LSTMs (pairs
of texts of different lengths, bucketed), both against `nn.LSTM` in a loop as people write it; and the language model
with the notes' GRU, which torch does not have, against a loop over its time steps. Both sides see the same tokens in
the same batches and clip gradients by their norm; ours also counts right words, keeps the best weights and writes its
run folder. No validation on either side. Rounds alternate; the number is the median over the epochs of all rounds but
the first of each.
"""

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from record import write
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence

import lamina
from lamina.architectures.seq2seq import teacher_inputs
from lamina.data.dataset import Subset
from lamina.data.load import load
from lamina.data.ragged import lengths_of
from lamina.data.splits import Split
from lamina.data.text.texts import RunningText
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import PAD, START
from lamina.training.fit import fit
from lamina.training.recipe import Adam, Clip, Recipe
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of

EPOCHS, ROUNDS, RATE = 4, 2, 0.002


class Language(nn.Module):
    """The language model as it is written with torch."""

    def __init__(self, words: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.output = nn.Linear(hidden, words)

    def forward(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        states, state = self.lstm(self.embedding(tokens), state)
        return self.output(states), state


class Stepwise(nn.Module):
    """The language model with the notes' GRU: our cell in a loop over time."""

    def __init__(self, words: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.net = lamina.build(
            "many-to-many",
            inputs=words,
            outputs=words,
            embedding=embedding,
            hidden=hidden,
            cell="gru",
            output_bias=True,
        )
        self.net.recurrent.fast = False

    def forward(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        return self.net.read(tokens, state)


class Translator(nn.Module):
    """The translator as it is written with torch."""

    def __init__(self, read: int, written: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(read, embedding), nn.Embedding(written, embedding)
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.decoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.output = nn.Linear(hidden, written)

    def forward(self, source: torch.Tensor, lengths: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(self.source(source), lengths, batch_first=True, enforce_sorted=False)
        return self.output(self.decoder(self.target(before), self.encoder(packed)[1])[0])


def by_hand_language(model: nn.Module, windows: list, device: str) -> list[float]:
    """Train epochs of a running text; seconds of each."""
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    times = []
    for _ in range(EPOCHS):
        start, state, total = time.perf_counter(), None, torch.zeros((), device=device)
        for inputs, targets in windows:
            optimizer.zero_grad()
            outputs, state = model(inputs, state)
            state = state.detach() if isinstance(state, torch.Tensor) else tuple(part.detach() for part in state)
            loss = cross_entropy(outputs.flatten(0, 1), targets.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
        total.item()
        times.append(time.perf_counter() - start)
    return times


def by_hand_translation(model: nn.Module, batches: list, device: str) -> list[float]:
    """Train epochs of pairs; seconds of each."""
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    times = []
    for _ in range(EPOCHS):
        start, total = time.perf_counter(), torch.zeros((), device=device)
        for source, lengths, targets in batches:
            optimizer.zero_grad()
            outputs = model(source, lengths, teacher_inputs(targets, START))
            loss = cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=PAD)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
        total.item()
        times.append(time.perf_counter() - start)
    return times


def by_fit(name: str, split: Split, prepare: TextPreprocess, recipe: Recipe, runtime: Runtime, **sizes: Any) -> tuple:
    """Train with `lamina.fit`; seconds of each epoch, and which step it took."""
    sizes = {"inputs": prepare.input_size, "outputs": prepare.output_size, "output_bias": True, **sizes}
    stamps: list[float] = []

    def watch(event: Any) -> None:
        if event.row is not None:
            stamps.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        run = fit(
            lamina.build(name, **sizes), task_of(split, preprocess=prepare), recipe, folder=f"{folder}/run",
            observers=[watch], runtime=runtime,
        )  # fmt: skip
        kind = json.loads((run.folder / "environment.json").read_text(encoding="utf-8"))["step"]
    return [b - a for a, b in pairwise(stamps)], kind


def compare(task: str, tokens: int, ours: Any, theirs: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Alternate both sides and give tokens a second of each."""
    found: dict[str, list[float]] = {"lamina": [], "by hand": []}
    for _ in range(ROUNDS):
        times, kind = ours()
        found["lamina"] += times
        found["by hand"] += theirs()[1:]
    speeds = {side: tokens / statistics.median(times) for side, times in found.items()}
    row = {"task": task, "tokens_per_epoch": tokens, "lamina": speeds["lamina"], "by_hand": speeds["by hand"]}
    row |= {"ratio": speeds["lamina"] / speeds["by hand"], "step": kind, "rounds": ROUNDS, **facts}
    print(
        f"{task}: {row['lamina']:,.0f} against {row['by_hand']:,.0f} tokens/s, {row['ratio']:.2f}x ({kind})", flush=True
    )
    return row


def text(characters: int) -> RunningText:
    """A running text that needs no file: sentences of the phrase book."""
    from lamina.data.text.texts import texts_of

    lines = "\n".join(texts_of(load("phrasebook", count=4000)))
    return RunningText.of((lines * (characters // len(lines) + 1))[:characters], shares=(1, 0, 0))


def language(options: argparse.Namespace, runtime: Runtime, recipe: Recipe) -> list[dict[str, Any]]:
    """Compare on a running text: torch's LSTM, and the notes' GRU step by step."""
    device, large = options.device, options.device == "cuda"
    data = text(192_001 if large else 12_801 if options.small else 64_001)
    prepare, split = TextPreprocess.fit(data), all_of(data)
    source: Any = task_of(split, preprocess=prepare).source(data, recipe, device)
    windows = [source.window(k) for k in range(source.windows)]
    tokens, words = sum(inputs.numel() for inputs, _ in windows), prepare.input_size
    sizes = {"embedding": 64, "hidden": 512 if large else 256}

    def row(cell: str, model: Any) -> dict[str, Any]:
        ours = partial(by_fit, "many-to-many", split, prepare, recipe, runtime, cell=cell, **sizes)
        facts = {"cell": cell, "batch": recipe.batch_size, "window": recipe.window, **sizes}
        theirs = lambda: by_hand_language(model(words, **sizes), windows, device)  # noqa: E731
        return compare(f"language model, {cell}", tokens, ours, theirs, facts)

    return [row("lstm", Language), row("gru", Stepwise)]


def translation(options: argparse.Namespace, runtime: Runtime, recipe: Recipe) -> dict[str, Any]:
    """Compare on pairs of texts; the loop by hand pads each batch to its longest text and no further."""
    device, large = options.device, options.device == "cuda"
    pairs = load("phrasebook", count=1000 if options.small else 8000 if large else 3000)
    prepare, split = TextPreprocess.fit(pairs), all_of(pairs)
    recipe = replace(recipe, batch_size=128 if large else 64)
    source = prepare.source(pairs, device)
    order = source.order(recipe.batch_size, recipe.seed, 0)
    batches = [(a, lengths_of(a).cpu(), b) for a, b in (source.batch(indices) for indices in order)]
    tokens = sum(int((a != PAD).sum() + (b != PAD).sum()) for a, _, b in batches)
    sizes = {"embedding": 64, "hidden": 512 if large else 192}
    ours = partial(by_fit, "seq2seq", split, prepare, recipe, runtime, cell="lstm", padding=PAD, **sizes)
    theirs = lambda: by_hand_translation(  # noqa: E731
        Translator(prepare.input_size, prepare.output_size, **sizes), batches, device
    )
    return compare("translation, lstm", tokens, ours, theirs, {"cell": "lstm", "batch": recipe.batch_size, **sizes})


def all_of(data: Any) -> Split:
    """All examples for training."""
    none = Subset(data, torch.arange(0))
    return Split(data, none, none, "all for training")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="a look in a few seconds; nothing is recorded")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    runtime = Runtime(options.device, threads=options.threads)
    recipe = Recipe(Adam(RATE), EPOCHS, 64, clip=Clip(1.0), window=100)
    rows = [*language(options, runtime, recipe), translation(options, runtime, recipe)]
    large = options.device == "cuda"
    if not options.small:
        device = torch.cuda.get_device_name() if large else "cpu"
        write("tokens-cuda" if large else "tokens", rows, threads=options.threads, device=device, dtype="float32")


if __name__ == "__main__":
    main()
