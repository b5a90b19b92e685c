import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Universal approximation")

with app.setup:
    import marimo as mo
    import torch

    from lamina.architectures.build import build
    from lamina.architectures.constructions import (
        approximate,
        approximation_errors,
        linear_pieces,
        output_bound,
        parity_tree,
        shallow_parity,
        shallow_tent_map,
        tent_map,
    )
    from lamina.drawing.charts import Band, Note, Series
    from lamina.drawing.heat_map import heat_map
    from lamina.drawing.network import network_of
    from lamina.experiments.depth import parity_sizes, wave
    from lamina.functional.activations import get_activation, sigmoid_derivative
    from lamina.inspection.gradient_flow import gradient_flow
    from lamina.pages import kit
    from lamina.pages.chapters.ch2.approximation._work import learn_wave

    F64 = torch.float64
    RELU, STEP, TENT = get_activation("relu"), get_activation("heaviside"), tent_map(3).double()
    FUNCTIONS = {
        "sin 4πu + u": wave,
        "a corner": lambda u: RELU(2 * u - 1) + RELU(1 - 2 * u),
        "a zigzag": lambda u: TENT(u).detach(),
        "a jump": lambda u: STEP(u - 0.5),
    }
    UNITS = {"sigmoid": "sigmoid", "tanh": "tanh", "ReLU": "relu"}
    WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)


@app.cell(hide_code=True)
def _(errors, function, gain, outside, seed, unit, width):
    _f = FUNCTIONS[function.value]
    _u = torch.linspace(0, 1, 400, dtype=F64)[:, None]
    _net = approximate(_u, _f(_u), width.value, activation=unit.value, gain=gain.value, seed=seed.value)
    _x = torch.linspace(-1.0, 2.0, 601, dtype=F64)[:, None] if outside.value else _u
    with torch.no_grad():
        _y = _net(_x)[:, 0]
        _error = (_net(_u) - _f(_u)).abs().max().item()
    _bound = output_bound(_net).item() if unit.value != "relu" else None
    _rows = zip(_net.weights[0][:, 0].tolist(), _net.biases[0].tolist(), _net.weights[1][0].tolist(), strict=True)
    _listed = (
        [
            kit.table(
                ("unit", "weight", "bias", "output weight"),
                [
                    *((str(i), *numbers) for i, numbers in enumerate(_rows, 1)),
                    ("output", "", _net.biases[1].item(), ""),
                ],
                caption="All parameters of the network. The bound of the output adds up the sizes of the last column and of the last bias.",
                right=(1, 2, 3),
            )
        ]
        if width.value <= 16
        else []
    )
    kit.lab(
        kit.controls("Function and hidden layer", function, width, unit, gain, seed, outside),
        kit.row(
            kit.plot(
                f"{function.value} and a network with {width.value} hidden units: the largest error on [0, 1] is {_error:.2g}.",
                [
                    Series("function $f$", _x[:, 0].tolist(), _f(_x)[:, 0].tolist(), "line6", size=4.0),
                    Series(rf"network, $n_1 = {width.value}$", _x[:, 0].tolist(), _y.tolist(), "line2"),
                ],
                bands=[Band("", [0.0, 1.0], [-4, -4], [4, 4], "input", 0.06)] if outside.value else [],
                x="$u$",
                y=("", *((-4, 4) if outside.value else (-1.6, 2.2))),
                size=kit.MAIN,
            ),
            kit.plot(
                f"The largest error over the width; at {width.value} it is {_error:.2g}.",
                [Series("largest error", list(WIDTHS), errors, "line1")],
                [
                    Series("", list(WIDTHS), errors, "line1"),
                    Series("yours", [width.value], [_error], "line2", "ring", size=5.0),
                ],
                x="width $n_1$",
                log_x=True,
                log_y=True,
                y=("", 1e-12, 10),
                size=kit.BESIDE,
            ),
            least=300,
        ),
        kit.facts(
            largest_error=_error,
            parameters=sum(p.numel() for p in _net.parameters()),
            bound_of_the_output="none" if _bound is None else _bound,
        ),
        *_listed,
        about="One hidden layer is enough",
    )
    return


