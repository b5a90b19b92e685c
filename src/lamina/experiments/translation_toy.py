"""Translation by a recurrent network: twelve sentences learned by heart, Ex. 5.1 among them (§5.3 of the notes)."""

from typing import Any, cast

import torch
from torch import nn

from lamina._types import Tensor
from lamina.architectures.seq2seq import EncoderDecoder, EncoderDecoderConfig, teacher_inputs
from lamina.data.text.phrasebook import EXAMPLE
from lamina.data.text.texts import IGNORE, PairDataset
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import END, PAD, START, Vocabulary
from lamina.experiments.result import Claim, Plot, Result, experiment
from lamina.experiments.together import cross_entropies, train_members

PAIRS = (
    EXAMPLE,
    ("The sun is shining", "Die Sonne scheint"),
    ("Is the sun shining today", "Scheint heute die Sonne"),
    ("The moon is shining", "Der Mond scheint"),
    ("It is raining today", "Heute regnet es"),
    ("Today it is not raining", "Heute regnet es nicht"),
    ("The cat is sleeping", "Die Katze schläft"),
    ("The cats are sleeping in the garden", "Die Katzen schlafen im Garten"),
    ("The cat was in the garden yesterday", "Die Katze war gestern im Garten"),
    ("I see the sun", "Ich sehe die Sonne"),
    ("We saw the old house", "Wir sahen das alte Haus"),
    ("Thank you", "Danke"),
)
"""The toy set: English and German."""

VARIANTS: dict[str, dict[str, str]] = {
    "rnn": {"cell": "rnn"},
    "gru": {"cell": "gru"},
    "lstm": {"cell": "lstm"},
    "gru, Fig. 35": {"cell": "gru", "mode": "notes"},
}
"""The networks by name: encoder and decoder, and one cell that reads nothing while it writes."""


def toy_set() -> tuple[PairDataset, TextPreprocess]:
    """Give the twelve pairs, and the dictionaries of both languages.

    >>> data, prepare = toy_set()
    >>> len(data), prepare.write(prepare.encode(data).take(torch.tensor([1]))[1])
    (12, ['Die Sonne scheint'])
    """
    data = PairDataset.of(*zip(*PAIRS, strict=True))
    return data, TextPreprocess.fit(data)


def toy_batch(data: PairDataset, prepare: TextPreprocess) -> tuple[Tensor, Tensor, Tensor]:
    """Give all sentences as numbers: what is read, what a decoder hears while it writes, and what it should write."""
    source, targets = prepare.encode(data).take(torch.arange(len(data)))
    return source, teacher_inputs(targets, START), torch.where(targets == PAD, IGNORE, targets)


def translator(name: str, prepare: TextPreprocess, hidden: int, seed: int) -> EncoderDecoder:
    """Make one of `VARIANTS` for the dictionaries.

    >>> translator("gru", toy_set()[1], hidden=4, seed=0).config.cell
    'gru'
    """
    options: dict[str, Any] = VARIANTS[name]
    sizes = prepare.input_size, prepare.output_size
    return EncoderDecoder(EncoderDecoderConfig(*sizes, hidden=hidden, embedding=24, padding=PAD, **options), seed=seed)


@experiment("N5.49", "N5.03")
def learned_by_heart(seeds: range = range(3), steps: int = 300, variants: tuple[str, ...] = tuple(VARIANTS)) -> Result:
    r"""Train networks on twelve pairs of sentences until they know them, and let them translate.

    Words are numbers in a dictionary of small letters; every sentence ends with a token of its own. A translation is
    written word by word, the most probable one each time, until the network writes that token; it counts as right
    when all its words are, and the end. Adam with learning rate 0.01 on all pairs.

    Notes: N5.03, N5.49 (§5, Ex. 5.1; §5.3).
    Corrects: E63, the decoder reads what it wrote before; the last row is the network as drawn. E71, small letters.

    Args:
        seeds: starting points.
        steps: the number of updates.
        variants: names of `VARIANTS`.
    """
    data, prepare = toy_set()
    german, batch = cast(Vocabulary, prepare.answer_vocabulary), toy_batch(data, prepare)
    rows, counts, written = [], [], []
    for name in variants:
        members = [translator(name, prepare, 48, seed) for seed in seeds]
        trial = train_members(members, lambda: batch, cross_entropies, steps=steps, learning_rate=0.01)
        answers = [_translations(network, batch[0], german) for network in trial.networks]
        right = [sum(a == german.normalize(b) for a, (_, b) in zip(each, PAIRS, strict=True)) for each in answers]
        examples = {each[0] for each in answers}
        counts += right
        written += [each[0] for each in answers]
        rows.append((name, trial.losses[-1].max().item(), min(right), len(PAIRS), " | ".join(sorted(examples))))
    wanted = german.normalize(EXAMPLE[1])
    return Result(
        f"{len(PAIRS)} sentences learned by heart, n_h = 48, {steps} Adam steps, {len(seeds)} seeds",
        ("network", "largest loss", "right at least", "of", f"{EXAMPLE[0].lower()}"),
        rows,
        Claim.often("every sentence is translated word by word and ends by itself",
                    [count == len(PAIRS) for count in counts]),
        Claim.often(f"Ex. 5.1 becomes '{wanted}'", [answer == wanted for answer in written]),
        plot=Plot("network", ("largest loss",), "bars"),
    )  # fmt: skip


def _translations(network: nn.Module, source: Tensor, german: Vocabulary) -> list[str]:
    """Translate sentences; what does not end by itself gets three dots."""
    assert isinstance(network, EncoderDecoder)
    written = network.eval().generate(source, START, END, 20)
    return [german.decode(row) + ("" if (row == END).any() else " ...") for row in written]
