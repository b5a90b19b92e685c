"""Draw the small pictures of the first page anew, after the drawing of a page has changed.

python tools/thumbnails.py

Runs every page once, takes the main drawing of each, named here by the beginning of its label, and writes
`pages/shipped/pictures/thumbnails.json`.
"""

import json
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from lamina.drawing.scene import Scene
from lamina.drawing.thumbnail import thumbnail
from lamina.pages.book.recording import record
from lamina.pages.site.contents import Page, pages

MAIN = {
    "ch1/perceptron": "A neuron with three inputs",
    "ch1/regression": "20 points and your line",
    "ch1/kmeans": "k-means after half step",
    "ch1/descent": "long bowl after 40 steps",
    "ch1/overfitting": "A polynomial of degree 3",
    "ch1/selection": "The examples of two moons",
    "ch1/logic": "The four inputs and the line",
    "ch2/approximation": "sin 4πu + u and a network",
    "ch2/initialization": "Signals through 20 layers",
    "ch2/normalization": "The three nodes before",
    "ch2/classification": "Probabilities of spam",
    "ch2/backpropagation": "The network 2-2-1 after line",
    "ch3/convolution": "Convolution. Entry (1,1)",
    "ch3/pooling": "Windows of a kernel",
    "ch3/receptive-field": "Node 3 of the last layer",
    "ch3/lrn": "AlexNet, layer by layer",
    "ch3/lenet": "LeNet-5: input",
    "ch4/vanishing": "Of the last gradient",
    "ch4/blocks": "The block original",
    "ch4/euler": "Eight paths through 8 layers",
    "ch4/resnet18": "The first residual block of C, original",
    "ch4/transfer": "Fig. 32",
    "ch5/unrolling": "A feedforward column",
    "ch5/long-term": "The unrolled network",
    "ch5/gates": "A gated recurrent unit",
    "ch5/dictionary": "The first 24 tokens",
    "ch5/translation": "6 inputs, then 5 outputs",
    "ch5/characters": "Probabilities of six letters",
    "tools/search": "Validation accuracy over learning rate",
}


def learned() -> Scene:
    """Draw the plane of the playground after its network has learned."""
    from lamina.experiments.trained import EAGER
    from lamina.pages.chapters.ch2.playground._setup import Setup, first_network, problem, recipe
    from lamina.pages.chapters.ch2.playground._work import draw_surface
    from lamina.training.train import train

    setup = Setup(epochs=60)
    given = problem(setup)
    network = first_network(setup, given.outputs)
    for _ in train(network, given.split, recipe(setup), runtime=EAGER):
        pass
    return draw_surface(network, given)


def losses() -> Scene:
    """Draw the losses of a run as the playground for one's data does."""
    from lamina.pages.chapters.tools.playground._drawing import curves

    rows = [(e, 2.3 * 0.7**e + 0.02, 2.3 * 0.72**e + 0.09 + 0.001 * e**2, 0.5, 0.5) for e in range(1, 13)]
    return curves({"epochs": 12, "score": "accuracy", "history": rows})[0]


MADE: dict[str, Callable[[], Scene]] = {"ch2/playground": learned, "tools/playground": losses}


def main_drawing(page: Page) -> Scene:
    """Find the main drawing of a page."""
    if page.path in MADE:
        return MADE[page.path]()
    scenes = record(str(page.file), moves=False).scenes
    found = [scene for label, scene in scenes if label.startswith(MAIN[page.path]) and isinstance(scene, Scene)]
    if not found:
        raise SystemExit(f"{page.path} has no drawing whose label begins with {MAIN[page.path]!r}: name another one.")
    return found[0]


def main() -> int:
    """Write them all."""
    target = Path(str(files("lamina.pages"))) / "shipped" / "pictures" / "thumbnails.json"
    made = {page.path: thumbnail(main_drawing(page)) for page in pages()}
    target.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
    print(f"{target.name}: {len(made)} pictures, {sum(map(len, made.values())):,} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