@app.cell(hide_code=True)
def _():
    function = kit.dropdown(list(FUNCTIONS), value="sin 4πu + u", label="function $f$")
    width = kit.steps([*range(1, 33), 48, 64, 96, 128], value=6, label="width $n_1$")
    unit = kit.dropdown(UNITS, value="sigmoid", label="activation")
    gain = kit.steps([2.0, 5.0, 10.0, 20.0, 50.0, 100.0], value=20.0, label="steepness of the units")
    seed = kit.slider(0, 20, value=0, label="seed")
    outside = mo.ui.switch(label="look outside [0, 1]")
    kit.column(
        kit.section("One hidden layer is enough", ids=("N2.15", "N2.16")),
        kit.prose(r"""
            A network with *one* hidden layer and a linear output can come as close as you like to any continuous function on a
            bounded closed set, if the layer is wide enough and its activation is not a polynomial. So a first approach is: take
            $L = 2$ and widen until it is accurate. Here the hidden weights are drawn at random and only the output weights are
            solved for, so no training stands between width and error.
            $$\mathcal{F}(u) = \sum_{i=1}^{n_1} W^{[1]}_i\, \sigma\big(W^{[0]}_i u + b^{[0]}_i\big) + b^{[1]}, \qquad \max_{u \in [0, 1]} |\mathcal{F}(u) - f(u)| < \varepsilon$$
        """),
        kit.source(approximate),
    )
    return function, gain, outside, seed, unit, width


@app.cell(hide_code=True)
def _(function, gain, seed, unit):
    errors = approximation_errors(
        FUNCTIONS[function.value], WIDTHS, activation=unit.value, gain=gain.value, seed=seed.value
    )
    return (errors,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Widen the layer for the jump. What does the largest error do? Then look outside [0, 1] with any function.",
        r"""The jump stays near $\frac12$: a continuous network must pass through the middle, however steep it is. The theorem is about
        *continuous* functions, and on *bounded* sets; the notes state it for all measurable functions and the whole space, where it holds only in
        the mean ([E24](/errata#E24)). Outside the set the network does as it likes: with sigmoid or tanh it cannot even leave the bound that its output weights set.""",
        options=("It falls to 0", "It stays near one half", "It grows"),
        right=1,
        predict="The layer gets wider and wider. What does the largest error at the jump do?",
    )
    return


@app.cell(hide_code=True)
def _():
    learned_width = kit.slider(1, 64, value=16, label="width")
    learned_layers = kit.slider(1, 4, value=1, label="hidden layers")
    learned_unit = kit.dropdown(
        {"tanh": "tanh", "ReLU": "relu", "sigmoid": "sigmoid"}, value="tanh", label="activation"
    )
    go = kit.play("Learn from four starting points")
    learning = kit.train(learn_wave, keep="last")
    kit.column(
        kit.prose("The largest error on the wave, over five random layers for each width, falls with every doubling:"),
        kit.recorded("widening", "From 4 to 128 units the largest error falls from {error[0]:.1f} to {error[5]:.0e}."),
        kit.section("Weights exist, but who finds them?", ids=("N2.17",)),
        kit.prose(r"""
            The theorem promises that good weights exist. It does not say that gradient descent finds them: training may end in a
            local minimum, and with little data in the wrong function altogether. Four networks of one shape start from
            different weights and learn the same wave. Compare their losses with the error above for the same width.
            $$\text{there is } \theta^* \text{ with } \mathscr{L}(\theta^*) < \varepsilon \qquad \not\Rightarrow \qquad \lim_{k \to \infty} \mathscr{L}(\theta^{(k)}) < \varepsilon$$
        """),
    )
    return go, learned_layers, learned_unit, learned_width, learning


@app.cell(hide_code=True)
def _(learned_layers, learned_unit, learned_width):
    kit.row(learned_width, learned_layers, learned_unit, least=220)
    return


