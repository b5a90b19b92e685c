"""Write a trained network to a file that others can use; the ending of its name chooses the format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from lamina import __version__
from lamina._errors import ArgumentError, nearest
from lamina.export._loop import greedily, loop
from lamina.export.onnx_file import OPSET, TOLERANCE, as_onnx, check, finished
from lamina.export.programs import save_program
from lamina.inspection._example import example_inputs
from lamina.report._commands import spell
from lamina.report._commands import train as training_command
from lamina.report._record import read as read_record
from lamina.training.deployment import Deployed, Port, below, normal
from lamina.training.files import write
from lamina.training.packed import PackedRun, home_of, pack, record_of
from lamina.training.rebuild import describe
from lamina.training.run import Run

SUFFIXES = (".onnx", ".pt2", ".safetensors")
"""Of files that `save` writes."""


@dataclass(frozen=True)
class Saved:
    """What was written.

    Args:
        files: the files; of an encoder and decoder several.
        facts: what a user of them should know, one sentence each.
    """

    files: tuple[Path, ...]
    facts: tuple[str, ...]


def save(
    what: Run | nn.Module | str | Path,
    path: str | Path,
    *,
    with_preparation: bool = False,
    aot: bool = False,
    again: bool = False,
) -> Saved:
    """Write a network to a .onnx, .pt2 or .safetensors file; what an .onnx or .pt2 file computes is compared before.

    Args:
        what: a run or its folder; or for .onnx and .pt2 a network of ours.
        path: the file. Of an encoder and decoder an .onnx file translates greedily, and both parts lie beside it in
            files of their own; as .pt2 there are only these.
        with_preparation: for .onnx: read stored examples, as bytes, numbers and categories, and answer with
            probabilities and labels, or in the units of the data.
        aot: for .pt2: compile ahead of time, for machines of this kind; needs a C++ compiler.
        again: replace files that exist.

    >>> import lamina, tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     net = lamina.build("fnn", inputs=2, outputs=2, hidden=8)
    ...     run = lamina.fit(net, lamina.load("moons", count=60), lamina.Recipe(epochs=1), folder=f"{place}/run")
    ...     saved = save(run, f"{place}/moons.safetensors")
    ...     lamina.Run.load(saved.files[0]).predict([[0.0, 1.0]]).values.equal(run.predict([[0.0, 1.0]]).values)
    True
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        hint = nearest(suffix, SUFFIXES, " Did", "")
        raise ArgumentError(
            f"a network is written to files that end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got "
            f"{path.as_posix()!r}.{hint}"
        )
    if with_preparation and suffix != ".onnx":
        raise ArgumentError(
            "`with_preparation` is for .onnx files: a .safetensors file always holds the preparation, and a .pt2 "
            "program is the network alone."
        )
    if aot and suffix != ".pt2":
        raise ArgumentError("`aot` compiles a network into a .pt2 file: choose this ending.")
    what = Run.load(what) if isinstance(what, str | Path) else what
    free_place(path, again)
    if suffix == ".safetensors":
        if isinstance(what, nn.Module):
            raise ArgumentError("a .safetensors file is made of a run: give the run, not its network.")
        write(path, pack(what, command_of(what))[0])
        return Saved((path,), (f"use it with: lamina predict {path.as_posix()} INPUT",))
    if isinstance(what, Run):
        parts = what.task.deployed(what.model, with_preparation)
    else:
        parts = {"": deployed_network(what)}
    if suffix == ".pt2":
        return _programs(parts, path, aot, again)
    return _onnx(parts, path, _metadata(what, with_preparation), again)


def _onnx(parts: dict[str, Deployed], path: Path, metadata: dict[str, Any], again: bool) -> Saved:
    contents = {name: as_onnx(part, metadata) for name, part in parts.items()}
    if "encoder" in parts:
        import onnx

        encoder, decoder = (onnx.load_from_string(contents[name]) for name in ("encoder", "decoder"))
        contents[""] = finished(loop(encoder, decoder), metadata)
        check(contents[""], greedily(parts))
    files = {name: _beside(path, name, again) for name in sorted(contents)}
    for name, file in files.items():
        write(file, contents[name])
    free = next(iter(parts.values())).free
    agreed = f"onnxruntime agrees with the network to {TOLERANCE:g} on random inputs of several sizes"
    return Saved(tuple(files.values()), (f"opset {OPSET}; free axes: {', '.join(free)}", agreed))


def _programs(parts: dict[str, Deployed], path: Path, aot: bool, again: bool) -> Saved:
    files = {name: _beside(path, name, again) for name in parts}
    for name, part in parts.items():
        save_program(part, files[name], aot)
    free = next(iter(parts.values())).free
    read = "torch._inductor.aoti_load_package" if aot else "torch.export.load"
    return Saved(tuple(files.values()), (f"free axes: {', '.join(free)}", f"read it with {read}"))


def _beside(path: Path, part: str, again: bool) -> Path:
    """Give the place of a part of a network, beside that of the whole."""
    file = path.with_stem(f"{path.stem}-{part}") if part else path
    free_place(file, again)
    return file


def free_place(path: Path, again: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, and one that cannot be written."""
    if path.is_dir():
        raise ArgumentError(f"`--output` must be a file, but {path} is a folder: add a name such as {path}/model.onnx.")
    if path.exists() and not again:
        raise ArgumentError(f"{path} exists: choose another name, or add --again, which replaces it.")
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder of `--output`, {path.parent}, does not exist: make it first.")


def command_of(run: Run) -> str:
    """Give the command that trained a run, without the folders of the machine; "" for one written in Python."""
    if isinstance(home_of(run.folder), PackedRun):
        return ""
    words, _ = training_command(read_record(run.folder))
    return spell(words) if words else ""


def deployed_network(model: nn.Module) -> Deployed:
    """Say what a network of ours, or another that says what it reads, takes: batch and time are free.

    >>> from lamina.architectures.build import build
    >>> [port.axes for port in deployed_network(build("seq2seq", inputs=9, outputs=9)).inputs]
    [('batch', 'time'), ('batch', 'target_time')]
    """
    examples, config = example_inputs(model), getattr(model, "config", None)
    sequence = hasattr(config, "cell") and not hasattr(config, "steps")
    ports = []
    for place, example in enumerate(examples):
        axes: list[int | str] = ["batch", *example.shape[1:]]
        if sequence:
            axes[1] = ("time", "target_time")[place]
        name = ("inputs", "target_inputs")[place]
        words = 1 if example.is_floating_point() else (config.inputs, config.outputs)[place]  # type: ignore[union-attr]
        ports.append(Port(name, tuple(axes), normal if example.is_floating_point() else below(words)))
    return Deployed(model, tuple(ports))


def _metadata(what: Run | nn.Module, with_preparation: bool) -> dict[str, Any]:
    """Say in plain values what a file holds."""
    if isinstance(what, Run):
        return record_of(what, command_of(what)) | {"with_preparation": with_preparation}
    return {"lamina": __version__, "config": {"architecture": describe(what)}, "with_preparation": False}
