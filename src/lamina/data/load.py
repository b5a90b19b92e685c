"""One door to all data: `load("digits")`, `load("table.csv", target="price")`, `load("photos/")`, arrays, datasets.

A file of text may be a table, texts with labels, pairs of texts, a running text or a time series: `load` looks at it,
an option of one of them decides (`text=`, `window=`), and `kind=` settles it.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import data as torch_data

from lamina._declared import check
from lamina._errors import DataError, choice, nearest
from lamina.data import sequences, store, synthetic
from lamina.data.arrays import WrappedDataset, from_arrays
from lamina.data.cells import SUFFIXES, Format
from lamina.data.dataset import ArrayDataset, Dataset, Spec, _fingerprints
from lamina.data.frames import as_frame
from lamina.data.loaders import Loaders, are_loaders
from lamina.data.parquet import parquet_files
from lamina.data.paths import no_odd_name
from lamina.data.series import load_series
from lamina.data.tables import load_table
from lamina.data.text.descriptions import digit_words, load_descriptions
from lamina.data.text.files import form_of, load_pairs, load_running_text, load_text
from lamina.data.text.phrasebook import phrasebook

PICTURES = ("mnist", "fashion-mnist", "cifar10")
NAMED = (*PICTURES, "multi30k", "tatoeba", "tinyshakespeare", "sst2", "rt-polarity")
"""Sets that are downloaded once, with `lamina data get NAME`, or found under LAMINA_DATA."""


def digits() -> ArrayDataset:
    """Give the 1,797 handwritten digits of scikit-learn, 8 x 8, as bytes: 0..16 becomes 0..255.

    >>> digits().spec.inputs, digits().inputs.max().item()
    ((1, 8, 8), 255)
    """
    # Its file, not `sklearn.datasets.load_digits`: importing scikit-learn takes a second and more.
    home = find_spec("sklearn")
    assert home is not None and home.submodule_search_locations
    path = Path(home.submodule_search_locations[0]) / "datasets" / "data" / "digits.csv.gz"
    rows = torch.from_numpy(np.loadtxt(path, delimiter=","))
    images = (rows[:, :-1] * 255 / 16).round().to(torch.uint8).reshape(-1, 1, 8, 8)
    spec = Spec("image", "classification", (1, 8, 8), 10, source="digits")
    return ArrayDataset(images, rows[:, -1].long(), spec)


def _classic_table(name: str) -> ArrayDataset:
    """Give one of the small tables that come with scikit-learn: "iris", "wine" or "breast-cancer"."""
    from sklearn import datasets

    tables = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast-cancer": datasets.load_breast_cancer}
    choice("name", name, tuple(tables))
    found = tables[name]()
    classes, features = (tuple(map(str, names)) for names in (found.target_names, found.feature_names))
    spec = Spec("table", "classification", (len(features),), len(classes), classes, features, "class", name)
    rows, labels = torch.from_numpy(found.data).double(), torch.from_numpy(found.target).long()
    different, groups = _fingerprints(rows).unique(return_inverse=True)
    # Two of the irises are equal; they must not be in two parts of a split.
    return ArrayDataset(rows, labels, spec, groups if len(different) < len(rows) else None)


SETS: dict[str, Callable[..., Dataset]] = {
    "digits": digits,
    **{name: partial(_classic_table, name) for name in ("iris", "wine", "breast-cancer")},
    **{gate: partial(synthetic.truth_table, gate) for gate in synthetic.GATES},
    "linear": synthetic.linear,
    "curve": synthetic.curve,
    "blobs": synthetic.blobs,
    "moons": synthetic.moons,
    "spirals": synthetic.spirals,
    "rings": synthetic.rings,
    "quadrants": synthetic.quadrants,
    "spam": synthetic.spam,
    "million": synthetic.million,
    "phrasebook": phrasebook,
    "agreement": sequences.agreement,
    "order": sequences.order_only,
    "adding": sequences.adding,
    "copy": sequences.copying,
    "next-input": sequences.next_input,
    "wave": sequences.wave,
    "digit-words": digit_words,
}
"""Data sets that need no file and no network."""

_READERS: dict[str, tuple[str, Callable[..., Dataset]]] = {
    "table": ("a table", load_table),
    "text": ("a table of texts", load_text),
    "pairs": ("a file of pairs", load_pairs),
    "language": ("a running text", load_running_text),
    "series": ("a time series", load_series),
    "descriptions": ("a table of descriptions", load_descriptions),
}


def load(what: Any, targets: Any = None, **options: Any) -> Dataset:
    """Give data as a dataset.

    Args:
        what: a name of `SETS` or `NAMED`; a path to a table, texts with labels, pairs of texts, a running text or a
            time series (CSV, Excel, JSON, Parquet; see `lamina.data.cells.SUFFIXES`), to a folder of pictures or one of
            Parquet files, or a pattern such as "part-*.parquet"; a pandas or polars DataFrame, a structured array, a
            list of dicts or a dict of columns; arrays or tensors, alone with `targets` or as a pair, also a dict or
            tuple of arrays for several inputs; any torch `Dataset` or `DataLoader`, or a tuple of loaders for training,
            validation and test; a dataset of Lamina. A name goes before a path: write "./digits" for a folder of that
            name.
        targets: the targets of arrays.
        options: what the loader in question takes, for example `target` for a table or `count` and `seed` for a
            synthetic set; `kind` says what a file is: "table", "text", "pairs", "language", "series" or
            "descriptions".

    >>> load("digits").take(torch.tensor([0]))[1]
    tensor([0])
    >>> load("moons", count=10, seed=3).spec.task
    'classification'
    """
    if isinstance(what, (str, Path)):
        if targets is not None:
            raise DataError(f"`targets` belongs to arrays, but {str(what)!r} is a name or path: use target='column'.")
        named = _by_name(what, options)
        # How to load it again: a run writes this down, so that it can be resumed by another process, and with another
        # amount of free memory.
        again = {**options, "stream": True} if getattr(named, "streamed", False) else options
        object.__setattr__(named, "origin", {"source": str(what), "options": again})
        return named
    if isinstance(what, Dataset):
        return what
    if are_loaders(what):
        return _called(Loaders, "a DataLoader", options, *(what if isinstance(what, tuple | list) else (what,)))
    if isinstance(what, dict) and are_loaders(what.get("train")):
        return _called(Loaders, "a DataLoader", {**what, **options})
    if isinstance(what, torch_data.TensorDataset) and len(what.tensors) > 1:
        *inputs, targets = what.tensors
        what = tuple(inputs) if len(inputs) > 1 else inputs[0]
    if isinstance(what, torch_data.Dataset):
        return _called(WrappedDataset, "a torch Dataset", options, what)
    if targets is None and (table := as_frame(what)) is not None:
        rest = {option: value for option, value in options.items() if option != "kind"}
        title, loader = _READERS[form_of(Path(), list(rest), options.get("kind"))]
        return _called(loader, title, rest, table)
    if targets is None and _is_indexed(what):
        return _called(WrappedDataset, "a dataset", options, what)
    if targets is None:
        if not (isinstance(what, tuple) and len(what) == 2):
            raise DataError(
                f"`what` must be a name, a path, a DataFrame or another table, a pair of arrays (inputs, targets) or a "
                f"dataset, got {type(what).__name__}."
            )
        what, targets = what
    return _called(from_arrays, "arrays", options, what, targets)


def _is_indexed(what: Any) -> bool:
    """Say whether this is somebody's dataset: a thing with length and items that is neither array nor collection."""
    known = isinstance(what, list | tuple | dict | bytes) or hasattr(what, "__array__")
    return not known and hasattr(what, "__getitem__") and hasattr(what, "__len__")


