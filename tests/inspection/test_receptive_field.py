"""Receptive fields: hand numbers of the notes, and the analytic field against the support of gradients."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import lamina
from lamina._errors import ArgumentError
from lamina.functional import receptive_field as formula
from lamina.inspection.gradient_field import autograd_field, effective_field, field_hull
from lamina.inspection.receptive_field import receptive_field


class Sum(nn.Module):
    """A residual block: the sum of two branches."""

    def __init__(self, left: nn.Module, right: nn.Module) -> None:
        super().__init__()
        self.left, self.right = left, right

    def forward(self, u):
        return self.left(u) + self.right(u)


@st.composite
def windows(draw, dimension: int, channels: int = 2):
    """Draw a convolution or an average pooling whose windows never lie in the padding alone."""
    size, stride = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    if draw(st.booleans()):
        pool = nn.AvgPool1d if dimension == 1 else nn.AvgPool2d
        return pool(size, stride, padding=draw(st.integers(0, size // 2)), ceil_mode=draw(st.booleans()))
    dilation = draw(st.integers(1, 2)) if size > 1 else 1
    padding = draw(st.integers(0, (size - 1) * dilation // 2))
    conv = nn.Conv1d if dimension == 1 else nn.Conv2d
    return conv(channels, channels, size, stride, padding, dilation)


@st.composite
def blocks(draw, dimension: int, channels: int = 2):
    """Draw a residual block: one or two odd convolutions, and the identity or a strided 1x1 convolution or cut."""
    conv = nn.Conv1d if dimension == 1 else nn.Conv2d
    size, stride = draw(st.sampled_from([1, 3, 5])), draw(st.integers(1, 2))
    branch = [conv(channels, channels, size, stride, size // 2), nn.ReLU()]
    if draw(st.booleans()):
        branch.append(conv(channels, channels, 3, padding=1))
    skip = nn.Identity() if stride == 1 else conv(channels, channels, 1, stride)
    return Sum(nn.Sequential(*branch), skip)


@st.composite
def stacks(draw):
    dimension = draw(st.integers(1, 2))
    parts = draw(st.lists(st.one_of(windows(dimension), blocks(dimension)), min_size=1, max_size=4))
    size = draw(st.integers(9, 18)) if dimension == 2 else draw(st.integers(12, 40))
    return nn.Sequential(*parts), (2, *([size] * dimension)), draw(st.integers(0, 10**6))


@pytest.mark.notes("N3.36")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(stacks())
def test_the_field_is_the_hull_of_the_support_of_the_gradient(drawn):
    net, shape, seed = drawn
    try:
        with torch.no_grad():
            out = net(torch.zeros(1, *shape))
    except RuntimeError:  # nothing is left of the picture
        return
    field = receptive_field(net, shape).last
    assert field.units == tuple(out.shape[2:])
    generator = torch.Generator().manual_seed(seed)
    places = [torch.randint(n, (), generator=generator).item() for n in out.shape[2:]]
    for at in (places, [0] * len(places) if seed % 2 else [n - 1 for n in out.shape[2:]]):
        assert field.window(at) == field_hull(autograd_field(net, shape, at))
    for axis, jump, start, size in zip(range(len(places)), field.jump, field.start, field.size, strict=True):
        if jump is None:
            continue
        first, last = field.window(places)[axis]
        low = start + jump * places[axis]
        assert low <= first and last <= low + size - 1, "the field away from borders holds that at borders"


@pytest.mark.notes("N3.36")
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 3)), min_size=1, max_size=5))
def test_stacks_of_windows_follow_the_formula(pairs):
    net = nn.Sequential(*[nn.Conv1d(1, 1, m, s) for m, s in pairs])
    sizes, strides = zip(*pairs, strict=True)
    field = receptive_field(net, (1, 1500)).last
    assert field.size == (formula(sizes, strides),) and field.start == (0,)
    jump = 1
    for stride in strides:
        jump *= stride
    assert field.jump == (jump,)


@pytest.mark.notes("N3.36")
def test_numbers_of_the_notes():
    three = [nn.Conv2d(1, 1, 3, padding=1) for _ in range(10)]
    fields = receptive_field(nn.Sequential(*three), (1, 40, 40))
    assert fields["1"].size == (5, 5) and fields["9"].size == (21, 21)
    lenet = receptive_field(lamina.build("lenet5"))
    assert [lenet[f"features.{k}"].size[0] for k in (0, 2, 3, 5)] == [5, 6, 14, 16]
    assert lenet["features"].jump == (4, 4) and lenet["features"].start == (-2, -2)
    assert lenet["classifier.1"].whole and lenet.last.whole and lenet.last.units == (None, None)


@pytest.mark.notes("N3.37")
def test_figure_22():
    net = nn.Sequential(nn.Conv1d(1, 1, 3, padding=1), nn.Conv1d(1, 1, 3, padding=1))
    fields = receptive_field(net, (1, 5))
    assert fields["1"].window(2) == ((0, 4),) and fields["1"].window(0) == ((0, 2),)
    assert fields["0"].window(1) == ((0, 2),)
    assert autograd_field(net, (1, 5), at=0).tolist() == [True, True, True, False, False]


def test_published_fields_of_alexnet_and_resnets():
    alex = receptive_field(lamina.build("alexnet", width=0.05))
    sizes = [alex[f"features.{k}"].size[0] for k in (0, 3, 4, 7, 8, 10, 12, 14)]
    assert sizes == [11, 19, 51, 67, 99, 131, 163, 195]
    resnet = receptive_field(lamina.build("resnet18", width=0.125))
    assert [resnet[f"layer{k}"].size[0] for k in (1, 2, 3, 4)] == [43, 99, 211, 435]
    assert [resnet[f"layer{k}"].jump[0] for k in (1, 2, 3, 4)] == [4, 8, 16, 32]


@pytest.mark.parametrize(
    ("name", "options", "layer"),
    [
        ("lenet5", {}, "features"),
        ("lenet5-1998", {}, "body.S4"),
        ("cifar-resnet", {"depth": 8}, "layer2"),
        ("cifar-resnet", {"depth": 8, "block": "preactivation", "shortcut": "projection"}, "layer3"),
        ("cifar-resnet", {"depth": 11, "bottleneck": True}, "layer2"),
        ("alexnet", {"width": 0.05, "inputs": (3, 67, 67)}, "features.4"),
        ("many-to-many", {"hidden": 8, "bidirectional": True}, ""),
        ("many-to-many", {"hidden": 8, "cell": "lstm", "layers": 2}, ""),
        ("dense-resnet", {}, ""),
        ("neural-ode", {"inputs": 3, "width": 5}, ""),
    ],
)
def test_our_networks_agree_with_their_gradients(name, options, layer):
    net = lamina.build(name, **options)
    fields = receptive_field(net)
    assert fields.guessed == ()
    units = fields[layer].units
    for at in (0, 1) if units[0] is not None else (None,):
        place = None if at is None else [min(at, count - 1) for count in units]
        found = autograd_field(net, at=place, layer=layer, draws=24)
        assert fields[layer].window(place) == field_hull(found)


def test_states_of_a_recurrent_network_see_the_past_only():
    net = lamina.build("many-to-many", inputs=2, hidden=4, cell="rnn")
    field = receptive_field(net, (6, 2))["recurrent"]
    assert [field.window(t) for t in range(6)] == [((0, t),) for t in range(6)]
    both = receptive_field(lamina.build("many-to-many", inputs=2, hidden=4, bidirectional=True), (6, 2))
    assert both["recurrent"].whole
    assert receptive_field(nn.GRU(2, 3, batch_first=True), (6, 2)).last.window(3) == ((0, 3),)
    assert receptive_field(nn.LSTM(2, 3), (6, 2)).last.window(3) == ((0, 3),)


def test_the_table_shows_one_unit():
    fields = receptive_field(lamina.build("lenet5"), at=0)
    text = str(fields).splitlines()
    assert text[0].split() == ["layer", "kind", "sees", "jump", "start", "one", "unit"]
    assert next(line for line in text if line.startswith("features.3")).split()[2:] == [
        "14×14", "2×2", "-2,", "-2", "0–11", "×", "0–11",
    ]  # fmt: skip
    assert text[-1].startswith("(output)") and len(fields) == 17 and next(iter(fields)).name == "features"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: receptive_field(nn.Conv1d(1, 1, 3), (1, 5))["x"], "`name` must be one of '', got 'x'"),
        (lambda: receptive_field(nn.Conv1d(1, 1, 3), (1, 5)).last.window(3), r"`at` must be in \[0, 2\], got 3"),
        (
            lambda: receptive_field(nn.Conv1d(1, 1, 3), (1, 5)).last.window((1, 1)),
            "one position for each of the 1 axes",
        ),
        (lambda: autograd_field(nn.Conv1d(1, 1, 3), (1, 5), at=7), r"`at` must be in \[0, 2\], got 7"),
        (lambda: effective_field(nn.Conv1d(1, 1, 3), (1, 5), draws=0), "`draws` must be at least 1, got 0"),
        (lambda: autograd_field(lamina.build("many-to-one", embedding=4)), "`model` must read numbers, got words"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()
