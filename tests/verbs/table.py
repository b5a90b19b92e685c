"""The table architecture x verb: one row for each architecture, and the sentence of each cell that does not apply.

    python tests/verbs/table.py --write

writes `docs/verbs.md` from it; `tests/verbs/test_verbs.py` runs every cell.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verbs.md"

VERBS = {
    "train": "`lamina train` ends with a finite loss that is smaller than that of the first epoch.",
    "resume": "A run that is interrupted in the middle of an epoch and resumed ends with the same bytes in "
    "`weights.safetensors` and `history.jsonl` as one that was never interrupted.",
    "ranks": "`lamina train --ranks 2` has the history, the weights and the test result of one process, up to the "
    "rounding of sums.",
    "evaluate": "The accuracy, the mean squared error or the score of the texts that `lamina evaluate` prints is the "
    "one computed by hand from the predictions for the test examples; for a running text it is the loss.",
    "predict": "There is one answer per example, probabilities of classes sum to 1, and the command prints what Python "
    "returns.",
    "report": "The report names the network, its number of parameters and its test result, and the command that it "
    "prints trains the same weights again, byte for byte.",
    "export": "`lamina export` writes a `.safetensors` file that answers exactly as the run does, from Python and with "
    "`lamina predict`; in its recommended size the network is also exported as ONNX, where onnxruntime gives the same.",
    "search": "Of two learning rates the one with the smaller validation loss wins; the study opens again, and "
    "resuming it changes nothing.",
    "adapt": "`lamina.adapt` gives the network one more output: only the layers that write it are new, and every "
    "other tensor is the trained one.",
    "inspect": "`lamina inspect` counts as many parameters as the network has.",
    "draw": "`lamina draw` writes valid SVG whose description names the cells, the nodes or the layers of the network "
    "and its number of parameters.",
}
"""The verbs in the order of their columns, and what a cell promises."""


@dataclass(frozen=True)
class Row:
    """One architecture on small data.

    Args:
        architecture: a name from `lamina list`.
        data: a name from `lamina data list`, or one of the files that `files.write` makes.
        read: how to read the data (`--read`).
        network: options that make the network small; left out in full size.
        recipe: options of training.
        called: the name in the report, where a more specific or a more general one fits the configuration.
        epochs: how many, but for full size.
        adapted: the layers that `lamina.adapt` exchanges for another number of outputs.
    """

    architecture: str
    data: str
    adapted: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    called: str = ""
    epochs: int = 4

    def __str__(self) -> str:
        return f"{self.architecture} on {self.data}{self.streamed}"

    @property
    def streamed(self) -> str:
        """Words that tell data on disk from those in memory."""
        return ", streamed" if {"stream=true", "budget=1"} & {*self.read} else ""


_SLOW = ("learning_rate=0.01",)
_DEEP = ("depth=11", "bottleneck=true", "width=0.25")
_ALEX = ("classifier.6",)
_NARROW = ("inputs=1,16,16", "width=0.0625")
_SMALL = ("hidden=6",)
_WORDS = ("hidden=6", "embedding=4")
_FAST = ("learning_rate=0.03",)
_ROWS = (
    Row("perceptron", "linear", ("affine",), ("count=60",)),
    Row("logic-gate", "xor"),
    Row("fnn", "moons", ("layers.2.affine",), ("count=60",), ("hidden=8,4",), _FAST),
    Row("fnn", "weather.csv", ("layers.2.affine",), ("weight=days", "group=year"), ("hidden=8,4",), _FAST),
    Row("fnn", "rows.parquet", ("layers.2.affine",), ("stream=true",), ("hidden=8,4",), _FAST),
    Row("lenet5", "pictures", ("classifier.7",), (), ("inputs=1,12,12",), ("activation=relu",)),
    Row("lenet5", "pictures", ("classifier.7",), ("budget=1",), ("inputs=1,12,12",), ("activation=relu",)),
    Row("lenet5-1998", "pictures"),
    Row("alexnet", "pictures", _ALEX, (), ("inputs=1,67,67", "width=0.05")),
    Row("alexnet-2012", "pictures", _ALEX, (), ("inputs=1,67,67", "width=0.05")),
    Row("alexnet-torchvision", "pictures", _ALEX, (), ("inputs=1,63,63", "width=0.05")),
    Row("alexnet-cifar", "pictures", _ALEX, (), ("inputs=1,16,16", "width=0.05")),
    Row("dense-resnet", "blobs", ("readout",), ("count=60",), ("hidden=4", "depth=2")),
    Row("neural-ode", "curve", ("readout",), ("count=60",), ("steps=2", "width=3"), _FAST),
    Row("resnet18", "pictures", ("fc",), (), _NARROW, _SLOW, "resnet18-cifar"),
    Row("resnet34", "pictures", ("fc",), (), _NARROW, _SLOW),
    Row("resnet50", "pictures", ("fc",), (), _NARROW, _SLOW),
    Row("resnet18-cifar", "pictures", ("fc",), (), _NARROW, _SLOW),
    Row("cifar-resnet", "pictures", ("fc",), (), ("depth=8", "width=0.25"), _SLOW),
    Row("resnet164", "pictures", ("fc",), (), _DEEP, _SLOW, "cifar-resnet"),
    Row("resnet1001", "pictures", ("fc",), (), _DEEP, _SLOW, "cifar-resnet"),
    Row("one-to-many", "sounds.csv", ("output",), (), _SMALL, _FAST),
    Row("one-to-many", "digit-words", ("output",), (), ("hidden=24",), ("batch_size=100", *_FAST), epochs=15),
    Row("many-to-one", "wave", ("output",), ("steps=120", "window=8"), _SMALL, _FAST),
    Row("many-to-one", "agreement", ("output",), ("count=60", "gap=2"), _WORDS, _FAST),
    Row("many-to-one", "reviews.csv", ("output",), (), _WORDS, _FAST),
    Row("many-to-many", "next-input", ("output",), ("count=60", "length=6"), _WORDS, ("learning_rate=0.1",)),
    Row("many-to-many", "tale.txt", ("output",), (), _WORDS, ("window=10", *_FAST)),
    Row("seq2seq", "pairs.tsv", ("target_encoding", "output"), (), _WORDS, _FAST),
)
ROWS = {str(row): row for row in _ROWS}
"""Every architecture of `lamina list`, by its name and its data; recurrent networks once for each kind of data."""


def slow(name: str, verb: str) -> bool:
    """Whether a cell is left to `make test-slow`: two more processes, or the way from disk of what others show."""
    if verb == "ranks":
        return name != "many-to-many on tale.txt"
    return bool(ROWS[name].streamed) and verb not in ("train", "evaluate")


_UNTRAINED = "logic-gate has fixed weights and cannot be trained: train fnn on --data xor instead."
_NO_RUN = "runs/logic-gate-xor is not a folder: give the folder of a run, such as runs/lenet5-digits."
SENTENCES = {
    ("logic-gate on xor", "train"): _UNTRAINED,
    ("logic-gate on xor", "resume"): _NO_RUN,
    ("logic-gate on xor", "ranks"): _UNTRAINED,
    ("logic-gate on xor", "evaluate"): _NO_RUN,
    ("logic-gate on xor", "predict"): _NO_RUN,
    ("logic-gate on xor", "report"): _NO_RUN,
    ("logic-gate on xor", "export"): _NO_RUN,
    ("logic-gate on xor", "search"): _UNTRAINED,
    ("logic-gate on xor", "adapt"): (
        "a logic gate must have `inputs` 2 and `outputs` 1, got 2 and 2: for more inputs see `shallow_parity` and "
        "`parity_tree`."
    ),
    ("lenet5-1998 on pictures", "adapt"): (
        "`outputs` must be 10, got 11: the output codes are the ten digits; LeNet5 takes other numbers of labels."
    ),
}
"""What the product says where a verb does not apply."""


def page() -> str:
    """Write the page of the docs."""
    answers = list(dict.fromkeys(SENTENCES.values()))
    lines = [
        "# Verbs",
        "",
        "Which architecture of `lamina list` works with which verb. The tests run every cell with the network in its",
        "smallest configuration on small data, most of `ranks` and of what is streamed in `make test-slow` alone,",
        "which also takes the recommended size. A number stands where a verb does not apply; the sentence with that",
        "number is what Lamina answers.",
        "",
        f"| architecture | data | {' | '.join(VERBS)} |",
        "| --- " * (len(VERBS) + 2) + "|",
    ]
    for name, row in ROWS.items():
        said = [SENTENCES.get((name, verb)) for verb in VERBS]
        cells = ["yes" if sentence is None else f"({1 + answers.index(sentence)})" for sentence in said]
        lines.append(f"| {row.architecture} | {row.data}{row.streamed} | {' | '.join(cells)} |")
    lines += ["", "The answers:", "", *(f"{place}. {sentence}" for place, sentence in enumerate(answers, 1))]
    lines += ["", "What `yes` means:", "", *(f"- **{verb}**: {promise}" for verb, promise in VERBS.items())]
    lines += [
        "",
        "`pictures` is a folder with six handwritten digits per class, `weather.csv` a table with several labels per",
        "row, weights and groups, `rows.parquet` a table, `reviews.csv` a table of texts with labels, `sounds.csv` one",
        "of things to describe, `pairs.tsv` pairs of texts and `tale.txt` a running text; the other data come with",
        "Lamina. Streamed data stay on disk.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