@app.cell(hide_code=True)
def _(go, learned_layers, learned_unit, learned_width, learning):
    _x = torch.linspace(0, 1, 121, dtype=F64)

    def _draw(job):
        row = job.rows[-1] if job.rows else {"step": 0, "steps": [], "losses": [[]] * 4, "curves": []}
        colors = ("line1", "line2", "line3", "line4")
        ends = [own[-1] for own in row["losses"] if own]
        curves = [Series(f"start {i + 1}", _x.tolist(), curve, colors[i]) for i, curve in enumerate(row["curves"])]
        words = "not started" if not ends else f"losses {min(ends):.2g} to {max(ends):.2g} after {row['step']} steps"
        return kit.column(
            go,
            kit.progress(row["step"] / 1500, job.words),
            kit.row(
                kit.plot(
                    f"Four networks learn a wave: {words}",
                    [Series("wave", _x.tolist(), wave(_x[:, None])[:, 0].tolist(), "line6", size=4.0), *curves],
                    x="$u$",
                    y=("", -1.6, 2.2),
                    size=(400, 260),
                ),
                kit.plot(
                    f"Their losses: {words}",
                    [
                        Series("", [float(s) for s in row["steps"]], own, colors[i])
                        for i, own in enumerate(row["losses"])
                    ]
                    if ends
                    else [Series("", [0.0, 1.0], [None, None])],
                    x=("step", 0, 1500),
                    y=("loss", 1e-6, 1),
                    log_y=True,
                    size=(400, 260),
                ),
                least=300,
            ),
        )

    learning.show(
        _draw, running=go, width=learned_width.value, layers=learned_layers.value, activation=learned_unit.value
    )
    return


@app.cell(hide_code=True)
def _():
    bits = kit.steps([2, 4, 8], value=4, label="bits $n$")
    kit.column(
        kit.recorded(
            "existence_only",
            "Weights with an error of only {error[0]:.0e} exist, yet training stops at {error[1]:.2f}; learned from 10 noisy points the curve is off by {error[3]:.2f} elsewhere, from 200 points by {error[5]:.2f}.",
        ),
        kit.question(
            "Does a wider layer make the four losses more alike? And what about deeper networks?",
            """With a few units some starts get stuck with one bump of the wave missing, others find all of it. Wider layers get lucky more
            often. Two hidden layers learn this wave faster, and ReLU leaves visible corners.""",
            options=("All at the same loss", "At different losses, and wider layers get lucky more often"),
            right=1,
            predict="Four starts, one network. Where do they end?",
        ),
        kit.section("The price of a single layer", ids=("N2.18", "N2.19", "N2.20")),
        kit.prose(r"""
            *Enough* can be a lot. In the worst case one hidden layer needs a unit for every combination of inputs: exponentially
            many. The **parity** of $n$ bits is such a function: one hidden layer with a unit for each odd input takes $2^{n-1}$ units,
            a tree of XOR networks $3(n-1)$ units in $2 \log_2 n$ layers. (The notes say that something grows exponentially, but not
            what: it is the shallow network, [E25](/errata#E25).)
            $$u_1 \oplus u_2 \oplus \cdots \oplus u_n: \qquad 2^{n-1} \text{ units in one hidden layer}, \quad 3(n-1) \text{ units in } 2\log_2 n \text{ layers}$$
        """),
        kit.source(shallow_parity, parity_tree),
    )
    return (bits,)


@app.cell(hide_code=True)
def _(bits):
    number = kit.slider(0, 2**bits.value - 1, value=min(11, 2**bits.value - 1), label="the input, as a number")
    return (number,)


