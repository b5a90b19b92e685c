"""Wirings are computed part by part."""

import pytest
import torch

from lamina._errors import ArgumentError
from lamina.drawing.cells import RNN, cell
from lamina.drawing.wiring import Part, Wire, Wiring, evaluate


def test_what_lacks_is_named():
    with pytest.raises(ArgumentError, match=r"`values` must hold 'u': no wire leads to it; got h-\."):
        evaluate(RNN, {"h-": torch.zeros(1)}, {})
    with pytest.raises(ArgumentError, match="`kind` must be one of 'rnn', 'gru', 'lstm', got 'transformer'"):
        cell("transformer")


def test_a_wire_list_is_computed_in_order():
    parts = (Part("a", "input", (0, 0)), Part("b", "input", (0, 0)), Part("ab", "concatenate", (0, 0)))
    values = {"a": torch.tensor([1.0]), "b": torch.tensor([2.0])}
    forward = Wiring("", (0, 0, 1, 1), parts, (Wire("a", "ab"), Wire("b", "ab")))
    backward = Wiring("", (0, 0, 1, 1), parts, (Wire("b", "ab"), Wire("a", "ab")))
    assert evaluate(forward, values, {})["ab"].tolist() == [1.0, 2.0]
    assert evaluate(backward, values, {})["ab"].tolist() == [2.0, 1.0]
