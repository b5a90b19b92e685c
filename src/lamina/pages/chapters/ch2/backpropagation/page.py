import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Backpropagation")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import DataError
    from lamina.architectures.fnn import fnn_from_weights
    from lamina.backprop.autograd_graph import autograd_graph
    from lamina.backprop.backpropagation import (
        backpropagate,
        backpropagate_by_sample,
        forward,
        name_parameters,
        pull_through_activation,
        unflatten,
    )
    from lamina.backprop.on_the_fly import train_on_the_fly
    from lamina.backprop.reuse import layer_gradients
    from lamina.backprop.sweep import autograd_values, sweep
    from lamina.drawing.charts import Series
    from lamina.drawing.network import network
    from lamina.functional.activations import get_activation, softmax, softmax_vjp
    from lamina.functional.chain_rule import (
        activation_pullback,
        affine_pullback,
        chain_gradients,
        hadamard,
        layer_jacobian,
    )
    from lamina.functional.dense import forward_propagation, parameter_count
    from lamina.functional.initialization import gaussian
    from lamina.functional.losses import binary_cross_entropy, mse_half, negative_log_likelihood
    from lamina.functional.optimizers import OPTIMIZERS, Adam, GradientDescent, iterate
    from lamina.pages import kit
    from lamina.pages.chapters.ch2.backpropagation._calculator import short, substituted
    from lamina.pages.chapters.ch2.backpropagation._changes import changed
    from lamina.pages.chapters.ch2.backpropagation._drawing import counted_network, hands_of

    F64 = torch.float64
    SIGMAS = {"tanh": "tanh", "sigmoid": "sigmoid", "ReLU": "relu", "none": "identity"}
    NETS = {"2-2-1": (2, 2, 1), "2-3-1": (2, 3, 1), "2-2-2-1": (2, 2, 2, 1), "2-3-3": (2, 3, 3)}
    NAMES = {"z": "z", "y": "y", "z_bar": "z̄", "W_bar": "W̄", "b_bar": "b̄", "y_bar": "ȳ", "loss": "loss"}

    def start(widths, seed):
        """Draw weights with one decimal, so that one can follow with a calculator."""
        theta = gaussian((1, parameter_count(widths)), 0.8, seed)[0].to(F64)
        return unflatten((theta * 10).round() / 10, widths)


