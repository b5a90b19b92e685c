"""Fuzzers: every parser meets damaged and hostile inputs, in the process, through the function that the commands call.

A fuzzer is a parser with some valid inputs. Inputs are made of those by a seeded generator: bytes are changed, cut out,
doubled and exchanged, numbers become extreme, words of a dictionary are put in. Whatever is no `LaminaError` counts as
a traceback. What an input costs is counted in seconds of the processor, which a busy machine does not stretch.
"""

import contextlib
import gzip
import io
import json
import random
import signal
import struct
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lamina
from faults.messages import VISITOR
from lamina._errors import LaminaError
from lamina.cli._config import read_config
from lamina.cli._values import reading, settings
from lamina.data.named import _idx_pair, _read_cifar_batch, _read_idx
from lamina.data.pictures import read_image
from lamina.studies.samplers import Grid, Random
from lamina.studies.space import Space
from lamina.studies.study import Study
from lamina.training import checkpoint
from lamina.training.files import as_toml, digest, parse_toml
from lamina.training.folder import blamed
from lamina.training.lines import as_line, read_lines
from lamina.training.manifest import Manifest
from lamina.training.plan import check_options, option_types
from lamina.training.recipe import Recipe, as_dict, from_dict
from lamina.training.run import Evaluation
from lamina.training.tasks.kinds import usable_task

HANG = 2.0
"""Seconds of the processor after which an input counts as a hang."""
GIVE_UP = 20.0
MOST = 20_000_000
"""Bytes of the largest input."""

Parse = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Fuzzer:
    """A parser, valid inputs for it, and words that its inputs may hold.

    Args:
        parse: takes an input and an empty folder.
        seeds: gives valid inputs.
        words: to put in.
    """

    parse: Parse
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()


