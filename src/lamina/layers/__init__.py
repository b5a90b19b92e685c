"""Layers that torch.nn lacks or computes differently; `nn.Linear`, `nn.Conv2d` and the like are used as they are."""

from lamina.layers.bottleneck import OriginalBottleneck, PreActBottleneck
from lamina.layers.cells import GRUCell, LSTMCell, RNNCell
from lamina.layers.convolution import TrueConv2d
from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
from lamina.layers.detector import Detector, scaled_tanh
from lamina.layers.dropout import Dropout, WordDropout
from lamina.layers.encoding import Embedding, OneHot
from lamina.layers.initialized import conv2d, linear
from lamina.layers.normalization import FullAffineBatchNorm, LocalResponseNorm, LocalResponseNormWithin
from lamina.layers.partial import LENET5_TABLE, PartialConv2d
from lamina.layers.rbf import RadialBasis, digit_codes
from lamina.layers.recurrent import Recurrent, gru, lstm, rnn
from lamina.layers.residual import SimpleResNetLayer
from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
from lamina.layers.shortcuts import ZeroPadShortcut, make_shortcut
from lamina.layers.subsampling import Subsampling
from lamina.layers.torch_weights import from_torch, load_torch_weights_, to_torch

__all__ = [
    "LENET5_TABLE",
    "DenseOriginalBlock",
    "DensePreActBlock",
    "Detector",
    "Dropout",
    "Embedding",
    "FullAffineBatchNorm",
    "GRUCell",
    "LSTMCell",
    "LocalResponseNorm",
    "LocalResponseNormWithin",
    "OneHot",
    "OriginalBlock",
    "OriginalBottleneck",
    "PartialConv2d",
    "PreActBlock",
    "PreActBottleneck",
    "RNNCell",
    "RadialBasis",
    "Recurrent",
    "SimpleResNetLayer",
    "Subsampling",
    "TrueConv2d",
    "WordDropout",
    "ZeroPadShortcut",
    "conv2d",
    "digit_codes",
    "from_torch",
    "gru",
    "linear",
    "load_torch_weights_",
    "lstm",
    "make_shortcut",
    "rnn",
    "scaled_tanh",
    "to_torch",
]
