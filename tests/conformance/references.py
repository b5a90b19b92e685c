"""Every architecture a second time, in plain torch functions over its saved tensors: the values to compare with.

Nothing of lamina is called here; `state` is a state dict, `config` only read for sizes.
"""

import torch
from torch.nn import functional as F

SIGMA = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda z: z,
    "heaviside": lambda z: (z >= 0).to(z.dtype),
}


def _norm(state, name, x):
    mean, var, gamma, beta = (state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    shape = (1, -1) + (1,) * (x.dim() - 2)
    return (x - mean.view(shape)) / (var.view(shape) + 1e-5).sqrt() * gamma.view(shape) + beta.view(shape)


def perceptron(state, config, u):
    return SIGMA[config.activation](u @ state["affine.weight"].T + state["affine.bias"])


def logic_gate(state, config, u):
    h = SIGMA["heaviside"](u @ state["network.layers.0.affine.weight"].T + state["network.layers.0.affine.bias"])
    return SIGMA["heaviside"](h @ state["network.layers.1.affine.weight"].T + state["network.layers.1.affine.bias"])


def fnn(state, config, u):
    y = u.flatten(1)
    last = len(config.widths) - 2
    for layer in range(last + 1):
        z = y @ state[f"layers.{layer}.affine.weight"].T + state.get(f"layers.{layer}.affine.bias", 0.0)
        y = SIGMA[config.activation](_norm(state, f"layers.{layer}.norm", z)) if layer < last else z
    return y


def lenet5(state, config, x):
    for conv, padding in (("features.0", 2), ("features.3", 0)):
        x = F.avg_pool2d(torch.sigmoid(F.conv2d(x, state[f"{conv}.weight"], state[f"{conv}.bias"], padding=padding)), 2)
    y = x.flatten(1)
    for dense in ("classifier.1", "classifier.4"):
        y = torch.sigmoid(y @ state[f"{dense}.weight"].T + state[f"{dense}.bias"])
    return y @ state["classifier.7.weight"].T + state["classifier.7.bias"]


def lenet5_1998(state, config, x):
    def squash(z):
        return 1.7159 * torch.tanh(2 * z / 3)

    def subsample(x, name):
        return squash(
            F.avg_pool2d(x, 2) * 4 * state[f"{name}.weight"][:, None, None] + state[f"{name}.bias"][:, None, None]
        )

    x = subsample(squash(F.conv2d(x, state["body.C1.weight"], state["body.C1.bias"])), "body.S2")
    rows = [
        "012",
        "123",
        "234",
        "345",
        "045",
        "015",
        "0123",
        "1234",
        "2345",
        "0345",
        "0145",
        "0125",
        "0134",
        "1245",
        "0235",
        "012345",
    ]
    kernels, maps, used = state["body.C3.weight"], [], 0
    for k, row in enumerate(rows):
        inside = x[:, [int(c) for c in row]]
        maps.append(F.conv2d(inside, kernels[None, used : used + len(row)]) + state["body.C3.bias"][k])
        used += len(row)
    x = subsample(squash(torch.cat(maps, 1)), "body.S4")
    x = squash(F.conv2d(x, state["body.C5.weight"], state["body.C5.bias"])).flatten(1)
    y = squash(x @ state["body.F6.weight"].T + state["body.F6.bias"])
    return -((y[:, None] - state["output.codes"]) ** 2).sum(-1)


def alexnet(state, config, x):
    def conv(x, name, **options):
        return torch.relu(F.conv2d(x, state[f"{name}.weight"], state[f"{name}.bias"], **options))

    if config.form == "torchvision":
        x = F.max_pool2d(conv(x, "features.0", stride=4, padding=2), 3, 2)
        x = F.max_pool2d(conv(x, "features.3", padding=2), 3, 2)
        for name in ("features.6", "features.8", "features.10"):
            x = conv(x, name, padding=1)
        y = F.adaptive_avg_pool2d(F.max_pool2d(x, 3, 2), 6).flatten(1)
        names = ("classifier.1", "classifier.4", "classifier.6")
    else:
        groups = 2 if config.form == "two-group" else 1

        def lrn(x):
            return F.local_response_norm(x, 5, alpha=5e-4, beta=0.75, k=2.0)

        first = {"stride": 4} if config.stem == "imagenet" else {"padding": 2}
        x = F.max_pool2d(lrn(conv(x, "features.0", **first)), 3, 2)
        x = F.max_pool2d(lrn(conv(x, "features.4", padding=2, groups=groups)), 3, 2)
        x = conv(x, "features.8", padding=1)
        x = conv(conv(x, "features.10", padding=1, groups=groups), "features.12", padding=1, groups=groups)
        y = F.max_pool2d(x, 3, 2).flatten(1)
        names = ("classifier.0", "classifier.3", "classifier.6")
    for name in names[:2]:
        y = torch.relu(y @ state[f"{name}.weight"].T + state[f"{name}.bias"])
    return y @ state[f"{names[2]}.weight"].T + state[f"{names[2]}.bias"]


def dense_resnet(state, config, u):
    y, layer, depth = u, 0, sum(".affine.weight" in name for name in state)
    while f"layers.{layer}.affine.weight" in state:
        prefix = f"layers.{layer}"
        branch = torch.tanh(y @ state[f"{prefix}.affine.weight"].T + state[f"{prefix}.affine.bias"])
        if f"{prefix}.projection.weight" in state:
            y = y @ state[f"{prefix}.projection.weight"].T
        y, layer = y + branch / depth, layer + 1
    return y @ state["readout.weight"].T + state["readout.bias"]


def neural_ode(state, config, u):
    y, h = u, config.duration / config.steps

    def f(y):
        return torch.tanh(y @ state["weight"][0].T + state["bias"][0])

    for _ in range(config.steps):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y @ state["readout.weight"].T + state["readout.bias"]


def resnet(state, config, x):
    """All residual networks on images: the names in the state dict say which convolutions and shortcuts a block has."""
    preact = config.block == "preactivation"
    imagenet = getattr(config, "stem", "cifar") == "imagenet"
    x = F.conv2d(x, state["conv1.weight"], stride=2 if imagenet else 1, padding=3 if imagenet else 1)
    if "bn1.weight" in state:
        x = torch.relu(_norm(state, "bn1", x))
    if imagenet:
        x = F.max_pool2d(x, 3, 2, 1)
    blocks = sorted(
        {tuple(name.split(".")[:2]) for name in state if name.startswith("layer")}, key=lambda b: (b[0], int(b[1]))
    )
    for stage, number in blocks:
        prefix = f"{stage}.{number}"
        stride = 2 if number == "0" and stage != "layer1" else 1
        x = _block(state, prefix, x, stride, preact)
    last = next(
        (name.removesuffix(".weight") for name in state if name in ("bn.weight", "bn2.weight", "norm.weight")), None
    )
    if last:
        x = torch.relu(_norm(state, last, x))
    return x.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]


