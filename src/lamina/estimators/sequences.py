"""Classify sequences: texts, rows of tokens, series of numbers."""

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from lamina._errors import ArgumentError, choice
from lamina._types import Tensor
from lamina.data.dataset import ArrayDataset, BaseDataset, Spec
from lamina.data.text.texts import TextDataset
from lamina.estimators._network import Classifying, NetworkEstimator, with_all_parameters

KINDS = ("text", "tokens", "series")


@with_all_parameters
class SequenceClassifier(Classifying, NetworkEstimator):
    """Classify sequences with a recurrent network.

    A list of strings is texts. Lists of whole numbers of different lengths are tokens. An array [N, time, feature]
    is series, and an array [N, time] series of one number per step.

    Args:
        architecture: a name from `lamina list`, or a function of `inputs` and `outputs` that makes a torch module.
        kind: "text", "tokens" or "series", where the rule above is wrong: whole numbers in an array are tokens if it
            says so.
        **options: what else `NetworkEstimator` takes; for texts also how they become tokens, such as `level` and
            `min_count`.

    >>> X = ["a fine film", "a bad film", "fine fun", "bad and dull"] * 8
    >>> y = ["good", "bad", "good", "bad"] * 8
    >>> SequenceClassifier(hidden=8, epochs=30, random_state=0).fit(X, y).predict(["a fine day"]).tolist()
    ['good']
    """

    _own = (*NetworkEstimator._own, "kind")

    def __init__(self, architecture: Any = "many-to-one", *, kind: str | None = None, **options: Any) -> None:
        super().__init__(architecture, **options)
        self.kind = kind

    def _reading(self) -> dict[str, Any]:
        return {**super()._reading(), "kind": self.kind}

    def _dataset(self, X: Any, y: Any) -> BaseDataset:
        choice("kind", self.kind, (None, *KINDS))
        kind = self.kind or _kind_of(X)
        if kind == "series":
            X, y = validate_data(self, X, y, **self._accepted(X, y))
            labels, about = self._targets(y)
            series = _series(X)
            spec = Spec("series", inputs=tuple(series.shape[1:]), outputs=len(about["classes"]), **about)
            data: BaseDataset = ArrayDataset(series, torch.from_numpy(labels), spec)
        else:
            texts = _texts(X, kind)
            y = column_or_1d(y, warn=True)
            check_consistent_length(texts, y)
            labels, about = self._targets(y)
            data = TextDataset.of(texts, torch.from_numpy(labels), about["classes"])
        self.kind_ = kind
        return data

    def _stored(self, X: Any) -> Tensor:
        if self.kind_ == "series":
            X = validate_data(self, X, reset=False, **self._accepted(X))
            return _series(X)
        texts = _texts(X, self.kind_)
        return TextDataset.of(texts, torch.zeros(len(texts)), ("0", "1")).take(torch.arange(len(texts)))[0]


def _kind_of(X: Any) -> str:
    """Say what sequences are: strings are texts, whole numbers in lists of different lengths tokens, else series."""
    if not isinstance(X, list | tuple | np.ndarray) and not hasattr(X, "to_list"):
        return "series"
    rows = list(X) if getattr(X, "ndim", 1) == 1 else []
    if rows and all(isinstance(row, str) for row in rows):
        return "text"
    ragged = all(isinstance(row, list | tuple | np.ndarray) for row in rows) and len({len(row) for row in rows}) > 1
    return "tokens" if ragged else "series"


def _texts(X: Any, kind: str) -> list[str]:
    """Give sequences as texts; tokens become words."""
    rows = list(X)
    if not rows:
        raise ArgumentError("there must be at least 1 sequence, got 0.")
    if kind == "text":
        wrong = next((row for row in rows if not isinstance(row, str)), None)
        if wrong is not None:
            raise ArgumentError(f"all sequences must be texts, as in training, got {wrong!r}.")
        return rows
    wrong = next((token for row in rows for token in row if token != int(token) or token < 0), None)
    if wrong is not None:
        raise ArgumentError(f"tokens must be whole numbers that are not negative, got {wrong!r}.")
    return [" ".join(str(int(token)) for token in row) for row in rows]


def _series(X: Any) -> Tensor:
    """Lay out numbers [N, time, feature]."""
    series = torch.from_numpy(np.array(X, np.float64))
    if series.ndim > 3:
        raise ArgumentError(f"series must be [N, time] or [N, time, feature], got the shape {tuple(series.shape)}.")
    return series[..., None] if series.ndim == 2 else series
