"""How a network shows itself."""

from dataclasses import dataclass

from torch import nn

from lamina.architectures._network import Network


@dataclass(frozen=True)
class Config:
    inputs: tuple[int, ...] = (2, 3)
    outputs: int = 4


class Small(Network):
    def __init__(self, config):
        super().__init__()
        self.config, self.first, self.last = config, nn.Linear(3, 5), nn.Linear(5, 4, bias=False)


def test_sizes_and_parameters_are_counted():
    net = Small(Config())
    assert repr(net) == "Small(2×3 to 4; 40 parameters)"
    assert list(net._facts()) == [("first", "Linear, 20 parameters"), ("last", "Linear, 20 parameters")]
    assert str(net).count("\n") == 3 and "(last): Linear(in_features=5, out_features=4, bias=False)" in str(net)


def test_a_configuration_without_sizes_has_a_line_too():
    assert repr(Small(object())) == "Small(40 parameters)"
