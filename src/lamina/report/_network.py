"""The drawing of a run's network, made from its files: nodes with their weights, or a stack of layers."""

from typing import Any

from lamina._errors import LaminaError
from lamina._markup import Markup, tag
from lamina.data.dataset import Spec
from lamina.report._blocks import card, section
from lamina.report._figures import embedded
from lamina.report._record import Record

LARGE = 300_000
"""The number of parameters from which on a network is built without its numbers, for its shapes alone."""


def network(record: Record) -> Markup | None:
    """Draw the network; nothing where a file cannot say how it is built."""
    import torch

    from lamina.drawing.of_model import drawing_of
    from lamina.training.folder import RunFolder
    from lamina.training.rebuild import rebuild

    count = sum(weight.count for weight in record.weights)
    try:
        with torch.device("meta" if count > LARGE else "cpu"):
            model = rebuild(record.config["architecture"])
        if 0 < count <= LARGE:
            model.load_state_dict(RunFolder.open(record.path).read_weights(), strict=False)
        scene = drawing_of(model, weights=0 < count <= LARGE, names=_names(record))
    except (LaminaError, RuntimeError, KeyError, TypeError, NotImplementedError):
        return None
    words = tag("figcaption", scene.description)
    return section("The network", card(scene.title, embedded(scene, "drawing"), words, figure=True))


def _names(record: Record) -> Any:
    if record.preprocess is None:
        return (), ()
    spec = Spec.from_dict(record.preprocess["spec"])
    return spec.features, spec.classes or (spec.target,)
