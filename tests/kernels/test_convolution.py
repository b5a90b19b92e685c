import pytest
import torch
from torch.nn.functional import avg_pool2d, leaky_relu, max_pool2d

from lamina.kernels.convolution import ACTIVATIONS, Form, convolved
from lamina.layers.detector import scaled_tanh
from lamina.populations._pictures import stacked_conv2d

FUNCTIONS = {
    "identity": lambda z: z, "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "scaled_tanh": scaled_tanh, "leaky_relu": lambda z: leaky_relu(z, 0.1),
}  # fmt: skip
FORMS = [
    Form(1, 28, 28, 6, 5, 5, 1, 2, "sigmoid", 2),
    Form(6, 14, 14, 16, 5, 5, 1, 0, "sigmoid", 2, inputs_grad=True),
    Form(3, 7, 9, 11, 3, 3, 1, 1, "relu", 2, True, inputs_grad=True),
    Form(2, 8, 7, 5, 3, 3, 1, 1, "identity", 1, inputs_grad=True),
    Form(2, 9, 9, 5, 3, 3, 2, 1, "tanh", 1),
    Form(2, 9, 8, 9, 2, 2, 1, 0, "scaled_tanh", 3, inputs_grad=True),
    Form(4, 6, 6, 8, 1, 1, 1, 0, "leaky_relu", 1, inputs_grad=True),
]


@pytest.mark.cuda
@pytest.mark.parametrize("form,shared", [(form, False) for form in FORMS] + [(FORMS[0], True), (FORMS[2], True)])
def test_the_kernels_equal_torch(form, shared):
    members, batch, g = 3, 5, torch.Generator().manual_seed(0)
    inputs = torch.randn(batch, 1 if shared else members, form.channels, form.height, form.width, generator=g)
    weight = torch.randn(members, form.filters, form.channels, form.rows, form.columns, generator=g) / 5
    bias = torch.randn(members, form.filters, generator=g)
    slope = torch.randn(batch, members, form.filters, *form.maps, generator=g)
    expected = [t.double().requires_grad_() for t in (inputs, weight, bias)]
    z = FUNCTIONS[form.activation](stacked_conv2d(*expected, form.stride, form.padding))
    if form.pool > 1:
        pool = max_pool2d if form.largest else avg_pool2d
        z = pool(z.flatten(1, 2), form.pool).unflatten(1, (members, -1))
    (z * slope).sum().backward()
    for precise, tolerance in ((True, 1e-5), (False, 2e-3)) if form in FORMS[:2] else ((True, 1e-5),):
        kind = Form(**vars(form) | {"precise": precise, "inputs_grad": form.inputs_grad and not shared})
        ours = [t.cuda().requires_grad_() for t in (inputs, weight, bias)]
        outputs = convolved(*ours, kind)
        (outputs * slope.cuda()).sum().backward()
        pairs = [(outputs, z), (ours[1].grad, expected[1].grad), (ours[2].grad, expected[2].grad)]
        if kind.inputs_grad:
            pairs.append((ours[0].grad, expected[0].grad))
        for a, b in pairs:
            assert (a.cpu().double() - b).norm() <= tolerance * b.norm()


def test_the_memory_of_a_block_is_counted_as_the_kernel_does():
    # Counted by the program itself, compiled with the constants of the kernel, without the room for the last sums.
    form = Form(6, 10, 10, 16, 5, 5, 1, 0, "sigmoid", 2, inputs_grad=True, precise=False)
    macros = form.definitions() | {"ROWS": 3, "DROWS": 3, "WARPS": 2}
    room = 4 * 16 * 8 * macros["TAPS"]
    assert form.shared_memory(macros, backward=False) - room == 27520
    assert form.shared_memory(macros, backward=True) - room == 43840


def test_what_does_not_fit_is_left_to_torch():
    assert Form(6, 14, 14, 16, 5, 5).definitions()["WARPS"] == 4
    assert Form(6, 14, 14, 16, 5, 5, precise=False).definitions()["ROWS"] == 10
    assert Form(6, 14, 14, 17, 5, 5).definitions() is None  # more filters than a tile has rows
    assert Form(7, 14, 14, 16, 5, 5).definitions() is None  # more entries than a warp can sum
    assert Form(3, 300, 300, 16, 3, 3).definitions() is None  # an image that does not fit
    assert Form(2, 9, 9, 5, 3, 3, 2, inputs_grad=True).definitions() is None
    assert Form(1, 3, 3, 1, 3, 3, pool=2).definitions() is None  # nothing is left
    assert set(FUNCTIONS) == set(ACTIVATIONS)