def _block(state, prefix, x, stride, preact):
    convs = [c for c in ("conv1", "conv2", "conv3") if f"{prefix}.{c}.weight" in state]
    three = len(convs) == 3
    strides = [1, stride, 1] if three else [stride, 1]
    y = x
    for index, conv in enumerate(convs):
        weight = state[f"{prefix}.{conv}.weight"]
        bn = f"{prefix}.bn{index + 1}"
        if preact:
            y = torch.relu(_norm(state, bn, y))
            if index == 0:
                activated = y
        y = F.conv2d(y, weight, stride=strides[index], padding=weight.shape[-1] // 2)
        if not preact:
            y = _norm(state, bn, y)
            y = torch.relu(y) if index < len(convs) - 1 else y
    if f"{prefix}.downsample.0.weight" in state:
        skip = _norm(
            state, f"{prefix}.downsample.1", F.conv2d(x, state[f"{prefix}.downsample.0.weight"], stride=stride)
        )
    elif f"{prefix}.downsample.weight" in state:
        skip = F.conv2d(activated, state[f"{prefix}.downsample.weight"], stride=stride)
    else:
        skip = x[:, :, ::stride, ::stride]
        skip = F.pad(skip, (0, 0, 0, 0, 0, y.shape[1] - skip.shape[1]))
    return skip + y if preact else torch.relu(skip + y)


def _cell(kind, W, b, h, u):
    if kind == "rnn":
        return (torch.tanh(torch.cat([h[0], u], -1) @ W.T + b),)
    if kind == "gru":
        Wr, Wu, Wc = W.chunk(3)
        br, bu, bc = b.chunk(3)
        x = torch.cat([h[0], u], -1)
        r, g = torch.sigmoid(x @ Wr.T + br), torch.sigmoid(x @ Wu.T + bu)
        return (g * torch.tanh(torch.cat([r * h[0], u], -1) @ Wc.T + bc) + (1 - g) * h[0],)
    f, i, o, c = (torch.cat([h[0], u], -1) @ W.T + b).chunk(4, -1)
    cell = torch.sigmoid(f) * h[1] + torch.sigmoid(i) * torch.tanh(c)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def _unroll(kind, state, name, x, h=None, reverse=False):
    W, b = state[f"{name}.weight"], state[f"{name}.bias"]
    zero = x.new_zeros(len(x), len(b) // {"rnn": 1, "gru": 3, "lstm": 4}[kind])
    h, out = h or (zero,) * (2 if kind == "lstm" else 1), []
    times = range(x.shape[1])
    for t in reversed(times) if reverse else times:
        h = _cell(kind, W, b, h, x[:, t])
        out.append(h[0])
    return torch.stack(out[::-1] if reverse else out, 1), h


def one_to_many(state, config, u):
    x = torch.cat([u[:, None], u.new_zeros(len(u), config.steps - 1, u.shape[-1])], 1)
    return _unroll(config.cell, state, "recurrent.cells.0", x)[0] @ state["output.weight"].T


def many_to_one(state, config, x):
    for layer in range(config.layers):
        forward, _ = _unroll(config.cell, state, f"recurrent.cells.{2 * layer}", x)
        backward, _ = _unroll(config.cell, state, f"recurrent.cells.{2 * layer + 1}", x, reverse=True)
        x = torch.cat([forward, backward], -1)
    last = torch.cat([forward[:, -1], backward[:, 0]], -1)
    return last @ state["output.weight"].T


def many_to_many(state, config, x):
    return _unroll(config.cell, state, "recurrent.cells.0", x)[0] @ state["output.weight"].T


def seq2seq(state, config, source, target):
    _, h = _unroll(config.cell, state, "encoder.cells.0", state["source_encoding.weight"][source])
    outputs, _ = _unroll(config.cell, state, "decoder.cells.0", state["target_encoding.weight"][target], h)
    return outputs @ state["output.weight"].T
