"""Published texts in their official files: Multi30k, Tatoeba, tiny Shakespeare, SST-2 and rt-polarity.

They are found and verified as the named pictures are (`store`). Official parts stay what they are; where there are
none, a split is seeded, keeps equal sentences together, and of a running text holds back the end.
"""

import csv
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch

from lamina._errors import DataError, choice
from lamina.data.dataset import Spec
from lamina.data.named import _inflated
from lamina.data.store import _require
from lamina.data.text.files import _as_pairs, _read_pairs
from lamina.data.text.texts import PairDataset, RunningText, TextDataset, _equal_texts

TESTS = ("2016_flickr", "2017_flickr", "2017_mscoco", "2018_flickr")
_MOST = 2**28  # bytes that one file may unpack to
_SIDES = {"en": "English", "de": "German"}


def multi30k(reverse: bool = False, test: str = "2016_flickr") -> PairDataset:
    """Give descriptions of photos, English and German: 29,000 to train, 1,014 to validate, and a test set.

    Args:
        reverse: read German and write English.
        test: "2016_flickr" (1,000), "2017_flickr" (1,000), "2017_mscoco" (461) or "2018_flickr" (1,071).

    >>> multi30k(test="2019")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lamina._errors.ArgumentError: `test` must be one of '2016_flickr', ..., got '2019'.
    """
    choice("test", test, TESTS)
    files = {name: _inflated(data, name) for name, data in _require("multi30k").contents()}
    read, write = ("de", "en") if reverse else ("en", "de")
    note = f"Photo descriptions; the official validation set and the official test set {test}."

    def part(name: str) -> PairDataset:
        first, second = (_lines(files[f"{name}.{side}.gz"], f"{name}.{side}.gz") for side in (read, write))
        if len(first) != len(second):
            raise DataError(f"`{name}` has {len(first)} lines in {read} and {len(second)} in {write}: get it again.")
        return PairDataset.of(first, second, source="multi30k", target=_SIDES[write], notes=(note,))

    return replace(part("train"), official_validation=part("val"), official_test=part(f"test_{test}"))


def tatoeba(reverse: bool = False, longest: int | None = None) -> PairDataset:
    """Give 169,813 pairs of short sentences, English and German (ManyThings.org, tatoeba.org; CC BY 2.0).

    One English sentence often has several translations. A split keeps all pairs together whose first sentences have
    the same words.

    Args:
        reverse: read German and write English.
        longest: leave out pairs of which a sentence has more words; 153,000 pairs have at most 10.
    """
    ((name, data),) = _require("tatoeba").contents()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo("deu.txt").file_size > _MOST:
                raise DataError(f"`{name}` unpacks to more than {_MOST:,} bytes: get it again.")
            text = archive.read("deu.txt").decode("utf-8")
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"`{name}` is damaged ({error}): get it again.") from error
    note = "Sentences of tatoeba.org by way of manythings.org/anki (CC BY 2.0)."
    data_set = _as_pairs(_read_pairs(text, f"`{name}/deu.txt`"), "tatoeba", reverse, longest, (note,))
    return replace(data_set, spec=replace(data_set.spec, target=_SIDES["en" if reverse else "de"]))


def tinyshakespeare(block: int = 256) -> RunningText:
    """Give 1,115,394 characters of Shakespeare, of which the first 90 % train and the rest validates.

    Args:
        block: the length of an example.
    """
    ((name, data),) = _require("tinyshakespeare").contents()
    note = "Plays of Shakespeare; by custom the first 90 % train, and the rest is validation and test."
    return RunningText.of(_utf8(data, name), block=block, source="tinyshakespeare", notes=(note,), shares=(9, 1, 0))


def sst2() -> TextDataset:
    """Give sentences of film reviews, negative or positive: 6,920 to train, 872 to validate, 1,821 to test."""
    files = dict(_require("sst2").contents())
    spec = _sentiment("sst2", "Whole sentences of the Stanford Sentiment Treebank without neutral ones.")

    def part(name: str) -> TextDataset:
        rows = list(csv.reader(io.StringIO(_utf8(files[name], name), newline="")))
        if not rows or rows[0] != ["label", "sentence"] or any(row[0] not in ("0", "1") for row in rows[1:]):
            raise DataError(f"`{name}` is not a table of label and sentence: get it again.")
        labels = torch.tensor([int(row[0]) for row in rows[1:]])
        return _labeled([row[1] for row in rows[1:]], labels, spec)

    train, validation, test = (part(f"{name}_binary_sent.csv") for name in ("train", "dev", "test"))
    return replace(train, official_validation=validation, official_test=test)


def rt_polarity() -> TextDataset:
    """Give 10,662 sentences of film reviews, half negative, half positive, without official parts."""
    files = dict(_require("rt-polarity").contents())
    negative, positive = (_lines(files[f"rt-polarity.{name}"], f"rt-polarity.{name}") for name in ("neg", "pos"))
    labels = torch.tensor([0] * len(negative) + [1] * len(positive))
    note = "SST is made of the same sentences: do not train on one and test on the other."
    return _labeled([*negative, *positive], labels, _sentiment("rt-polarity", note))


LOADERS: Mapping[str, Callable[..., PairDataset | RunningText | TextDataset]] = {
    "multi30k": multi30k,
    "tatoeba": tatoeba,
    "tinyshakespeare": tinyshakespeare,
    "sst2": sst2,
    "rt-polarity": rt_polarity,
}


def _sentiment(name: str, note: str) -> Spec:
    classes = ("negative", "positive")
    return Spec("text", "classification", (1,), 2, classes, target="sentiment", source=name, notes=(note,))


def _labeled(texts: list[str], labels: torch.Tensor, about: Spec) -> TextDataset:
    data = TextDataset.of(texts, labels, about.classes)
    groups = _equal_texts(texts)
    spec = replace(about, inputs=data.spec.inputs)
    return replace(data, spec=spec, groups=groups if int(groups.max()) + 1 < len(texts) else None)


def _lines(data: bytes, name: str) -> list[str]:
    return [line.strip() for line in _utf8(data, name).removesuffix("\n").split("\n")]


def _utf8(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"`{name}` is not UTF-8 (byte {error.start}): get it again.") from error
