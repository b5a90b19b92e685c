"""The thin, deep ResNets for pictures of 32 x 32 pixels, such as ResNet-20, -110, -164 and -1001."""

from dataclasses import dataclass
from functools import partial

from torch import nn

from lamina._errors import ArgumentError, at_least, choice
from lamina._types import Float, Seed, Tensor
from lamina.architectures._pictures import check_options, check_pictures, scaled
from lamina.functional.random import as_generator
from lamina.layers import shortcuts
from lamina.layers.checkpointing import run_blocks
from lamina.layers.initialized import conv2d, linear
from lamina.layers.normalization import norm_relu
from lamina.layers.stages import KINDS, block_class, stage


@dataclass(frozen=True)
class CifarResNetConfig:
    """Choose the sizes and blocks of `CifarResNet`.

    Args:
        inputs: the shape (channels, height, width) of one picture; any height and width.
        outputs: the number of labels.
        depth: the number of layers with weights: 6n+2 with two-weight blocks, 9n+2 with bottleneck blocks.
        block: "original" or "preactivation".
        bottleneck: whether blocks have three weights; None is the published choice: bottlenecks for depths of 9n+2
            above 110, such as 164 and 1001, else two weights.
        shortcut: "projection" or "zero-pad"; None is the published choice: zero padding for two-weight blocks,
            projections for bottlenecks.
        zero_branch: whether every block starts as its shortcut.
        width: a factor on all numbers of channels.
        initialization: the rule for weights; None is He's.
        scale: the factor of that rule.
        recompute: keep only what enters every so many blocks and compute the rest again in the backward pass (less
            memory, a third more work, equal gradients); 0 keeps everything.

    >>> CifarResNetConfig(depth=1001).blocks_per_stage, CifarResNetConfig(depth=110).blocks_per_stage
    (111, 18)
    """

    inputs: tuple[int, int, int] = (3, 32, 32)
    outputs: int = 10
    depth: int = 20
    block: str = "original"
    bottleneck: bool | None = None
    shortcut: str | None = None
    zero_branch: bool = False
    width: float = 1.0
    initialization: str | None = None
    scale: float = 1.0
    recompute: int = 0

    def __post_init__(self) -> None:
        """Check every option."""
        check_options(self.inputs, self.outputs, self.initialization, self.scale, self.width)
        choice("block", self.block, KINDS)
        at_least("recompute", self.recompute, 0)
        if self.shortcut is not None:
            choice("shortcut", self.shortcut, shortcuts.KINDS)
        weights = 9 if self.has_bottlenecks else 6
        if self.depth < weights + 2 or self.depth % weights != 2:
            raise ArgumentError(
                "`depth` must be 6n+2 (20, 32, 44, 56, 110, ...) or, with bottleneck blocks, 9n+2 (164, 1001), "
                f"got {self.depth}: three equal stages of {weights // 3}-weight blocks, a first convolution and a "
                "last dense layer have no other number of layers."
            )

    @property
    def has_bottlenecks(self) -> bool:
        """Whether blocks have three weights."""
        if self.bottleneck is not None:
            return self.bottleneck
        return self.depth > 110 and self.depth % 9 == 2

    @property
    def blocks_per_stage(self) -> int:
        """The number n of blocks in each of the three stages."""
        return (self.depth - 2) // (9 if self.has_bottlenecks else 6)

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of maps that leave the three stages."""
        expansion = 4 if self.has_bottlenecks else 1
        return tuple(expansion * scaled(16, self.width) * 2**number for number in range(3))


class CifarResNet(nn.Module):
    """Classify small pictures by a 3x3 convolution, three stages of n residual blocks, pooling and a dense layer.

    Published counts at 10 labels: ResNet-20 269,722 and ResNet-110 1,727,962 (original blocks, zero-padded shortcuts),
    ResNet-164 1,703,258 and ResNet-1001 10,327,706 (pre-activation bottlenecks, projections). With full
    pre-activation blocks the stem is a bare convolution, and a last normalization and ReLU precede the pooling.

    Notes: N4.20, N4.34 (§4.1, §4.2).
    Corrects: E59, ResNet-1001 is made of three-weight blocks (1001 = 9*111+2; 999 is no multiple of 6).
    Differs: He et al. (2016) also take the first shortcut behind the first activation; here the formula holds in each.

    Args:
        config: sizes and blocks.
        seed: an integer or a generator.

    >>> import torch
    >>> net = CifarResNet(CifarResNetConfig(depth=8))
    >>> net(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    stackable, leading = True, ("batch",)

    def __init__(self, config: CifarResNetConfig, *, seed: Seed = 0) -> None:
        super().__init__()
        self.config = config
        generator, rule, scale = as_generator(seed), config.initialization or "he", config.scale
        original, first, bottleneck = config.block == "original", scaled(16, config.width), config.has_bottlenecks
        self.conv1 = conv2d(
            config.inputs[0], first, 3, padding=1, bias=False, initialization=rule, scale=scale, seed=generator
        )
        self.bn1 = nn.BatchNorm2d(first) if original else nn.Identity()
        make = partial(
            block_class(config.block, bottleneck=bottleneck),
            shortcut=config.shortcut or ("projection" if bottleneck else "zero-pad"),
            initialization=rule,
            scale=scale,
        )
        self.layer1, self.layer2, self.layer3 = (
            stage(make, n_in, n_out, config.blocks_per_stage, stride=s, zero_branch=config.zero_branch, seed=generator)
            for n_in, n_out, s in zip((first, *config.channels), config.channels, (1, 2, 2), strict=False)
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
        for blocks in (self.layer1, self.layer2, self.layer3):
            y = run_blocks(blocks, y, self.config.recompute)
        if self.config.block == "preactivation":
            y = norm_relu(self.bn, y)
        return self.fc(self.avgpool(y).flatten(-3))
