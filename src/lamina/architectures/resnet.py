"""ResNet-18, -34 and -50, of original or full pre-activation blocks, for large pictures or small ones."""

from dataclasses import dataclass
from functools import partial

from torch import nn

from lamina._errors import at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._pictures import check_options, check_pictures, scaled
from lamina.functional.random import as_generator
from lamina.layers.checkpointing import run_blocks
from lamina.layers.initialized import conv2d, linear
from lamina.layers.normalization import norm_relu
from lamina.layers.stages import KINDS, block_class, stage

_COUNTS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


@dataclass(frozen=True)
class ResNetConfig:
    """Choose the sizes and blocks of `ResNet`.

    Args:
        inputs: the shape (channels, height, width) of one picture; any height and width.
        outputs: the number of labels.
        depth: 18, 34 (two-weight blocks) or 50 (bottleneck blocks).
        block: "original" or "preactivation".
        stem: "imagenet" (7x7 convolution with stride 2 and pooling) or "cifar" (3x3 convolution).
        zero_branch: whether every block starts as its shortcut.
        width: a factor on all numbers of channels.
        initialization: the rule for weights; None is He's.
        scale: the factor of that rule.
        recompute: keep only what enters every so many blocks and compute the rest again in the backward pass (less
            memory, a third more work, equal gradients); 0 keeps everything.

    >>> ResNetConfig().channels
    (64, 128, 256, 512)
    """

    inputs: tuple[int, int, int] = (3, 224, 224)
    outputs: int = 1000
    depth: int = 18
    block: str = "original"
    stem: str = "imagenet"
    zero_branch: bool = False
    width: float = 1.0
    initialization: str | None = None
    scale: float = 1.0
    recompute: int = 0

    def __post_init__(self) -> None:
        """Check every option."""
        check_options(self.inputs, self.outputs, self.initialization, self.scale, self.width)
        choice("depth", self.depth, _COUNTS)
        choice("block", self.block, KINDS)
        at_least("recompute", self.recompute, 0)
        choice("stem", self.stem, ("imagenet", "cifar"))

    @property
    def bottleneck(self) -> bool:
        """Whether blocks have three weights."""
        return self.depth >= 50

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of maps that leave the four stages."""
        expansion = 4 if self.bottleneck else 1
        return tuple(expansion * scaled(64, self.width) * 2**number for number in range(4))


class ResNet(nn.Module):
    """Classify pictures by a stem, four stages of residual blocks, global average pooling and a dense layer.

    Block A of the notes is the stem, B to E are `layer1` to `layer4`. Depth 18 counts 17 convolutions and the dense
    layer; the three 1x1 convolutions of shortcuts make 20 convolutions. With original blocks the parts have the names
    of torchvision's resnet18, 34 and 50, and their weights load. With full pre-activation blocks the stem is a bare
    convolution, and a last normalization and ReLU precede the pooling.

    Notes: N3.32, N4.20, N4.31, N4.32, N4.33, N4.34 (§3.2, §4.1, §4.2).
    Corrects: E60, a global average pooling precedes the dense layer; shortcut convolutions are not counted in 18.
    Differs: torchvision starts from He's rule with n_out and has original blocks only.

    Args:
        config: sizes and blocks.
        seed: an integer or a generator.

    >>> import torch
    >>> net = ResNet(ResNetConfig((1, 32, 32), 10, width=0.125))
    >>> net(torch.zeros(2, 1, 32, 32)).shape
    torch.Size([2, 10])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: ResNetConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator, rule, scale = as_generator(seed), config.initialization or "he", config.scale
        original, large, first = config.block == "original", config.stem == "imagenet", scaled(64, config.width)
        size, stride, padding = (7, 2, 3) if large else (3, 1, 1)
        self.conv1 = conv2d(
            config.inputs[0], first, size, stride=stride, padding=padding, bias=False,
            initialization=rule, scale=scale, seed=generator,
        )  # fmt: skip
        self.bn1 = nn.BatchNorm2d(first) if original else nn.Identity()
        self.maxpool = nn.MaxPool2d(3, 2, 1) if large else nn.Identity()
        make = partial(block_class(config.block, bottleneck=config.bottleneck), initialization=rule, scale=scale)
        plan = zip((first, *config.channels), config.channels, _COUNTS[config.depth], (1, 2, 2, 2), strict=False)
        self.layer1, self.layer2, self.layer3, self.layer4 = (
            stage(make, n_in, n_out, count, stride=s, zero_branch=config.zero_branch, seed=generator)
            for n_in, n_out, count, s in plan
        )
        self.bn = nn.Identity() if original else nn.BatchNorm2d(config.channels[-1])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = linear(config.channels[-1], config.outputs, initialization=rule, scale=scale, seed=generator)

    def forward(self, inputs: Float[Tensor, "*#batch channel height width"]) -> Float[Tensor, "*batch label"]:
        """Return the logits of a batch of pictures."""
        check_pictures(inputs, self.config.inputs, self.leading, any_size=True)
        y = self.conv1(inputs)
        if self.config.block == "original":
            y = norm_relu(self.bn1, y)
        y = self.maxpool(y)
        for blocks in (self.layer1, self.layer2, self.layer3, self.layer4):
            y = run_blocks(blocks, y, self.config.recompute)
        if self.config.block == "preactivation":
            y = norm_relu(self.bn, y)
        return self.fc(self.avgpool(y).flatten(-3))
