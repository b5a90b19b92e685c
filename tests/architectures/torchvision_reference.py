"""torchvision's models as a reference, also where its compiled operators do not fit the installed torch.

PyPI's torchvision does not import beside a CPU-only torch: its library of operators does not load, and it then declares
fake versions of operators that do not exist. Empty declarations of those cure it; no classification model calls them.
"""

import functools
import importlib.util
from pathlib import Path

import torch
from torch import nn

_KEPT = []  # a library's declarations live as long as the object


@functools.cache
def _prepare():
    folder = Path(importlib.util.find_spec("torchvision").submodule_search_locations[0])
    try:
        torch.ops.load_library(next(folder.glob("_C*")))
    except (OSError, StopIteration):
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)


def reference(name: str, state: dict, **options) -> nn.Module:
    """Build torchvision's model `name` around the tensors of `state`, without drawing any numbers; in evaluation."""
    _prepare()
    from torchvision import models

    with torch.device("meta"):
        network = getattr(models, name)(**options)
    network.load_state_dict(state, assign=True)
    return network.eval()
