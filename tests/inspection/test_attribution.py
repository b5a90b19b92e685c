import pytest
import torch
from torch import nn

import lamina
from lamina._errors import ArgumentError, ShapeError
from lamina.inspection import class_map, input_gradient, last_maps, word_contributions


class Pooled(nn.Module):
    """Convolution, global mean, linear: Grad-CAM is then the class activation map."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.conv(x).mean((2, 3)))


def test_the_map_of_a_class_follows_the_formula():
    net, x = Pooled().double(), torch.randn(1, 1, 6, 5, dtype=torch.float64)
    found = class_map(net, x, lambda y: y[:, 2])
    weights = net.last.weight[2] / 30
    expected = (weights[:, None, None] * net.conv(x)[0]).sum(0).relu()
    torch.testing.assert_close(found, expected.detach())
    assert not net.conv._forward_hooks and net.conv.weight.grad is None


@pytest.mark.parametrize("name", ["lenet5", "resnet18"])
def test_the_last_maps_are_those_of_the_last_convolution_that_sees_places(name):
    net = lamina.build(name, inputs=(3, 32, 32), outputs=3).double().eval()
    x = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    layer = last_maps(net, x)
    convolutions = [m for m in net.modules() if getattr(m, "weight", None) is not None and m.weight.dim() == 4]
    shapes = {}
    kept, gradients = [], []

    def note(module, inputs, output):
        shapes[module] = output.shape[-2:]
        if module is layer:
            kept.append(output.detach())
            output.register_hook(gradients.append)

    hooks = [m.register_forward_hook(note) for m in convolutions]
    net(x)[:, 1].sum().backward()
    for hook in hooks:
        hook.remove()
    later = [*shapes][[*shapes].index(layer) + 1 :]
    assert shapes[layer].numel() > 1 and all(shapes[m].numel() == 1 for m in later)
    small = (gradients[0].mean((2, 3), keepdim=True) * kept[0]).sum(1, keepdim=True).relu()
    expected = torch.nn.functional.interpolate(small, (32, 32), mode="bilinear")[0, 0]
    torch.testing.assert_close(class_map(net, x, lambda y: y[:, 1]), expected)


def test_gradients_of_inputs_are_those_of_autograd():
    net = lamina.build("fnn", inputs=3, outputs=2, hidden=(5,), activation="tanh").double().eval()
    x = torch.randn(1, 3, dtype=torch.float64)
    expected = torch.autograd.functional.jacobian(lambda v: net(v)[0, 1], x)
    torch.testing.assert_close(input_gradient(net, x, lambda y: y[:, 1]), expected)


class Bag(nn.Module):
    """A sum of word vectors: each word adds its own score."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.last = nn.Embedding(10, 4), nn.Linear(4, 2)

    def forward(self, tokens):
        return self.last(self.words(tokens).sum(1))


def test_words_of_a_linear_network_add_their_scores():
    net, tokens = Bag(), torch.tensor([[3, 7, 7, 1]])
    found = word_contributions(net, tokens, lambda y: y[:, 1])
    torch.testing.assert_close(found, (net.words(tokens)[0] @ net.last.weight[1]).detach())


@pytest.mark.parametrize("embedding", [4, "one-hot"])
def test_recurrent_networks_say_what_words_add(embedding):
    net = lamina.build("many-to-one", inputs=9, outputs=2, hidden=5, embedding=embedding).double().eval()
    tokens = torch.tensor([[2, 8, 5]])
    found = word_contributions(net, tokens, lambda y: y[:, 0])
    # the derivative of the output when all vectors of a word grow alike
    step, vectors = 1e-6, net.encoding(tokens).detach()

    def output(values):
        hook = net.encoding.register_forward_hook(lambda m, i, o: values)
        with torch.no_grad():
            answer = net(tokens)[0, 0].item()
        hook.remove()
        return answer

    for place in range(3):
        scale = torch.ones(1, 3, 1, dtype=torch.float64)
        scale[0, place] = 1 + step
        up = output(vectors * scale)
        scale[0, place] = 1 - step
        assert found[place].item() == pytest.approx((up - output(vectors * scale)) / (2 * step), abs=1e-8)


def test_networks_that_do_not_fit_get_a_sentence():
    with pytest.raises(ArgumentError, match="Grad-CAM needs a convolution layer .* which Sequential does not have"):
        class_map(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)), torch.zeros(1, 1, 2, 2), lambda y: y[:, 0])
    with pytest.raises(ShapeError, match="Linear reads no words"):
        word_contributions(nn.Linear(2, 2), torch.zeros(1, 2, dtype=torch.int64), lambda y: y[:, 0])
