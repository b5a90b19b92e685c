"""Small stacks of convolutions whose receptive fields a page can look into."""

from collections.abc import Sequence

import torch
from torch import nn

from lamina.layers.detector import Detector
from lamina.layers.initialized import conv2d


def line_stack(kernel_sizes: Sequence[int], strides: Sequence[int], paddings: Sequence[int]) -> nn.Sequential:
    """Make a 1-d convolutional network with one channel, all weights 1, without biases.

    >>> line_stack([3], [1], [1])(torch.ones(1, 1, 5)).tolist()
    [[[2.0, 3.0, 3.0, 3.0, 2.0]]]
    """
    layers = []
    for m, s, p in zip(kernel_sizes, strides, paddings, strict=True):
        layer = nn.utils.skip_init(nn.Conv1d, 1, 1, m, stride=s, padding=p, bias=False)
        layer.weight.data = torch.ones(1, 1, m)
        layers.append(layer)
    return nn.Sequential(*layers)


def square_stack(layers: int, kernel_size: int = 3, stride: int = 1, channels: int = 4, seed: int = 0) -> nn.Sequential:
    """Make a stack of equal convolutions of gray pictures, each followed by ReLU.

    >>> [type(part).__name__ for part in square_stack(2)]
    ['Conv2d', 'Detector', 'Conv2d', 'Detector']
    """
    generator = torch.Generator().manual_seed(seed)
    parts: list[nn.Module] = []
    for place in range(layers):
        source = 1 if place == 0 else channels
        start = {"initialization": "he", "seed": generator}
        parts.append(conv2d(source, channels, kernel_size, stride=stride, padding=kernel_size // 2, **start))  # type: ignore[arg-type]
        parts.append(Detector("relu"))
    return nn.Sequential(*parts)
