"""The networks of the notes as stacks of layers: LeNet-5, AlexNet, ResNet18, with the shapes of their figures."""

from lamina.drawing._layers import Item, Layer, Stage
from lamina.drawing.scene import Scene
from lamina.drawing.stack import stack


def lenet5(style: str = "blocks") -> Scene:
    """Draw LeNet-5: convolution, detector and pooling twice, then three dense layers.

    Notes: N3.06 (§3, Fig. 17).

    Args:
        style: "blocks" or "boxes".

    >>> lenet5().description[:46]
    'input 1×28×28, convolution 6×28×28, pooling 6×'
    """
    items: list[Item] = [
        Layer("input", (1, 28, 28)),
        Layer("convolution", (6, 28, 28), "5×5"),
        Layer("detector", (6, 28, 28)),
        Layer("pooling", (6, 14, 14), "2×2"),
        Layer("convolution", (16, 10, 10), "5×5"),
        Layer("detector", (16, 10, 10)),
        Layer("pooling", (16, 5, 5), "2×2"),
    ]
    for features in (120, 84):
        items += [Layer("dense", (features,)), Layer("detector", (features,))]
    return stack([*items, Layer("dense", (10,))], style=style, title="LeNet-5")


def alexnet(style: str = "blocks") -> Scene:
    """Draw AlexNet in one column: five convolutions with overlapping pooling, three dense layers.

    Notes: N3.49 (§3.5, Fig. 24).
    Corrects: E52, the pictures have 227 x 227 pixels.

    Args:
        style: "blocks" or "boxes".

    >>> alexnet().description[-65:]
    'fully connected 4096, fully connected 4096, fully connected 1000.'
    """
    items: list[Item] = [Layer("input", (3, 227, 227))]
    plan = [
        (96, 55, "11×11, s = 4", 27),
        (256, 27, "5×5", 13),
        (384, 13, "3×3", 0),
        (384, 13, "3×3", 0),
        (256, 13, "3×3", 6),
    ]
    for number, (channels, size, note, pooled) in enumerate(plan):
        shape = (channels, size, size)
        items += [Layer("convolution", shape, note), Layer("detector", shape, name="relu")]
        items += [Layer("normalization", shape, name="LRN")] if number < 2 else []
        items += [Layer("pooling", (channels, pooled, pooled), "3×3, s = 2")] if pooled else []
    for features in (4096, 4096):
        items += [Layer("dense", (features,)), Layer("detector", (features,), name="relu")]
    return stack([*items, Layer("dense", (1000,))], style=style, title="AlexNet")


def resnet18(style: str = "blocks") -> Scene:
    """Draw ResNet18: pre-processing A, four stages B to E of two residual blocks each, average pooling, a dense layer.

    The first block of C, D and E halves the picture, so that its shortcut is a 1 x 1 convolution.

    Notes: N4.30 (§4.2, Fig. 31).
    Corrects: E60, a global average pooling precedes the dense layer.

    Args:
        style: "blocks" or "boxes".

    >>> resnet18().title
    'ResNet18'
    """
    stem = (64, 112, 112)
    first = (
        Layer("convolution", stem, "7×7"),
        Layer("normalization", stem),
        Layer("detector", stem, name="relu"),
        Layer("pooling", (64, 56, 56), "3×3"),
    )
    items: list[Item] = [Layer("input", (3, 224, 224)), Stage("A", first)]
    for name, channels, size in (("B", 64, 56), ("C", 128, 28), ("D", 256, 14), ("E", 512, 7)):
        shape = (channels, size, size)
        half = (
            Layer("convolution", shape, "3×3"),
            Layer("normalization", shape),
            Layer("detector", shape, name="relu"),
        )
        items.append(Stage(name, half * 4, ((0, 4), (6, 10)), projected=() if name == "B" else (0,)))
    items += [Layer("pooling", (512,), "average"), Layer("dense", (1000,))]
    return stack(items, style=style, title="ResNet18")
