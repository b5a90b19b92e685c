import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Where to start")

with app.setup:
    import torch

    from lamina.architectures.build import build
    from lamina.backprop.backpropagation import name_parameters, objective
    from lamina.classical.descent import descend
    from lamina.drawing.charts import Series, histogram
    from lamina.experiments.initialization import flow, network_flow
    from lamina.functional.activations import default_initialization, get_activation
    from lamina.functional.initialization import constant, draw, fans, gaussian, glorot, he, xavier
    from lamina.functional.random import as_generator
    from lamina.inspection import shares
    from lamina.pages import kit

    F64 = torch.float64
    SIGMAS = {"none": "identity", "tanh": "tanh", "sigmoid": "sigmoid", "ReLU": "relu", "leaky ReLU": "leaky_relu"}
    RULES = {"Gaussian, chosen manually": "gaussian", "Xavier": "xavier", "He": "he", "Glorot": "glorot"}


@app.cell(hide_code=True)
def _(depth, look, net, passed, rule, sigma, std, width):
    _layers = [float(i) for i in range(depth.value + 1)]
    _squares = [y.square().mean().item() for y in passed.features]
    _variances = [y.var().item() for y in passed.features]
    _ratio = passed.states[0] / passed.states[-1] if passed.states[-1] else float("nan")
    _at = min(look.value, depth.value)
    _values = passed.features[_at].flatten()
    _dead, _saturated = shares(passed.features[_at], sigma.value, 1)
    _largest = _values.abs().max().item()
    _drawn = net.weights[0].std().item()
    kit.lab(
        kit.controls(
            "Network and first weights", sigma, rule, *([std] if rule.value == "gaussian" else []), width, depth, look
        ),
        kit.row(
            kit.plot(
                f"Signals through {depth.value} layers: the mean square of the last layer is {_squares[-1]:.2g}.",
                [
                    Series("mean square of $y^{[l]}$", _layers, _squares, "line1"),
                    Series("variance", _layers, _variances, "line5", "dashed"),
                ],
                title="forward: signals",
                x="layer $l$",
                log_y=True,
                y=("", 1e-24, 1e12),
                size=(380, 400),
            ),
            kit.plot(
                f"Gradients through {depth.value} layers: the first state gets {_ratio:.1e} of the last one's gradient.",
                [
                    Series(r"$\|\partial L/\partial y^{[l]}\|$", _layers, passed.states, "line4"),
                    Series(r"$\|\partial L/\partial W^{[l-1]}\|$", _layers[1:], passed.weights, "line3", "dashed"),
                ],
                title="backward: gradients",
                x="layer $l$",
                log_y=True,
                y=("", 1e-24, 1e12),
                size=(400, 270),
            ),
            least=300,
        ),
        kit.row(
            kit.plot(
                f"The distribution of the features of layer {_at}; the largest is {_largest:.2g}.",
                bars=[histogram("", (_values / (_largest or 1.0)).tolist(), low=-1, high=1, bins=50, color="hidden")],
                x=(f"values of layer {_at}, relative to {kit.number(_largest, 2)}", -1, 1),
                size=(400, 190),
            ),
            kit.facts(
                **{"std as drawn": _drawn, "times √n": _drawn * width.value**0.5},
                state_gradient_ratio=_ratio,
                first_weight_gradient=passed.weights[0],
                last_weight_gradient=passed.weights[-1],
                saturated="–" if _saturated.isnan() else f"{_saturated:.0%}",
                dead=f"{_dead:.0%}",
            ),
            least=300,
        ),
        about="How large?",
    )
    return


@app.cell(hide_code=True)
def _():
    start = kit.dropdown(
        {"all weights equal": "constant", "random (Xavier)": "xavier"},
        value="all weights equal",
        label="initial weights",
    )
    value = kit.slider(0, 1, 0.1, value=0.5, label="their common value $c$")
    steps = kit.slider(0, 300, 10, value=100, label="steps of gradient descent", debounce=True)
    seed = kit.slider(0, 20, value=0, label="seed")
    kit.column(
        kit.section("Why not all the same?", ids=("N2.26", "N2.27", "N2.28", "N2.29")),
        kit.prose(r"""
            Learning goes downhill from somewhere, and where it starts decides where it ends; from some places it goes nowhere.
            Start with all weights *zero* and tanh or ReLU, and every gradient but that of the last bias is zero, forever. Start with
            all weights *equal*, and the nodes of a layer get equal gradients: they stay copies of each other, and four nodes are worth
            one. Random weights break this symmetry; biases may start at zero then.
        """),
        kit.formula(
            r"W^{[l]}_{ij} = c \;\text{ for all } i, j \quad \Rightarrow \quad \frac{\partial \mathscr{L}}{\partial W^{[0]}_{1j}} = \frac{\partial \mathscr{L}}{\partial W^{[0]}_{2j}} = \cdots = \frac{\partial \mathscr{L}}{\partial W^{[0]}_{n_1 j}}",
            "the rows of the gradient, one for each node, are equal; its columns, one for each input, differ (the notes say that all are equal, [E26](/errata#E26))",
        ),
        kit.source(constant, gaussian),
    )
    return seed, start, steps, value