@app.cell(hide_code=True)
def _(
    at, autograd, changes, draw_of, first_u, goal, hidden, lines, names, net_biases, net_weights, refused, sample, second_u,
    shape, wanted, widths,
):  # fmt: skip
    _done = lines[: at.value]
    _inputs = sample[0].tolist()
    _values = [[short(v) for v in _inputs], *([""] * n for n in widths[1:])]
    _below = [[""] * n for n in widths]
    _shown = [""] * len(names)
    _active, _passed = [], []
    for _line in _done:
        _row = _line.value[0].tolist() if _line.value.ndim == 2 else []
        if _line.name in ("z", "y"):
            _values[_line.layer] = [short(v) for v in _row]
            _name = names[_line.layer - 1]
            _shown[_line.layer - 1] = "identity" if _line.name == "z" else "" if _name == "softmax" else _name
        if _line.name == "z_bar":
            _below[_line.layer] = [f"z̄ {short(v)}" for v in _row]
        if _line.name == "y_bar":
            _below[_line.layer - 1] = [f"ȳ {short(v)}" for v in _row]
        _active = [_line.layer - 1 if _line.name == "y_bar" else _line.layer]
        _passed = [_line.layer - 1] if _line.name in ("z", "W_bar", "y_bar") else []
    _apart = [(line.value - auto).abs().max().item() for line, auto in zip(_done, autograd, strict=False)]
    _difference = max(_apart, default=0.0)
    _target = [float(i == goal.item()) for i in range(widths[-1])] if widths[-1] > 1 else [goal.item()]
    _rows = substituted(lines, net_weights, net_biases, names, _inputs, _target)
    _numbers = kit.table(
        ("", "with its numbers", ""), [(a, f"= {b}", "" if b == c else f"= {c}") for a, b, c in _rows[at.value - 1]]
    )
    _weights, _biases = [W.tolist() for W in net_weights], [b.tolist() for b in net_biases]
    kit.lab(
        kit.controls(
            "Network, sample and weights", shape, hidden, first_u, second_u, wanted, draw_of, changes,
            *([kit.note(refused, "bad")] if refused else []),
        ),
        kit.svg(
            counted_network(
                widths,
                _values,
                _below,
                [[[short(v) for v in row] for row in W] for W in _weights],
                [[short(v) for v in b] for b in _biases],
                sums=[layer for layer, then in enumerate(_shown, 1) if then == "identity" and names[layer - 1] != "identity"],
                active=_active,
                passed=_passed,
            ),
            f"The network {shape.value} after line {at.value} of {len(lines)}; largest difference from autograd {_difference:.1e}.",
            width=1000,
            caption="In each node: its value and its bias $b$. Click a weight or a bias to change it; point at a node to see its sum.",
            hands=hands_of(_inputs, _weights, _biases, _shown, "changed-weights"),
        ),
        kit.shown(kit.column(kit.prose(f"$${_done[-1].formula}$$"), _numbers), wide=True)
        if _done
        else kit.shown(kit.note("Nothing is computed yet: press Play or Step."), wide=True),
        kit.facts(
            line=f"{at.value} of {len(lines)}",
            loss=lines[2 * len(names)].value.item(),
            largest_difference_from_autograd=_difference,
        ),
        kit.table(
            ("line", "computed", "by hand", "autograd", "difference"),
            [
                (
                    i + 1,
                    NAMES[line.name]
                    if line.name == "loss"
                    else f"{NAMES[line.name]}[{line.layer - (line.name in ('W_bar', 'b_bar', 'y_bar'))}]",
                    ", ".join(short(v) for v in line.value.flatten().tolist()),
                    ", ".join(short(v) for v in autograd[i].flatten().tolist()),
                    _apart[i],
                )
                for i, line in enumerate(_done)
            ],
            caption="Line by line, beside PyTorch",
        ),
        play=at,
        about="Algorithm 6, line by line",
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    chain_weights = mo.ui.array(
        [kit.slider(-2, 2, 0.1, value=v, label=f"$W^{{[{i}]}}$") for i, v in enumerate((0.8, -1.2, 1.5))]
    )
    chain_input = kit.slider(-2, 2, 0.1, value=1.0, label="input $y^{[0]}$")
    chain_target = kit.slider(-1, 1, 0.1, value=0.5, label="wanted $S$")
    chain_sigma = kit.dropdown(SIGMAS, value="tanh", label="activation")
    chain_depth = kit.slider(2, 40, value=10, label="layers $L$")
    kit.column(
        kit.section("A chain of four nodes", ids=("N2.65", "N2.66", "N2.67", "N2.68", "N2.69", "N2.71")),
        kit.prose(r"""
            To learn, we need the gradient of the loss with respect to every weight and bias: a vector as long as $\theta$.
            *Forward propagation* computes the loss, layer by layer. The chain rule then gives the gradient, and it is easiest
            to see where every layer has a single node and no bias:
            $$\frac{\partial \mathscr{L}}{\partial W^{[0]}} = \frac{\partial \mathscr{L}}{\partial y^{[3]}} \cdot \frac{\partial y^{[3]}}{\partial y^{[2]}} \cdot \frac{\partial y^{[2]}}{\partial y^{[1]}} \cdot \frac{\partial y^{[1]}}{\partial W^{[0]}}, \qquad \frac{\partial \mathscr{L}}{\partial W^{[l]}} = \frac{\partial \mathscr{L}}{\partial y^{[L]}} \prod_{j=L}^{l+2} \frac{\partial y^{[j]}}{\partial y^{[j-1]}} \cdot \frac{\partial y^{[l+1]}}{\partial W^{[l]}}$$
            The product runs with $j$ going down, and is empty for $l = L - 1$. The loss enters through its derivative with respect
            to the *last* output alone; that holds for the squared error and for cross entropy.
        """),
        kit.source(chain_gradients),
    )
    return chain_depth, chain_input, chain_sigma, chain_target, chain_weights


@app.cell(hide_code=True)
def _():
    kit.question(
        "Set the activation to sigmoid and watch the column of derivatives. How large can a factor be, and what follows for long chains?",
        r"""A factor is $\sigma'(z) W$, and $\sigma' \le \frac14$: with $|W| \le 2$ no factor exceeds $\frac12$, and a product of forty of
        them is below $10^{-12}$. That is the vanishing gradient of the page on initialization.""",
        options=(r"$\frac14$", r"$\frac12$", "1"),
        right=0,
        predict="How large can the derivative of the sigmoid be?",
    )
    return


@app.cell(hide_code=True)
def _(chain_input, chain_sigma, chain_target, chain_weights):
    _sigma = get_activation(chain_sigma.value)
    _W = [torch.tensor([[w]], dtype=F64) for w in chain_weights.value]
    _y, _z = forward_propagation(torch.tensor([chain_input.value], dtype=F64), _W, [None] * 3, [_sigma] * 3)
    _s = torch.tensor([chain_target.value], dtype=F64)
    _gradients, _ = chain_gradients(_y[-1] - _s, _y, _z, _W, [_sigma.derivative] * 3)
    _leaves = [w.clone().requires_grad_() for w in _W]
    _out = forward_propagation(_y[0], _leaves, [None] * 3, [_sigma] * 3)[0][-1]
    _loss = mse_half(_out[None], _s[None])
    _auto = torch.autograd.grad(_loss, _leaves)
    _factors = [layer_jacobian(z, w, _sigma.derivative).item() for z, w in zip(_z, _W, strict=True)]
    kit.panel(
        kit.controls(
            "Weights, input, target, activation", *chain_weights.elements, chain_input, chain_target, chain_sigma
        ),
        kit.svg(
            network((1, 1, 1, 1), weight_names=True, loss=True, weights=[w.tolist() for w in _W]),
            f"A chain of four nodes and its loss {_loss.item():.4f}; the gradient of the first weight is {_gradients[0].item():.4f}.",
            caption="Fig. 16 of the notes, with the weights as colors",
            width=560,
        ),
        kit.table(
            (
                "layer",
                "y",
                "its derivative with respect to the layer before",
                "gradient of the weight",
                "autograd",
                "difference",
            ),
            [
                (
                    i + 1,
                    _y[i + 1].item(),
                    _factors[i],
                    _gradients[i].item(),
                    _auto[i].item(),
                    abs(_gradients[i].item() - _auto[i].item()),
                )
                for i in range(3)
            ],
            caption="All numbers of the chain",
        ),
        kit.facts(loss=_loss.item(), loss_by_y3=(_y[-1] - _s).item()),
    )
    return


@app.cell(hide_code=True)
def _(chain_depth):
    _counts = {"with reuse": [], "without": []}
    _depths = list(range(2, 41, 2))
    for _L in _depths:
        _factors = [torch.ones(1, 1, dtype=F64)] * (_L - 1)
        for _name, _keep in (("with reuse", True), ("without", False)):
            _counts[_name].append(layer_gradients(torch.ones(1, dtype=F64), _factors, _keep).multiplications)
    _now = [
        layer_gradients(
            torch.ones(1, dtype=F64), [torch.ones(1, 1, dtype=F64)] * (chain_depth.value - 1), keep
        ).multiplications
        for keep in (True, False)
    ]
    kit.panel(
        kit.controls(
            "Depth",
            r"The factors at the end of the chain occur in *every* gradient. Going backwards, each product is the previous one times one more factor: $L - 1$ multiplications instead of $\frac12 L(L-1)$.",
            chain_depth,
        ),
        kit.plot(
            f"With {chain_depth.value} layers: {_now[0]} multiplications with reuse, {_now[1]} without.",
            [
                Series("each gradient by itself", _depths, _counts["without"], "line2"),
                Series("backwards, with reuse", _depths, _counts["with reuse"], "line3"),
            ],
            [
                Series("", [chain_depth.value], [_now[1]], "line2"),
                Series("", [chain_depth.value], [_now[0]], "line3"),
            ],
            x=("layers $L$", 2, 40),
            y="multiplications",
            size=(430, 230),
            wide=600,
        ),
        kit.facts(with_reuse=_now[0], without=_now[1]),
        kit.source(layer_gradients),
    )
    return


@app.cell(hide_code=True)
def _():
    scores = mo.ui.array([kit.slider(-3, 3, 0.1, value=v, label=f"$z_{i}$") for i, v in enumerate((1.0, 0.0, -0.5), 1)])
    messages = mo.ui.array(
        [kit.slider(-1, 1, 0.1, value=v, label=rf"$\bar y_{i}$") for i, v in enumerate((1.0, 0.0, 0.0), 1)]
    )
    kit.column(
        kit.section("Three small rules", ids=("N2.70", "N2.72", "N2.73", "N2.74", "N2.75", "N2.76", "N2.77")),
        kit.prose(r"""
            With vectors and biases we split a layer in two: $z^{[l]} = W^{[l-1]} y^{[l-1]} + b^{[l-1]}$ and
            $y^{[l]} = \sigma^{[l]}(z^{[l]})$ (for clarity; biases alone would not force it, [E33](/errata#E33), and the notes misprint an index here, [E74](/errata#E74)). A bar means *the gradient of the loss
            with respect to this*, in the shape of the thing itself, and $\odot$ is the Hadamard product, entry by entry.
        """),
        kit.formula(
            r"\frac{\partial \mathscr{L}}{\partial W^{[l]}} = \frac{\partial \mathscr{L}}{\partial y^{[L]}} \cdot \prod_{j=L}^{l+2} \Big(\frac{\partial y^{[j]}}{\partial z^{[j]}} \cdot \frac{\partial z^{[j]}}{\partial y^{[j-1]}}\Big) \cdot \frac{\partial y^{[l+1]}}{\partial z^{[l+1]}} \cdot \frac{\partial z^{[l+1]}}{\partial W^{[l]}}",
            r"Eqs. (3), (4): the same with $b^{[l]}$ at the end; as rows times Jacobians, in this order",
        ),
        kit.row(
            kit.formula(r"\bar z = \bar y \odot \sigma'(z)", "Eq. (5): through an activation, component by component"),
            kit.formula(r"\bar y = W^\top \bar z", "Eq. (6): to the layer before"),
            kit.formula(r"\bar W = \bar z\, y^\top, \qquad \bar b = \bar z", "Eqs. (7), (8): to weight and bias"),
            least=250,
        ),
        kit.prose(r"""
            The notes print Eqs. (3), (4) with gradients as columns, where the shapes do not fit; with transposes as in (6) to
            (8) they do ([E32](/errata#E32)). And Eq. (5) holds for component-wise $\sigma$ only. *Softmax* mixes its components, so it needs its own
            rule ([E34](/errata#E34)). Compare:
        """),
        kit.source(activation_pullback, affine_pullback, softmax_vjp, hadamard),
    )
    return messages, scores


@app.cell(hide_code=True)
def _():
    kit.question(
        r"For which message $\bar y$ does Eq. (5) happen to be nearly right for softmax?",
        r"""When one probability is almost 1 all derivatives are almost 0, and both agree. A message that is the same for all classes is pulled
        back to 0, since adding a constant to all probabilities is impossible: Eq. (5) does not see that.""",
        options=("When all classes are equally probable", "When one probability is almost 1", "Never"),
        right=1,
        predict="Softmax has a full Jacobian, Eq. (5) only a diagonal. When do they nearly agree?",
    )
    return


@app.cell(hide_code=True)
def _(messages, scores):
    _z, _g = (torch.tensor(sliders.value, dtype=F64) for sliders in (scores, messages))
    _p = softmax(_z)
    _right = softmax_vjp(_p, _g)
    _leaf = _z.clone().requires_grad_()
    _auto = torch.autograd.grad(hadamard(softmax(_leaf), _g).sum(), _leaf)[0]
    _tanh = pull_through_activation("tanh", _z[None], _z.tanh()[None], _g[None])[0]
    _wrong = hadamard(_g, get_activation("sigmoid").derivative(_p.logit()))
    kit.panel(
        kit.controls("Pre-activations and incoming gradient", *scores.elements, *messages.elements),
        kit.table(
            ("component", "tanh, Eq. (5)", "softmax p", "softmax, its rule", "autograd", "softmax by Eq. (5)"),
            [(i + 1, *(float(column[i]) for column in (_tanh, _p, _right, _auto, _wrong))) for i in range(3)],
            caption="The same message pulled back through two activations; p(1 − p) stands in for σ' of softmax in the last column",
        ),
        kit.facts(
            error_of_the_rule=(_right - _auto).abs().max().item(),
            error_of_Eq_5=(_wrong - _auto).abs().max().item(),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    shape = kit.dropdown(list(NETS), value="2-2-1", label="network")
    hidden = kit.dropdown(SIGMAS, value="tanh", label="hidden activation")
    first_u = kit.slider(-2, 2, 0.1, value=1.0, label="input $u_1$")
    second_u = kit.slider(-2, 2, 0.1, value=-0.5, label="input $u_2$")
    wanted = kit.slider(0, 1, 0.1, value=1.0, label="wanted $S$")
    draw_of = kit.slider(0, 20, value=3, label="weights, seed")
    changes = mo.ui.text(label="changed weights", placeholder="W0 1 2=0.5; b0 1=-1", full_width=True)
    kit.column(
        kit.section("Algorithm 6, line by line", ids=("N2.65", "N2.77", "N2.79", "N2.80")),
        kit.prose(r"""
            Now all of it, at the top of this page, on a network that is small enough to follow with a calculator. Press *Play*, or
            *Step*: first come every $z$ and $y$, then the loss, then the bars backwards. Every line is printed with its numbers put in.
            Nodes hold their values and biases, orange numbers are gradients, and the table shows what PyTorch's autograd says beside them. With $N$ samples the loss is a mean, so the first bar
            carries $\frac1N$, and $\bar W$, $\bar b$ are sums over the samples; in the notes some sample indices and the label are missing ([E36](/errata#E36)).
            $$\begin{aligned} \bar z^{[l](i)} &= \bar y^{[l](i)} \odot (\sigma^{[l]})'(z^{[l](i)}), & \bar y^{[l-1](i)} &= (W^{[l-1]})^\top \bar z^{[l](i)}, \\ \bar W^{[l-1]} &= \sum_{i=1}^N \bar z^{[l](i)} (y^{[l-1](i)})^\top, & \bar b^{[l-1]} &= \sum_{i=1}^N \bar z^{[l](i)} \end{aligned}$$
        """),
        kit.source(sweep, backpropagate),
    )
    return changes, draw_of, first_u, hidden, second_u, shape, wanted


@app.cell(hide_code=True)
def _(shape):
    _count = 6 * (len(NETS[shape.value]) - 1)
    at = kit.walk(0, _count, value=_count, label="line of the algorithm")
    return (at,)


@app.cell(hide_code=True)
def _(changes, draw_of, first_u, hidden, second_u, shape, wanted):
    widths, refused = NETS[shape.value], ""
    net_weights, net_biases = start(widths, draw_of.value)
    try:
        net_weights, net_biases = changed(changes.value, net_weights, net_biases)
    except DataError as error:
        refused = str(error)
    _many = widths[-1] > 1
    names = [hidden.value] * (len(widths) - 2) + (["softmax"] if _many else ["sigmoid"])
    sample = torch.tensor([[first_u.value, second_u.value]], dtype=F64)
    goal = torch.tensor([round(wanted.value * 2)]) if _many else torch.tensor([[wanted.value]], dtype=F64)
    kind = "nll" if _many else "bce"
    lines = sweep(net_weights, net_biases, names, sample, goal, kind)
    autograd = autograd_values(net_weights, net_biases, names, sample, goal, kind)
    return autograd, goal, kind, lines, names, net_biases, net_weights, refused, sample, widths


@app.cell(hide_code=True)
def _(goal, kind, names, net_biases, net_weights, sample, widths):
    _many = torch.cat([sample + shift for shift in (0.0, 0.3, -0.7, 1.1)])
    _goals = goal.expand(4, *goal.shape[1:]).clone()
    _batch = backpropagate(net_weights, net_biases, names, _many, _goals, kind)
    _loop = backpropagate_by_sample(net_weights, net_biases, names, _many, _goals, kind)
    kit.row(
        kit.prose(r"""
            **Several samples.** Looping over samples and averaging their gradients gives the same result as matrices with one row per sample
            (here four, around yours). Flattened, the gradient is one vector, with an entry
            for every parameter.
        """),
        kit.facts(
            parameters=parameter_count(widths),
            length_of_the_gradient=len(_batch.flatten()),
            loop_minus_batch=(_batch.flatten() - _loop.flatten()).abs().max().item(),
        ),
        least=300,
    )
    return


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Take ReLU as the hidden activation and look for a seed where a whole row of $\bar W^{[0]}$ is zero. Why is it?",
        r"""Where $z_i^{[1]} < 0$ the derivative of ReLU is 0, so $\bar z_i^{[1]} = 0$, and the row $i$ of
        $\bar W^{[0]} = \bar z^{[1]} (y^{[0]})^\top$ with it: for this sample the node learns nothing.""",
        options=("A small one", "Exactly zero", "A negative one"),
        right=1,
        predict="A hidden node with ReLU has a negative sum. What gradient do its weights get?",
    )
    return


@app.cell(hide_code=True)
def _():
    method = kit.dropdown(["gradient descent", "Adam"], value="gradient descent", label="method")
    tau = kit.steps([0.01, 0.03, 0.1, 0.3, 1.0], value=0.1, label=r"step size $\tau$")
    sweeps = kit.slider(1, 40, value=20, label="sweeps")
    kit.column(
        kit.section("Update on the fly", ids=("N2.78",)),
        kit.prose(r"""
            A gradient need not be kept: as soon as $\bar W^{[l-1]}$ is known, the weight can be changed and the gradient
            forgotten, so that only the current bars are in memory. The order matters: $\bar y^{[l-1]} = (W^{[l-1]})^\top \bar z^{[l]}$
            must be formed with the *old* weight. The notes ask for a fixed step size; it is enough that a tensor is changed by its
            own gradient, so Adam works too ([E35](/errata#E35)). A line search, or clipping by the norm of the whole gradient, does not.
            $$\bar y^{[l-1]} = (W^{[l-1]}_{\text{old}})^\top \bar z^{[l]}, \qquad \text{then} \qquad W^{[l-1]} \leftarrow W^{[l-1]} - \tau\, \bar W^{[l-1]}$$
        """),
        kit.source(train_on_the_fly),
    )
    return method, sweeps, tau


@app.cell(hide_code=True)
def _():
    kit.question(
        "Is the largest difference exactly zero? Try both methods.",
        """It is zero, or a few units in the last digit of a float64 (about 1e-16), however many sweeps you take: updating on the fly is the same
        algorithm with less memory. With the wrong order, weights first, one step already differs by about 1e-4.""",
        options=("Equal up to rounding", "About $10^{-4}$", "They drift apart"),
        right=0,
        predict="Updating on the fly needs less memory. How far are its weights from those of the usual way?",
    )
    return


@app.cell(hide_code=True)
def _(goal, kind, method, names, net_biases, net_weights, sample, sweeps, tau):
    _adam = method.value == "Adam"
    _hyper = Adam(tau.value) if _adam else GradientDescent(tau.value)
    _fly = train_on_the_fly(
        net_weights, net_biases, names, sample, goal, kind,
        optimizer=OPTIMIZERS["adam" if _adam else "gd"], hyper=_hyper, steps=sweeps.value,
    )  # fmt: skip

    def _gradient(params):
        """Ask autograd for the whole gradient, as an ordinary optimizer does."""
        leaves = {name: theta.clone().requires_grad_() for name, theta in params.items()}
        parts = ([leaves[f"{letter}{i}"] for i in range(len(net_weights))] for letter in "Wb")
        z = forward(*parts, names, sample).pre_activations[-1]
        loss = (negative_log_likelihood if kind == "nll" else binary_cross_entropy)(z, goal)
        return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))

    _first = name_parameters(net_weights, net_biases)
    _whole = iterate(_gradient, _first, OPTIMIZERS["adam" if _adam else "gd"], _hyper, sweeps.value)
    _difference = max((_fly.params[name] - theta).abs().max().item() for name, theta in _whole.items())
    kit.panel(
        kit.controls("Method and sweeps", method, tau, sweeps),
        kit.plot(
            f"The loss over {sweeps.value} sweeps with updates on the fly, {_fly.losses[-1].item():.5f} at the end.",
            [Series("loss", list(range(sweeps.value + 1)), _fly.losses.tolist(), "line1")],
            x=("sweep", 0, sweeps.value),
            y=("", 0, max(1.0, float(_fly.losses.max()))),
            size=(430, 220),
            wide=600,
        ),
        kit.facts(loss=_fly.losses[-1].item(), difference_to_updates_after_the_sweep=_difference),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("What autograd records", ids=("N2.81",)),
        kit.prose(r"""
            PyTorch does not know Algorithm 6. While the loss is computed it records a directed acyclic graph: tensors that need a
            gradient are the leaves, the loss is the root, every operation knows how to pull a gradient back. `backward()`
            walks from the root to the leaves. This is the graph of the network above with its loss:
        """),
        kit.source(autograd_graph),
    )
    return


@app.cell(hide_code=True)
def _(goal, kind, names, net_biases, net_weights, sample):
    _model = fnn_from_weights(net_weights, net_biases, names[0])
    _loss = (negative_log_likelihood if kind == "nll" else binary_cross_entropy)(_model(sample), goal)
    _graph = autograd_graph(_loss, dict(_model.named_parameters()))
    kit.column(
        kit.facts(nodes=len(_graph.nodes), leaves=len(_graph.leaves), edges=len(_graph.edges)),
        kit.prose("```text\n" + _graph.text() + "\n```"),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.question(
        "Find the leaves. Why is the input not among them?",
        """The leaves are the weights and biases in brackets: they were marked with `requires_grad`. Nobody asked for the gradient of
        the input, so the graph ends there, just as Algorithm 6 need not form the bar of layer 0.""",
        options=("Yes", "No"),
        right=1,
        predict="Is the input a leaf of the graph whose gradient is computed?",
    )
    return


if __name__ == "__main__":
    app.run()