def _by_name(what: str | Path, options: dict[str, Any]) -> Dataset:
    title, loader, arguments, rest = _loader_of(what, options)
    return _called(loader, title, rest, *arguments)


def option_types(what: str, given: Collection[str] = (), kind: str | None = None) -> dict[str, Any]:
    """Say what each option of a data set or a file is declared to be, without reading more than its first lines.

    Args:
        what: a name or a path.
        given: the names of the options that are given, which tell a series from a table.
        kind: what a file is said to be.

    >>> option_types("moons")["noise"], option_types("sales.csv", ["window"])["horizon"]
    (<class 'float'>, <class 'int'>)
    """
    _, loader, arguments, _ = _loader_of(what, dict.fromkeys(given) | ({} if kind is None else {"kind": kind}))
    return _accepted(loader, len(arguments)) | ({"kind": str | None} if arguments else {})


def _loader_of(
    what: str | Path, options: dict[str, Any]
) -> tuple[str, Callable[..., Dataset], tuple[Any, ...], dict[str, Any]]:
    """Find who reads a name or a path: its title for people, the loader, its arguments, and the options left for it."""
    no_odd_name(what)
    name, path = str(what), Path(what).expanduser()
    if isinstance(what, str) and name in SETS:
        return f"{name!r}", SETS[name], (), options
    if isinstance(what, str) and name in PICTURES:
        from lamina.data.named import load_named

        return f"{name!r}", partial(load_named, name), (), options
    if isinstance(what, str) and name in NAMED:
        from lamina.data.text.corpora import LOADERS

        return f"{name!r}", LOADERS[name], (), options
    published = store.SETS.get(name) if isinstance(what, str) and not path.exists() else None
    if published is not None and published.kind == "weights":
        raise DataError(
            f"{name!r} names weights, not data: a network starts from them with --weights {name}, or by "
            f"load_weights(network, {name!r})."
        )
    many = parquet_files(path) is not None and not path.is_file()
    if path.is_dir() and not many:
        from lamina.data.images import load_folder

        return "a folder", load_folder, (path,), options
    if many or path.suffix.lower() in SUFFIXES:
        rest = {option: value for option, value in options.items() if option != "kind"}
        title, loader = _READERS[form_of(path, list(rest), options.get("kind"))]
        return title, loader, (path,), rest
    if path.exists():
        raise DataError(
            f"`{path.as_posix()}` is neither a folder nor a table ({', '.join(SUFFIXES)}): a single picture is for "
            "`predict`, and other formats must be converted."
        )
    known = [*SETS, *NAMED]
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known names are {', '.join(known)}; a path works too."
    raise DataError(f"there is no data set named {name!r} and no file or folder of that name: {hint}")


def _accepted(loader: Callable[..., Dataset], given: int = 0) -> dict[str, Any]:
    """Say what each option of a loader is declared to be, after so many arguments."""
    parameters = list(inspect.signature(loader).parameters.values())[given:]
    types = {
        p.name: Any if p.annotation is p.empty else p.annotation for p in parameters if p.kind is not p.VAR_KEYWORD
    }
    if any(p.kind is p.VAR_KEYWORD for p in parameters):  # how to read a table of text
        types |= {field.name: field.type for field in fields(Format)}
    return types


def _called(loader: Callable[..., Dataset], name: str, options: dict[str, Any], *arguments: Any) -> Dataset:
    """Call a loader, and name the options it has if one is unknown or of another kind."""
    types = _accepted(loader, len(arguments))
    for option, value in options.items():
        if option not in types:
            has = f"it has {', '.join(types)}{nearest(option, types)}" if types else "it has none."
            raise DataError(f"{name} has no option {option!r}: {has}")
        check(option, value, types[option])
    return loader(*arguments, **options)
