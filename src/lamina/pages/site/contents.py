"""The table of contents: every live page once, in the order of the notes."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from lamina._errors import ArgumentError

CHAPTERS = {
    "ch1": "Introduction",
    "ch2": "Feedforward neural network",
    "ch3": "Convolutional neural network",
    "ch4": "ResNet",
    "ch5": "Recurrent neural network",
    "tools": "Tools",
}


@dataclass(frozen=True)
class Page:
    """One live page.

    Args:
        chapter: `ch1` to `ch5`, or `tools`.
        slug: the last part of its permanent link.
        title: its heading.
        summary: one sentence for the index.
        sections: the sections of the notes it belongs to.

    >>> PAGES[0].path, PAGES[0].file.parts[-3:]
    ('ch1/perceptron', ('ch1', 'perceptron', 'page.py'))
    """

    chapter: str
    slug: str
    title: str
    summary: str
    sections: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The permanent link, without the first slash."""
        return f"{self.chapter}/{self.slug}"

    @property
    def file(self) -> Path:
        """The notebook."""
        return Path(str(files("lamina.pages"))) / "chapters" / self.chapter / self.slug.replace("-", "_") / "page.py"

    @property
    def number(self) -> str:
        """The chapter as readers call it.

        >>> PAGES[0].number
        'Chapter 1'
        """
        return f"Chapter {self.chapter[2:]}" if self.chapter.startswith("ch") else "Tools"


PAGES: tuple[Page, ...] = (
    Page("ch1", "perceptron", "The perceptron", "One neuron, its weights, and the functions it may answer with.", ("1",)),
    Page("ch1", "regression", "Linear regression", "A line through data, its loss and the point where it is smallest.", ("1.1",)),
    Page("ch1", "kmeans", "Clusters without a teacher", "k-means, one half step at a time.", ("1.2",)),
    Page("ch1", "descent", "Ways downhill", "Gradient descent, SGD, momentum and Adam race on one landscape.", ("1.3",)),
    Page("ch1", "overfitting", "Too simple, too eager", "Polynomials of any degree: what they remember and what they learn.", ("1.4",)),
    Page("ch1", "selection", "Choosing a model", "Training, validation and test data; searching hyperparameters.", ("1.5",)),
    Page("ch1", "logic", "OR, AND and XOR", "What one straight line can decide, and what needs two.", ("1.6",)),
    Page("ch2", "playground", "Feedforward playground", "Build a network for points or your own table, watch it learn, and take it home as code.", ("2",)),
    Page("ch2", "approximation", "Universal approximation", "How many neurons draw a curve, what depth saves, and what it costs.", ("2.1",)),
    Page("ch2", "initialization", "Where to start", "Zero, equal, small, large, Xavier and He weights, layer by layer.", ("2.2",)),
    Page("ch2", "normalization", "Batch normalization", "What it computes in training and in use, and what it changes.", ("2.3",)),
    Page("ch2", "classification", "Classification", "Probabilities, the losses that suit them, thresholds, and handwritten digits.", ("2.4",)),
    Page("ch2", "backpropagation", "Backpropagation", "A small network, forward and backward, number by number, compared with autograd.", ("2.5",)),
    Page("ch3", "convolution", "Convolution", "Convolution of functions, dice and matrices: a kernel steps over the notes' numbers or yours.", ("3", "3.1", "3.2")),
    Page("ch3", "pooling", "Padding, stride, pooling", "Where a kernel goes, how large the result is, and what pooling throws away.", ("3.2", "3.3", "3.4")),
    Page("ch3", "receptive-field", "Receptive field", "Which inputs an output can see, by formula and by gradient.", ("3.2",)),
    Page("ch3", "lrn", "AlexNet and its normalization", "Color pictures, neighbors that inhibit each other, and dropout.", ("3", "3.2", "3.5")),
    Page("ch3", "lenet", "LeNet-5 reads your digit", "Draw a digit and see every feature map it passes through.", ("3",)),
    Page("ch4", "vanishing", "Vanishing gradients", "The same depth with and without skip connections.", ("4",)),
    Page("ch4", "blocks", "Residual blocks", "The original block, the pre-activation block and their order.", ("4.1",)),
    Page("ch4", "euler", "A network as a flow", "Residual layers are Euler steps of a differential equation.", ("4",)),
    Page("ch4", "resnet18", "ResNet18", "Its blocks, its layers and where its parameters are.", ("4.2",)),
    Page("ch4", "transfer", "Transfer learning", "Take a trained network, change its ends, and teach it your pictures.", ("4.3",)),
    Page("ch5", "unrolling", "Unrolling a recurrent network", "One cell, many times; four shapes of sequences.", ("5", "5.1")),
    Page("ch5", "long-term", "Long memories", "How far back a network remembers its inputs, and clipping.", ("5.2",)),
    Page("ch5", "gates", "GRU and LSTM gates", "Watch the gates open and close on a sentence.", ("5.2.1", "5.2.2")),
    Page("ch5", "dictionary", "Dictionary and one-hot", "From words to vectors and back.", ("5.3",)),
    Page("ch5", "translation", "Translation", "Type English, watch the states, and read German.", ("5.3",)),
    Page("ch5", "characters", "A network that writes", "A character model that writes while it learns.", ("5.3",)),
    Page("tools", "playground", "Playground for your data", "Bring a table, pictures or texts, choose a network, watch it learn, and take it with you."),
    Page("tools", "search", "Search", "Sixty-four networks learn at once, shown as a heat map; then all 1,024 of the notes."),
)  # fmt: skip
"""Every page that is planned, in the order of the notes; `pages()` has those that are written."""


@cache
def pages() -> tuple[Page, ...]:
    """Return the pages whose notebook exists.

    >>> "ch1/perceptron" in [page.path for page in pages()]
    True
    """
    return tuple(page for page in PAGES if page.file.is_file())


def find(path: str) -> Page:
    """Look up a page by its link.

    >>> find("ch1/perceptron").title
    'The perceptron'
    """
    for page in pages():
        if page.path == path.strip("/"):
            return page
    known = ", ".join(page.path for page in pages())
    raise ArgumentError(f"there is no page {path!r}: choose one of {known}.")


def neighbors(page: Page) -> tuple[Page | None, Page | None]:
    """Return the page before and the page after.

    >>> neighbors(pages()[0])[0] is None
    True
    """
    all_pages = pages()
    at = all_pages.index(page)
    return (all_pages[at - 1] if at else None, all_pages[at + 1] if at + 1 < len(all_pages) else None)