@app.cell(hide_code=True)
def _(bits, number):
    _bits = [float(digit) for digit in f"{number.value:0{bits.value}b}"]
    _shallow, _tree = shallow_parity(bits.value), parity_tree(bits.value)
    _u = torch.tensor([_bits])
    _answers = [int(net(_u).item()) for net in (_shallow, _tree)]
    _row = parity_sizes((bits.value,)).rows[0]
    kit.panel(
        kit.controls("Bits", bits, number),
        kit.row(
            kit.svg(
                network_of(_shallow, most=8),
                f"One hidden layer for the parity of {bits.value} bits: {_row[2]} hidden units, its answer is {_answers[0]}.",
                caption=f"one hidden layer: {_row[2]} units",
                width=250,
            ),
            kit.svg(
                network_of(_tree, most=8),
                f"The tree of XOR networks: {_row[4]} units in {_row[5]} layers, its answer is {_answers[1]}.",
                caption=f"tree of XOR networks: {_row[4]} units in {_row[5]} layers",
                width=560,
            ),
            least=250,
        ),
        kit.facts(
            bits=" ".join(str(int(b)) for b in _bits),
            parity=f"{_answers[0]} and {_answers[1]}",
            units_of_one_layer=_row[2],
            units_of_the_tree=_row[4],
            right_on_all_inputs=f"{_row[3]} and {_row[6]} of {_row[1]}",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    folds = kit.slider(1, 7, value=3, label="how often folded, $k$")
    kit.column(
        kit.prose(r"""
            The same with curves: a ReLU layer of two units can fold the interval once, $T(u) = 2\max\{u, 0\} - 4\max\{u - \frac12, 0\}$. Fold
            $k$ times, by $k$ layers, and the zigzag has $2^k$ straight pieces. In one hidden
            layer every corner needs a unit of its own, $2^k - 1$ of them, and one more unit gives the first piece its slope.
            $$T \circ T \circ \cdots \circ T: \qquad 2k \text{ units in } k \text{ layers}, \qquad \text{or } (2^k - 1) + 1 = 2^k \text{ units in one}$$
        """),
        kit.source(tent_map, linear_pieces),
    )
    return (folds,)


@app.cell(hide_code=True)
def _(folds):
    _deep, _wide = tent_map(folds.value), shallow_tent_map(folds.value)
    _x = torch.linspace(0, 1, 2 ** (folds.value + 2) + 1)[:, None]
    with torch.no_grad():
        _y = _deep(_x)[:, 0].tolist()
        _same = (_deep(_x) - _wide(_x)).abs().max().item()
    _pieces = linear_pieces(_deep)
    kit.panel(
        kit.controls("Folds", folds),
        kit.plot(
            f"A zigzag with {_pieces} linear pieces, made by {folds.value} layers of 2 units.",
            [Series("", _x[:, 0].tolist(), _y, "hidden")],
            x=("$u$", 0, 1),
            y=("", 0, 1),
            size=(470, 210),
        ),
        kit.facts(
            pieces=_pieces,
            corners=_pieces - 1,
            units_in_k_layers=2 * folds.value,
            units_in_one_layer=_wide.config.widths[1],
            largest_difference=_same,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose(
            "Depth suits functions that *are* compositions. Trained on the folded interval with equally many parameters, the deep network wins:"
        ),
        kit.recorded(
            "composition",
            "With equally many parameters the deep network ends at an error of {error[1]:.3f}, the wide one at {error[0]:.2f}; three layers of two units with given weights are the map itself.",
        ),
        kit.question(
            "How many layers of two units make a zigzag with more than a million pieces, and how wide would one layer have to be?",
            r"""Twenty: $2^{20} = 1\,048\,576$ pieces with 40 hidden units. One hidden layer needs $1\,048\,576$: one for each of
            the $1\,048\,575$ corners, and one for the slope of the first piece.""",
            options=("20", "1,000", "A million"),
            right=0,
            predict="How many layers of two units make more than a million straight pieces?",
        ),
        kit.section("Deep in practice", ids=("N2.21", "N2.24", "N2.25")),
        kit.prose(r"""
            On real tasks deep networks typically do better than shallow ones with as many parameters, though not on every task and not by
            much on small ones. We report what we measured, without a verdict:
        """),
        kit.question(
            "Compare the bars of each data set.",
            "No: on these small tasks both are equally good. Depth pays off where a task is made of parts, or is harder than this.",
            options=("Yes, clearly", "No"),
            right=1,
            predict="The small digits, equally many parameters: is a network with three hidden layers better than one with a single layer?",
        ),
        kit.recorded(
            "deep_and_shallow",
            "On the digits one hidden layer and three are equally good, {accuracy[0]:.1%} and {accuracy[1]:.1%}; on breast cancer the difference, {accuracy[2]:.1%} and {accuracy[3]:.1%}, is within the spread.",
        ),
        kit.prose(r"""
            Depth and width are hyperparameters: they are found by experiment, on validation data. Two spirals, all combinations; dark is
            a large validation loss:
            $$(L, n) \in \arg\min_{L,\, n} \; \mathscr{L}_{\text{validation}}\big(\theta^*(L, n)\big)$$
        """),
    )
    return


@app.cell(hide_code=True)
def _():
    _found = kit.recorded_result("depth_and_width")
    _rows = [list(row[1:]) for row in _found.rows]
    kit.recorded(
        "depth_and_width",
        "With 32 units every further layer helps, from a loss of {width 32[0]:.2f} to {width 32[2]:.4f}; with 2 units it hurts, from {width 2[0]:.2f} to {width 2[2]:.2f}.",
        picture=kit.svg(
            heat_map(
                _rows,
                (0.5, len(_rows[0]) + 0.5),
                (1.5, len(_rows) + 1.5),
                x_label=r"$\log_2$ of the width: 2, 4, 8, 16, 32",
                y_label="depth $L$",
                bar_label="validation loss",
                width=400,
                height=230,
            ),
            f"Validation loss over depth and width: {max(map(max, _rows)):.2f} for the worst network, {min(map(min, _rows)):.4f} for the best.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    deep = kit.slider(2, 30, value=20, label="depth $L$")
    kind = kit.dropdown(UNITS, value="sigmoid", label="activation")
    rule = kit.dropdown({"Xavier": "xavier", "He": "he"}, value="Xavier", label="initial weights")
    kit.column(
        kit.section("The price of depth: gradients that vanish", ids=("N2.22", "N2.23", "N2.25")),
        kit.prose(r"""
            The gradient of an early layer is a product with one factor for each layer behind it. The sigmoid contributes at most
            $\frac14$ to each factor, tanh at most 1, ReLU 0 or 1. Choose a depth and follow the gradient from the last layer to the first.
            $$\sigma'(y) = \sigma(y)\big(1 - \sigma(y)\big) \le \tfrac14, \qquad \frac{\partial \mathscr{L}}{\partial W^{[0]}} = \frac{\partial \mathscr{L}}{\partial y^{[L]}} \prod_{j=L}^{2} \mathrm{diag}\big(\sigma'(z^{[j]})\big) W^{[j-1]} \cdots$$
        """),
        kit.source(sigmoid_derivative, gradient_flow),
    )
    return deep, kind, rule


@app.cell(hide_code=True)
def _(deep, kind, rule):
    _net = build(
        "fnn", inputs=64, outputs=64, hidden=(64,) * (deep.value - 1), activation=kind.value, initialization=rule.value
    )
    _g = torch.Generator().manual_seed(1)
    _u, _s = torch.randn(64, 64, generator=_g), torch.randn(64, 64, generator=_g)
    _flow = gradient_flow(_net, _u, _s)
    _layers = [float(i + 1) for i in range(len(_flow.layers))]
    _states, _weights = ([getattr(x, name) for x in _flow.layers] for name in ("state_gradient", "weight_gradient"))
    _y = torch.linspace(-5, 5, 201, dtype=F64)
    _slopes = [
        Series(name, _y.tolist(), get_activation(key).derivative(_y).tolist(), color)
        for (name, key), color in zip(UNITS.items(), ("line2", "line1", "line3"), strict=True)
    ]
    kit.panel(
        kit.controls("Depth and activation", deep, kind, rule),
        kit.row(
            kit.plot(
                f"Gradients of {deep.value} layers of {kind.value}: the first weight gradient is {_flow.weight_ratio:.1e} of the last.",
                [
                    Series(r"$\|\partial L/\partial y^{[l]}\|$", _layers, _states, "line4"),
                    Series(r"$\|\partial L/\partial W^{[l-1]}\|$", _layers, _weights, "line3", "dashed"),
                ],
                x="layer $l$",
                log_y=True,
                y=("", 1e-18, 1e3),
                size=(400, 270),
            ),
            kit.plot(
                "The derivatives of sigmoid, tanh and ReLU: at most one quarter, at most 1, and 0 or 1.",
                _slopes,
                notes=[Note(0.0, 0.25, "at most 1/4", (46.0, -8.0))],
                x="$y$",
                y=(r"$\sigma'(y)$", -0.1, 1.1),
                size=(400, 270),
            ),
            least=300,
        ),
        kit.facts(first_weight_gradient=_weights[0], last=_weights[-1], ratio=_flow.weight_ratio),
        *(kit.note(words, "warn") for words in _flow.warnings),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("And this is what it does to training: two moons, width 32, networks of 2 and of 20 layers."),
        kit.recorded(
            "deep_training",
            "Twenty layers with the sigmoid stay at {accuracy[1]:.0%}; with tanh they learn the moons to {accuracy[2]:.1%}, with ReLU to {accuracy[3]:.1%}.",
        ),
        kit.question(
            "How deep may the sigmoid network be before the ratio of gradients falls below one in a million? And what about tanh?",
            """With the sigmoid and Xavier's weights it happens at 11 layers: every layer costs a factor of four or so. Tanh with Xavier's and ReLU with
            He's weights lose nothing in 30 layers: that is why they replaced the sigmoid inside networks.""",
            options=("About 11", "About 100", "About 1000"),
            right=0,
            predict="Every layer with the sigmoid costs a factor. After how many layers is a millionth of the gradient left?",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
