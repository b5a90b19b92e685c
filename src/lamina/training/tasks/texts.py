"""Use a network that reads words: labels and numbers for texts, translations, more of a running text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from lamina._errors import ArgumentError, DataError
from lamina._types import Float, Int, Tensor
from lamina.architectures.decoding import beam_search, sample
from lamina.data.cells import SUFFIXES as TABLES
from lamina.data.cells import Format, decoded, encoding_of, read_bytes, read_cells
from lamina.data.frames import as_frame
from lamina.data.paths import shown
from lamina.data.ragged import lengths_of
from lamina.data.text.batching import sorted_order
from lamina.data.text.descriptions import DescriptionPreprocess
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary
from lamina.data.text.words import split_words
from lamina.training.tasks._batches import as_state, no_state

BATCH = 100
_MARK = SPECIAL[UNKNOWN]
Reading = tuple[tuple[str, Any], ...]


def read_texts(what: Any, reading: Reading = ()) -> tuple[list[str | None], Any]:
    r"""Give the texts that are meant: a text, the texts of a file or table, content, or a list of texts and files.

    Args:
        what: the texts.
        reading: how the training table was read.

    Returns:
        The texts, None for a blank line or an empty cell, and the table that they are a column of, if they are.

    >>> read_texts(["The sun is shining today", ""]), read_texts(b"one\n\ntwo\n")[0]
    ((['The sun is shining today', ''], None), ['one', None, 'two'])
    """
    if isinstance(what, bytes):
        return _lines(what, "standard input", reading), None
    if isinstance(what, list | tuple) and all(isinstance(part, str | Path) for part in what):
        parts = [read_texts(part, reading) for part in what]
        return [text for texts, _ in parts for text in texts], parts[0][1] if len(parts) == 1 else None
    if (table := as_frame(what)) is not None:
        return _texts_of_table(table, "the table", reading)
    if not isinstance(what, str | Path):
        raise DataError(
            f"the run was trained on texts, got {type(what).__name__}: give a text, a file or a list of them."
        )
    path = Path(what)
    if _is_file(path):
        return _texts_of_file(path, reading)
    if isinstance(what, Path) or (path.suffix.lower() in TABLES and len(str(what).split()) == 1):
        raise DataError(f"{path} does not exist: check the name.")
    return [str(what)], None


@torch.no_grad()
def _text_outputs(model: nn.Module, preprocess: TextPreprocess, texts: Sequence[str]) -> Float[Tensor, "batch ..."]:
    """Return what a network gives for texts, before any softmax; texts of alike lengths go together."""
    device, places, found = next(model.parameters()).device, [], []
    for batch, tokens in _batches(preprocess, texts):
        places.append(batch)
        found.append(model(tokens.to(device)).cpu())
    return torch.cat(found)[torch.cat(places).argsort()]


def translate(
    model: nn.Module,
    preprocess: TextPreprocess,
    texts: Sequence[str],
    *,
    beams: int = 1,
    length_penalty: float = 1.0,
    copy_unknown: bool = True,
) -> tuple[list[str], Float[Tensor, " batch"]]:
    """Translate texts; each translation ends by itself, or after twice as many words as its text and 20 more.

    Args:
        model: an encoder-decoder.
        preprocess: with the dictionaries of both sides.
        texts: any texts, also empty ones.
        beams: how many beginnings are kept; 1 writes the most probable word at each step.
        length_penalty: 0 compares probabilities of whole translations, 1 means over their words.
        copy_unknown: put the k-th unknown word of the text in the place of the k-th unknown word of the translation.

    Returns:
        The translations and the mean logarithm of the probability of their words (with `length_penalty` 1).
    """
    network, device = cast(Any, model), next(model.parameters()).device
    written, worth = [""] * len(texts), torch.zeros(len(texts))
    for batch, tokens in _batches(preprocess, texts):
        tokens = tokens.to(device)
        with torch.no_grad():
            state = network.encode(tokens)
        start = torch.full((len(tokens),), START, device=device)
        words, value = beam_search(
            network.write,
            state,
            start,
            END,
            2 * tokens.shape[1] + 20,
            beams=beams,
            length_penalty=length_penalty,
            never=(PAD, START),
        )
        worth[batch] = value.cpu().float()
        for place, text in zip(batch.tolist(), preprocess.write(words), strict=True):
            written[place] = copied(text, unknown_words(preprocess.vocabulary, texts[place])) if copy_unknown else text
    return written, worth


def describe(
    preprocess: DescriptionPreprocess, outputs: Float[Tensor, "batch time word"]
) -> tuple[list[str], Float[Tensor, " batch"]]:
    """Write the most probable word at each step, up to the end of the text.

    Args:
        preprocess: with the dictionary.
        outputs: what a network gives, before any softmax.

    Returns:
        The texts and the mean logarithm of the probability of their words.
    """
    gains, words = most_probable(outputs)
    inside = ((words == END).cumsum(1) - (words == END).long()) == 0
    return preprocess.write(words), (gains * inside).sum(1).cpu() / inside.sum(1).cpu()


def most_probable(outputs: Float[Tensor, "batch time word"]) -> torch.return_types.max:
    """Give the most probable words, and the logarithms of their probabilities among those that can be written."""
    never = torch.tensor([PAD, START], device=outputs.device)
    return outputs.index_fill(-1, never, -torch.inf).float().log_softmax(-1).max(-1)


def continue_text(
    model: nn.Module,
    preprocess: TextPreprocess,
    prompt: str = "",
    steps: int = 200,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
) -> str:
    """Write on after a prompt, as a language model does.

    Args:
        model: a network with `read` and `write`, as `ManyToMany`.
        preprocess: with its dictionary.
        prompt: how the text begins; without one it begins as after the end of a line.
        steps: how many characters or words to write.
        temperature: below 1 what is probable becomes more probable; 0 always takes the most probable.
        top_k: among how many to choose at each step; all by default.
        seed: which draw.

    Returns:
        The prompt and what was written.
    """
    network, vocabulary = cast(Any, model), preprocess.vocabulary
    device = next(model.parameters()).device
    tokens = _prompt(vocabulary, prompt).to(device)[None]
    state = as_state(no_state(model, 1))
    if tokens.shape[1] > 1:
        with torch.no_grad():
            state = network.read(tokens[:, :-1], state)[1]
    never = tuple(range(len(SPECIAL)))
    words = sample(
        network.write, state, tokens[:, -1], None, steps, temperature=temperature, top_k=top_k, seed=seed, never=never
    )
    more = vocabulary.decode(words[0].cpu(), display=False)
    gap = " " if prompt and not prompt[-1].isspace() and vocabulary.wording.level == "word" else ""
    return prompt + gap + more


def unknown_words(vocabulary: Vocabulary, text: str) -> list[str]:
    """Give the words of a text that are not in a dictionary, as they are written.

    >>> unknown_words(Vocabulary.fit(["the sun"]), "The Rigi, the sun")
    ['Rigi', ',']
    """
    keys = vocabulary.split(text)
    words = split_words(text)
    forms = words if vocabulary.wording.level == "word" and len(words) == len(keys) else keys
    return [form for form, key in zip(forms, keys, strict=True) if key not in vocabulary]


def copied(text: str, words: Sequence[str]) -> str:
    """Replace the k-th unknown word of a translation by the k-th of these words; what is left over stays.

    >>> copied("<unk> sieht <unk>", ["Anna"])
    'Anna sieht <unk>'
    """
    first, *rest = text.split(_MARK)
    fill = [*words[: len(rest)], *[_MARK] * (len(rest) - len(words))]
    return first + "".join(word + part for word, part in zip(fill, rest, strict=True))


def _batches(preprocess: TextPreprocess, texts: Sequence[str]) -> list[tuple[Tensor, Int[Tensor, "batch time"]]]:
    """Give batches of alike lengths with their places."""
    if not texts:
        raise DataError("there is no text to read, got an empty list: give at least 1 text.")
    tokens = preprocess.read(texts)
    lengths = lengths_of(tokens)
    return [(batch, tokens[batch, : int(lengths[batch].max())]) for batch in sorted_order(lengths, BATCH)]


def _prompt(vocabulary: Vocabulary, prompt: str) -> Tensor:
    """Encode a prompt; an empty one is the end of a line, or what the dictionary has instead."""
    tokens = vocabulary.encode(prompt)
    if len(tokens):
        return tokens
    if not vocabulary.words:
        raise ArgumentError("the dictionary is empty: give a `prompt`.")
    begin = next((word for word in ("\n", ".", " ") if word in vocabulary), vocabulary.words[0])
    return torch.tensor([vocabulary.index[begin]])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a null character: a text
        return False


def _texts_of_file(path: Path, reading: Reading) -> tuple[list[str | None], Any]:
    if path.suffix.lower() in TABLES and path.suffix.lower() not in (".tsv", ".txt"):
        return _texts_of_table(path, str(path), reading)
    return _lines(read_bytes(path), shown(path), reading), None


def _lines(data: bytes, name: str, reading: Reading = ()) -> list[str | None]:
    """Give the lines of a file, of each what comes before a tab, None for a blank one."""
    lines = decoded(data, encoding_of(data, dict(reading).get("encoding")), name).removesuffix("\n").split("\n")
    texts = [line.split("\t")[0].strip() or None for line in lines]
    if not any(texts):
        raise DataError(f"{name} holds no text.")
    return texts


def _texts_of_table(what: Any, name: str, reading: Reading) -> tuple[list[str | None], Any]:
    import polars as pl

    frame = read_cells(what, Format(before=reading)).frame
    strings = [column for column in frame.columns if frame[column].dtype == pl.String]
    columns = [column for column in strings if frame[column].str.contains(r"[^\d\s.,;:+-]").any()]
    if not columns:
        raise DataError(f"{name} has no column of text: the run was trained on texts.")
    longest = max(columns, key=lambda column: frame[column].str.count_matches(r"\S+").sum() or 0)
    return frame[longest].to_list(), frame
