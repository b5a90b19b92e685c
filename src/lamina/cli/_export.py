"""`lamina export` and `lamina push`: write a trained network for those who use it elsewhere."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lamina.cli._options import Json, Quiet
from lamina.cli._voice import Voice, say

Trained = Annotated[
    Path, Argument(metavar="RUN", help="The folder of a run, an exported .safetensors file or a pushed folder.")
]


def export(
    run: Trained,
    output: Annotated[
        Path,
        Option("-o", "--output", help="The file to write; its ending chooses the format: .onnx, .pt2 or .safetensors."),
    ],
    with_preparation: Annotated[
        bool,
        Option(
            "--with-preparation",
            help="ONNX: read bytes, numbers and categories as they are, and answer with labels and probabilities.",
        ),
    ] = False,
    aot: Annotated[
        bool, Option("--aot", help="PT2: compile ahead of time for machines of this kind; needs a C++ compiler.")
    ] = False,
    again: Annotated[bool, Option("--again", help="Replace files that exist.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a trained network as ONNX, as a program of torch, or as one file for `lamina predict`."""
    from lamina.cli._progress import Warnings
    from lamina.export.save import save

    with (said := Warnings()):
        saved = save(run, output, with_preparation=with_preparation, aot=aot, again=again)
    said.show(quiet)
    if as_json:
        print(json.dumps({"files": [str(file) for file in saved.files], "facts": list(saved.facts)}))
        return
    print(*(file if quiet else f"exported: {file}" for file in saved.files), sep="\n")
    Voice(quiet).say(*saved.facts)


def push(
    run: Trained,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder to write.")],
    license: Annotated[
        str, Option(metavar="ID", help="The license of the network as the Hub writes it, such as mit or cc-by-4.0.")
    ] = "",
    again: Annotated[bool, Option("--again", help="Replace the files of an earlier push.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a folder with a network and its model card in the convention of the Hub, ready to upload."""
    from lamina.cli._progress import Warnings
    from lamina.export.card import push as write_folder

    with (said := Warnings()):
        written = write_folder(run, folder, license=license, again=again)
    said.show(quiet)
    if as_json:
        print(json.dumps({"folder": str(written)}))
    elif quiet:
        print(written)
    else:
        say(f"written: {written}")
        if not license:
            say("the card says that no license was chosen: add --license mit --again, or another one")
        say(f"next: hf upload USER/{written.resolve().name} {written}")