@app.cell(hide_code=True)
def _(seed, start, steps, value):
    _g = as_generator(seed.value)
    _u, _s = (torch.randn(32, n, generator=_g, dtype=F64) for n in (3, 1))
    _scale = value.value if start.value == "constant" else 1.0
    _W = [draw(start.value, shape, _g, _scale).to(F64) for shape in ((4, 3), (1, 4))]
    _first = name_parameters(_W, [torch.zeros(4, dtype=F64), torch.zeros(1, dtype=F64)])
    _problem = objective(["tanh", "identity"], _u, _s)
    _found = descend(_problem, _first, 0.2, steps.value)
    _now = _found.params["W0"]
    _gradient = _problem(_found.params)[1]["W0"]
    _apart, _gradients_apart = (torch.pdist(matrix).max().item() for matrix in (_now, _gradient))
    kit.panel(
        kit.controls("First weights", start, *([value] if start.value == "constant" else []), steps, seed),
        kit.row(
            kit.table(
                ("node", "from input 1", "from input 2", "from input 3"),
                [(i + 1, *row) for i, row in enumerate(_now.tolist())],
                caption=f"The weights W[0] of the four hidden nodes after {steps.value} steps",
            ),
            kit.table(
                ("node", "from input 1", "from input 2", "from input 3"),
                [(i + 1, *row) for i, row in enumerate(_gradient.tolist())],
                caption="Their gradients there",
            ),
            least=300,
        ),
        kit.plot(
            f"The loss of 3-4-1 after {steps.value} steps is {_found.losses[-1].item():.4f}; the largest distance between two nodes is {_apart:.3g}.",
            [Series("loss", list(range(steps.value + 1)), _found.losses.tolist(), "line1")],
            x=("step", 0, 300),
            y=("", 0, 0.8),
            size=(430, 190),
            wide=560,
        ),
        kit.facts(
            loss=_found.losses[-1].item(),
            distance_of_nodes=_apart,
            distance_of_gradients=_gradients_apart,
            rank_of_W0=int(torch.linalg.matrix_rank(_now, atol=1e-8)),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "Compare the loss after 300 steps for equal and for random weights. Then set $c = 0$: which numbers move?",
            """Random nodes get further because four different nodes can do more than four copies. With c = 0 nothing in the table moves:
            only the last bias does, and the network learns the best constant.""",
            options=("All different", "Still four copies of one node", "All zero"),
            right=1,
            predict="All weights start out equal. What are the four nodes after training?",
        ),
        kit.recorded(
            "symmetry",
            "After 300 steps the neurons that started out equal are {neurons apart at the end[0]:.0f} apart, the random ones {neurons apart at the end[1]:.1f}.",
        ),
        kit.recorded(
            "starting_points",
            "From eight random starts the tanh network ends at losses between {least[0]:.0e} and {largest[0]:.2f}; from zero weights it always ends at {last loss[1]:.2f}, the best constant.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    sigma = kit.dropdown(SIGMAS, value="tanh", label="activation")
    rule = kit.dropdown(RULES, value="Gaussian, chosen manually", label="initial weights")
    std = kit.steps(
        [0.001, 0.003, 0.01, 0.02, 0.05, 0.08, 0.1, 0.125, 0.15, 0.177, 0.2, 0.25, 0.3, 0.5, 1.0],
        value=0.01,
        label="standard deviation",
    )
    width = kit.steps([10, 25, 64, 100, 256, 400], value=64, label="width $n$", debounce=True)
    depth = kit.slider(2, 40, value=20, label="depth $L$", debounce=True)
    look = kit.slider(0, 40, value=20, label="show the features of layer")
    kit.column(
        kit.section("How large?", ids=("N2.30", "N2.31", "N2.32", "N2.33", "N2.34", "N2.35", "N2.36")),
        kit.prose(r"""
            Random, but how large? Send normal inputs through a deep network with weights $W_{ij} \sim \mathcal N(0, \mathrm{std}^2)$ and the
            gradient of the loss back. Each layer multiplies the signal by about $\mathrm{std} \cdot \sqrt{n}$ and the activation's slope. Below one, both
            fade: the gradients **vanish**. Above, both blow up: they **explode**, and in float32 end as NaN. The notes call 0.01 small
            and 0.2 large; that is true for some widths only ([E27](/errata#E27)). What counts is $\mathrm{std} \cdot \sqrt{n}$, compared with 1 for tanh and the
            identity and with $\sqrt2$ for ReLU.
        """),
        kit.row(
            kit.formula(
                r"W^{[l]}_{ij} \sim \mathcal N\big(0, \tfrac{1}{n_l}\big), \quad b = 0",
                "Xavier: keeps the variance of the identity",
            ),
            kit.formula(
                r"W^{[l]}_{ij} \sim \mathcal N\big(0, \tfrac{2}{n_l}\big), \quad b = 0",
                "He: makes up for the half that ReLU cuts off",
            ),
            kit.formula(
                r"W^{[l]}_{ij} \sim \mathcal N\big(0, \tfrac{2}{n_l + n_{l+1}}\big)",
                "Glorot: what PyTorch calls Xavier ([E42](/errata#E42))",
            ),
            least=260,
        ),
        kit.source(xavier, he, glorot, flow),
    )
    return depth, look, rule, sigma, std, width


@app.cell(hide_code=True)
def _(depth, rule, sigma, std, width):
    _n = width.value
    net = build(
        "fnn", inputs=_n, outputs=_n, hidden=(_n,) * (depth.value - 1), activation=sigma.value, last_activation=sigma.value,
        initialization=rule.value, scale=std.value if rule.value == "gaussian" else 1.0,
    ).double()  # fmt: skip
    passed = network_flow(net, 64, 0)
    return net, passed


@app.cell(hide_code=True)
def _():
    layer_in = kit.slider(1, 1000, value=100, label="inputs $n_l$")
    layer_out = kit.slider(1, 1000, value=400, label="outputs $n_{l+1}$")
    kit.column(
        kit.question(
            r"""Keep tanh, 20 layers and std 0.01. Are the weight gradients of the first layer smaller than those of the last? Then find the std at
            which neither signal nor gradient fades for width 100, with no activation and with ReLU.""",
            r"""No: all weight gradients are equally tiny, since the signal fades forwards as fast as the gradient does backwards. It is the *state*
            gradient that shows the vanishing, not the ratio of weight gradients ([E28](/errata#E28)). For width 100: $0.1 = 1/\sqrt{100}$ without activation
            (Xavier) and $0.141 = \sqrt{2/100}$ with ReLU (He).""",
            options=("Those of the first layer", "Those of the last layer", "All are equally tiny"),
            right=2,
            predict="Signals fade with std 0.01. Which weight gradients are smaller?",
        ),
        kit.recorded(
            "small_weights",
            "With std 0.01 the state gradient is {state gradient[0]:.0e} and the accuracy stays at {accuracy[0]:.0%}; with Xavier's weights they are {state gradient[1]:.2f} and {accuracy[1]:.1%}.",
        ),
        kit.recorded(
            "large_weights",
            "With std 0.2 a linear signal is at {linear[0]:.0e} after 20 layers of width 10, and at {linear[3]:.0e} with width 256: what counts is std times the root of the width.",
        ),
        kit.recorded(
            "saturation",
            "In 20 wide layers {saturated[1]:.0%} of the last units are saturated; in one hidden layer larger weights have smaller gradients, {first weight gradient[2]:.0f}, {first weight gradient[3]:.0f} and {first weight gradient[4]:.0f}.",
        ),
        kit.prose(r"""
            Xavier's promise, $\mathrm{Var}(y^{[l+1]}) = \mathrm{Var}(y^{[l]})$, holds exactly for the identity and inputs of mean zero ([E29](/errata#E29)).
            It assumes activations that are centered at zero: tanh lowers the variance slowly, ReLU halves the second moment in every layer, and
            the sigmoid has mean $\frac12$. He's factor 2 keeps the second moment of ReLU.
        """),
        kit.recorded(
            "variance_by_layer",
            "After 20 ReLU layers the mean square is {E y^2 20[3]:.0e} with Xavier's weights and {E y^2 20[4]:.2f} with He's.",
        ),
        kit.recorded(
            "xavier_rule",
            "For 100 inputs and 400 outputs the rule of the notes draws with a standard deviation of {xavier[1]:.3f}, PyTorch's with {torch xavier_normal_[1]:.3f}; they agree only for as many outputs as inputs.",
        ),
        kit.source(default_initialization, fans),
    )
    return layer_in, layer_out


@app.cell(hide_code=True)
def _():
    kit.question(
        "For which shapes do Xavier's and Glorot's rules agree?",
        r"""For as many outputs as inputs: $\frac{2}{n + n} = \frac1n$. For a layer from 100 to 400 nodes they give 0.1 and 0.063.""",
        options=("For all", "For as many outputs as inputs", "For none"),
        right=1,
    )
    return


@app.cell(hide_code=True)
def _(layer_in, layer_out):
    _shape = (layer_out.value, layer_in.value)
    _drawn = {name: draw(key, _shape, 0).std(correction=0).item() for name, key in list(RULES.items())[1:]}
    _z = torch.randn(4096, generator=as_generator(0), dtype=F64)
    _both = torch.cat([_z, -_z])
    _sigmas = {name: get_activation(key)(_both).mean().item() for name, key in SIGMAS.items()}
    kit.panel(
        kit.controls("Shape of a layer", layer_in, layer_out),
        kit.facts(**{f"std, {name}": value for name, value in _drawn.items()}),
        kit.table(
            ("activation", "mean of σ(z), z normal", "rule that suits it"),
            [(name, _sigmas[name], default_initialization(key)) for name, key in SIGMAS.items()],
            caption="Which activations are centered at zero, and what Lamina starts with",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