@dataclass
class Tally:
    """What came of some inputs."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    tracebacks: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    """Where each kind of traceback comes from: its shortest input and its text."""
    traced: int = 0
    hangs: int = 0
    slowest: float = 0.0
    slow: bytes = b""


class _Hang(BaseException):
    """An input took too long."""


def run(fuzzer: Fuzzer, folder: Path, inputs: Iterator[bytes]) -> Tally:
    """Give inputs to a parser and count what comes of them."""
    found = Tally()
    for content in inputs:
        begun = time.process_time()
        try:
            with _limited():
                fuzzer.parse(content, folder)
            found.read += 1
        except LaminaError:
            found.refused += 1
        except _Hang:
            pass
        except BaseException as error:  # a panic of Rust is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            found.traced += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            ours = [at for at in traceback.extract_tb(error.__traceback__) if "lamina" in at.filename]
            where = ours[-1] if ours else last
            key = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}"
            known = found.tracebacks.get(key)
            if known is None or len(content) < len(known[0]):
                found.tracebacks[key] = content, "".join(traceback.format_exception(error))
        seconds = time.process_time() - begun
        found.inputs += 1
        found.hangs += seconds > HANG
        if seconds > found.slowest:
            found.slowest, found.slow = seconds, content
    return found


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Interrupt what takes much too long, where the system can, and keep warnings to oneself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not hasattr(signal, "SIGPROF"):
            yield
            return

        def stop(number: int, frame: Any) -> None:
            raise _Hang

        before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, GIVE_UP)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


# Inputs

_NUMBERS = (b"0", b"-1", b"1e999", b"nan", b"99999999999999999999", b"2147483648", b"-0", b"1_000", b"1,5", b"0x1F")
_ODD = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\r\n",
    b"\n",
    b'"',
    b"'",
    b"\\",
    b"\xe2\x80\xae",
    b"\xc3",
    b" ",
    b"\t",
)


def inputs(fuzzer: Fuzzer, count: int, seed: int) -> Iterator[bytes]:
    """Give so many inputs, the same for the same seed; the first are the valid ones."""
    draw, seeds = random.Random(seed), fuzzer.seeds()
    for number in range(count):
        if number < len(seeds):
            yield seeds[number]
            continue
        content = bytearray(draw.choice(seeds))
        for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
            content = _changed(content, draw, fuzzer.words, seeds)
        yield bytes(content[:MOST])


def _changed(content: bytearray, draw: random.Random, words: tuple[bytes, ...], seeds: list[bytes]) -> bytearray:
    """Change an input in one way."""
    size = len(content)
    at = draw.randrange(size + 1)
    to = min(size, at + draw.choice((1, 1, 2, 4, 16, 200)))
    how = draw.randrange(10)
    if how == 0 and at < size:
        content[at] ^= 1 << draw.randrange(8)
    elif how == 1 and at < size:
        content[at] = draw.randrange(256)
    elif how == 2:
        del content[at:to]
    elif how == 3:
        content[at:at] = content[at:to] * draw.choice((1, 2, 50))
    elif how == 4:
        del content[at:]
    elif how == 5:
        content[at:at] = draw.choice(_ODD)
    elif how == 6 and words:
        content[at : draw.choice((at, to))] = draw.choice(words)
    elif how == 7:
        digits = [i for i in range(size) if 48 <= content[i] <= 57]
        if digits:
            place = draw.choice(digits)
            content[place : place + 1] = draw.choice(_NUMBERS)
    elif how == 8:
        other = draw.choice(seeds)
        first = draw.randrange(len(other) + 1)
        content[at:to] = other[first : first + draw.choice((1, 8, 100))]
    elif at + 4 <= size:
        content[at : at + 4] = struct.pack(draw.choice((">I", "<I")), draw.choice((0, 1, 255, 2**31 - 1, 2**32 - 1)))
    return content


# Parsers

ROWS = b"height,color,born,price\n" + b"".join(
    b"%d.5,%s,2024-01-%02d,%d\n" % (i, (b"red", b"blue")[i % 2], i + 1, 3 * i) for i in range(12)
)
KINDS = b"a;b;class\n" + b"".join(b'1.%d;"x;%d";%s\n' % (i, i % 3, b"yn"[i % 2 : i % 2 + 1]) for i in range(12))
PAIRS = b"I am cold.\tMir ist kalt.\nI am here.\tIch bin hier.\nWe go.\tWir gehen.\nYou go.\tDu gehst.\n" * 2
SERIES = b"day,load,wind\n" + b"".join(b"2024-02-%02d,%d,%d.25\n" % (i + 1, i * i, i % 4) for i in range(24))
WORDS = b"text,label\n" + b"".join(b"%s film number %d,%s\n" % (
    (b"good", b"bad")[i % 2], i, (b"pos", b"neg")[i % 2]) for i in range(12))  # fmt: skip
TALE = b"Once upon a time there was a network that wished to learn.\nIt learned.\n" * 8
RECORDS = b"".join(b'{"x": %d, "y": "%s"}\n' % (i, b"ab"[i % 2 : i % 2 + 1]) for i in range(12))
DEEP = b"[" * 3000
"""More than Python can nest."""
TABLE_WORDS = (b",", b";", b"\t", b"|", b'""', b"NA", b"true", b"1.234,5", b"12 %", b"$3", b"5 kg", b"31.12.99", b"inf")
_CELLS = {"height": [1.5, 2.5, None, 4.0, 5.0, 6.5] * 2, "kind": ["a", "b", "a", "b", None, "a"] * 2, "y": [0, 1] * 6}


def loads(suffix: str, **options: Any) -> Parse:
    """Load a file of this suffix."""

    def parse(content: bytes, folder: Path) -> object:
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        data = lamina.load(path, **options)
        return data.take(torch.arange(min(2, len(data))))

    return parse


def _parquet() -> list[bytes]:
    import polars as pl

    found = []
    for compression in ("zstd", "uncompressed", "snappy"):
        with io.BytesIO() as file:
            pl.DataFrame(_CELLS).write_parquet(file, compression=compression)
            found.append(file.getvalue())
    return found


def _excel() -> list[bytes]:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(list(_CELLS))
    for row in zip(*_CELLS.values(), strict=True):
        book.active.append(row)
    with io.BytesIO() as file:
        book.save(file)
        return [file.getvalue()]


def _pictures() -> list[bytes]:
    from PIL import Image

    pixels = np.arange(7 * 5 * 3, dtype=np.uint8).reshape(7, 5, 3)
    found = []
    for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"):
        for image in (Image.fromarray(pixels), Image.fromarray(pixels[..., 0])):
            with io.BytesIO() as file:
                image.save(file, form)
                found.append(file.getvalue())
    return found


def _picture(content: bytes, folder: Path) -> object:
    path = folder / "input.png"
    path.write_bytes(content)
    return read_image(path, (3, 8, 8))


def _idx_seeds() -> list[bytes]:
    pictures = struct.pack(">HBBIII", 0, 8, 3, 2, 4, 4) + bytes(range(32))
    labels = struct.pack(">HBBI", 0, 8, 1, 2) + b"\1\2"
    real = struct.pack(">HBBII", 0, 13, 2, 2, 2) + bytes(16)
    return [pictures, labels, real, gzip.compress(pictures, mtime=0), gzip.compress(labels, mtime=0)]


def _idx(content: bytes, folder: Path) -> object:
    images = _read_idx(content, "images")
    labels = np.zeros(len(images), np.uint8)
    return _idx_pair({"train-images-idx3-ubyte.gz": images, "train-labels-idx1-ubyte.gz": labels}, "train")


def _config(content: bytes, folder: Path) -> object:
    path = folder / "options.toml"
    path.write_bytes(content)
    return read_config(path)


def _run_config(content: bytes, folder: Path) -> object:
    with blamed(folder / "config.toml"):
        values = parse_toml(content, folder / "config.toml", 2, "restore it")
        return from_dict(values["recipe"])


@cache
def _prepared() -> tuple[tuple[str, bytes, torch.Tensor], ...]:
    found = []
    for name in ("iris", "digits", "moons"):
        from lamina.training.tasks.kinds import task_of

        data = lamina.load(name)
        rows = data.take(torch.arange(2))[0]
        found.append((name, json.dumps(task_of(data).as_dict()).encode(), rows))
    return tuple(found)


def _preprocess(content: bytes, folder: Path) -> object:
    with blamed(folder / "preprocess.json"):
        task = usable_task(json.loads(content.decode()))
    rows = next((rows for _, _, rows in _prepared() if rows.shape[1:] == torch.Size(task.spec.inputs)), None)
    return task.preprocess if rows is None else task.preprocess.apply(rows)


def _evaluation(content: bytes, folder: Path) -> object:
    with blamed(folder / "evaluation.json"):
        return Evaluation(**json.loads(content.decode()))


@cache
def _journal_lines() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        study = Study.create(f"{place}/s", {"x": [1, 2, 3], "y": [0.5, 1.5]})
        study.run(lambda values: values["x"] * values["y"])
        study.note(event="refit", trial=0, folder="best")
        return (study.folder / "journal.jsonl").read_bytes()


def _journal(content: bytes, folder: Path) -> object:
    home = folder / "study"
    if not home.is_dir():
        Study.create(home, {"x": [1, 2, 3], "y": [0.5, 1.5]})
    (home / "journal.jsonl").write_bytes(content)
    study = Study.open(home)
    return repr(study), study.complete


def _signed(parse: Parse) -> Parse:
    """Give every line a checksum that fits, so that what lies behind the checksum is met."""

    def signed(content: bytes, folder: Path) -> object:
        lines = []
        for line in content.splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict) and row:
                row.pop("crc", None)
                lines.append(as_line(row) if row else "")
        return parse("".join(lines).encode(), folder)

    return signed


def _history(content: bytes, folder: Path) -> object:
    return read_lines(content, folder / "history.jsonl", "restore it")


def _manifest(content: bytes, folder: Path) -> object:
    (folder / "manifest.jsonl").write_bytes(content)
    (folder / "a.json").write_bytes(b"{}")
    try:
        return Manifest(folder).seals(), Manifest(folder).expects("a.json")
    finally:
        (folder / "manifest.jsonl").unlink()


def _checkpoint(content: bytes, folder: Path) -> object:
    path = folder / f"step-00000001-{digest(content)}.safetensors"
    path.write_bytes(content)
    try:
        return checkpoint.load(folder)
    finally:
        path.unlink()


def _space(content: bytes, folder: Path) -> object:
    space = Space.read(content.decode(errors="replace").split("\n"))
    if (space.size or 10**9) <= 1000:
        Grid().propose(space, ())
    return Random(3).propose(space, ())


def _set(content: bytes, folder: Path) -> object:
    architecture, *words = content.decode(errors="replace").split("\n")
    known = architecture if architecture in ("fnn", "lenet5", "many-to-one", "seq2seq", "resnet18") else "fnn"
    chosen = settings(words, option_types(known), flags=("epochs", "data"))
    check_options(known, chosen, None, 0)
    return chosen


def _read(content: bytes, folder: Path) -> object:
    name, *words = content.decode(errors="replace").split("\n")
    known = name if name in ("moons", "wave", "a.csv", "b.tsv") else "moons"
    return reading(words, known)


def _named_options() -> list[bytes]:
    found = []
    for name in ("fnn", "lenet5", "many-to-one", "seq2seq", "resnet18"):
        for option in option_types(name):
            found.append(f"{name}\n{option}=1".encode())
    return [
        b"fnn\nhidden=64,32\nlearning_rate=1e-3\nbatch_size=8",
        b"many-to-one\ncell=gru\nhidden=8\nclip=1.0",
        b"fnn\noptimizer=adam\nbeta1=0.9\nschedule=cosine\nwarmup=3",
        *found,
    ]


def _weights() -> list[bytes]:
    from safetensors.torch import save

    weight = torch.arange(6.0).reshape(2, 3)
    return [save({"a": weight, "b": weight[0].clone()}, {"lamina": json.dumps({"rows": [], "step": 1})})]


OPTIONS = b'architecture = "fnn"\ndata = "iris"\nepochs = 3\nseed = 1\n[read]\ndrop = ["a"]\n[set]\nhidden = [8, 4]\n'
SPACES = [
    b"learning_rate=1e-4..1e-1:log\nhidden=8,16,(8;8)",
    b"x=1..5\ny=0.1..0.9:3\nz=a,b,c",
    b"optimizer=adam,sgd\nmomentum=0.5..0.9 if optimizer=sgd",
]
READS = [
    b"moons\ncount=10\nnoise=0.2",
    b"wave\nwindow=4",
    b"a.csv\ndelimiter=;\nheader=true\ndrop=a,b",
    b"b.tsv\nkind=pairs",
]


def _recipe() -> list[bytes]:
    return [as_toml({"version": 2, "recipe": as_dict(Recipe(epochs=3))}).encode()]


def _judged() -> list[bytes]:
    values = {"metrics": {"loss": 0.5, "accuracy": 0.75}, "examples": 8, "baselines": [], "unit": "examples"}
    known = {name: value for name, value in values.items() if name in Evaluation.__dataclass_fields__}
    return [json.dumps(known).encode()]


FUZZERS: dict[str, Fuzzer] = {
    "IDX": Fuzzer(_idx, _idx_seeds),
    "CIFAR": Fuzzer(lambda content, folder: _read_cifar_batch(content, "batch"), lambda: [b"\3" + bytes(3072)]),
    "pictures": Fuzzer(_picture, _pictures),
    "CSV": Fuzzer(loads(".csv"), lambda: [ROWS, KINDS], TABLE_WORDS),
    "TSV": Fuzzer(loads(".tsv", kind="table"), lambda: [ROWS.replace(b",", b"\t")], TABLE_WORDS),
    "JSON lines": Fuzzer(loads(".jsonl"), lambda: [RECORDS], (b"null", b"[]", b"{}", b"1e999", b'"*"', DEEP)),
    "Parquet": Fuzzer(loads(".parquet"), _parquet),
    "Excel": Fuzzer(loads(".xlsx"), _excel),
    "pairs": Fuzzer(loads(".tsv", kind="pairs"), lambda: [PAIRS], (b"\t", b"\n\n", b"\xe2\x80\x9c")),
    "series": Fuzzer(loads(".csv", window=4), lambda: [SERIES], TABLE_WORDS),
    "texts": Fuzzer(loads(".csv", kind="text"), lambda: [WORDS], TABLE_WORDS),
    "running text": Fuzzer(loads(".txt"), lambda: [TALE]),
    "TOML": Fuzzer(_config, lambda: [OPTIONS], (DEEP, b"[", b"]", b"= ", b'"""', b"[[a]]", b"inf", b"1979-05-27")),
    "recipes": Fuzzer(_run_config, _recipe, (DEEP, b"[", b"true", b'""', b"-1", b"1e400")),
    "preprocess": Fuzzer(_preprocess, lambda: [text for _, text, _ in _prepared()], (
        DEEP, b"null", b"[]", b'"a"', b"{}")),
    "evaluation": Fuzzer(_evaluation, _judged, (DEEP, b"null", b"[]", b'"a"')),
    "journal": Fuzzer(_journal, lambda: [_journal_lines()], (DEEP,)),
    "signed journal": Fuzzer(_signed(_journal), lambda: [_journal_lines()], (b"null", b"[]", b'"a"', b"{}")),
    "history": Fuzzer(_history, lambda: [as_line({"step": 1, "loss": 0.5}).encode() * 3], (DEEP,)),
    "manifest": Fuzzer(_signed(_manifest), lambda: [as_line(
        {"file": "a.json", "state": "written", "digest": "0" * 64, "bytes": 2}).encode()], (b"null", b"[]", b"{}")),
    "checkpoints": Fuzzer(_checkpoint, _weights, (DEEP, b"null", b"F64", b"[]")),
    "search spaces": Fuzzer(_space, lambda: SPACES, (b"..", b":", b"log", b",", b"(", b")", b";", b" if ", b"=")),
    "--set": Fuzzer(_set, _named_options, (b"=", b",", b"\n", b"none", b"true", b"-1", b"1e9", b"(")),
    "--read": Fuzzer(_read, lambda: READS, (b"=", b",", b"tab", b"\n", b"none", b"true")),
    "page messages": Fuzzer(VISITOR.say, VISITOR.seeds, (b"null", b"[]", b"{}", b"1e999", b'"nan"', b"true")),
}  # fmt: skip
