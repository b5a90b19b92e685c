import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="The perceptron")

with app.setup:
    import marimo as mo
    import torch

    from lamina.classical.descent import descend, learning_problem
    from lamina.drawing.charts import Note, Series
    from lamina.drawing.neuron import neuron as nerve_cell
    from lamina.experiments.activations import activation_cost
    from lamina.functional.activations import ACTIVATIONS, get_activation, leaky_relu, leaky_relu_derivative
    from lamina.functional.dense import affine, collapse_affine, neuron
    from lamina.functional.losses import mse_half
    from lamina.pages import kit
    from lamina.pages.chapters.ch1.perceptron._drawing import live_neuron

    NAMES = {"Heaviside": "heaviside", "sigmoid": "sigmoid", "tanh": "tanh", "ReLU": "relu", "leaky ReLU": "leaky_relu"}


@app.cell(hide_code=True)
def _(bias, fires, inputs, weights):
    _u, _W = (torch.tensor(sliders.value, dtype=torch.float64) for sliders in (inputs, weights))
    _b = torch.tensor(bias.value, dtype=torch.float64)
    # The sliders are decimal numbers: a sum that is 0 must not fire or be silent by the rounding of binary ones.
    _z = round(neuron(_u, _W, _b, get_activation("identity")).item(), 9)
    _y = get_activation(fires.value)(torch.tensor(_z, dtype=torch.float64)).item()
    kit.lab(
        kit.controls("Inputs, weights, bias and activation", *inputs.elements, *weights.elements, bias, fires),
        kit.svg(
            live_neuron(_u.tolist(), _W.tolist(), bias.value, _z, _y, fires.selected_key),
            f"A neuron with three inputs: the weighted sum is {_z:.2f}, the answer is {_y:.2f}.",
            caption="Three inputs, one output: the drawing from the notes with your numbers on it. Red arrows add, blue ones take away.",
        ),
        kit.facts(sum_z=_z, answer_y=_y, parameters=len(_W) + 1),
        about="From a nerve cell to a formula",
    )
    return


@app.cell(hide_code=True)
def _():
    inputs = mo.ui.array(
        [kit.slider(-2, 2, 0.1, value=v, label=f"input $u_{i}$") for i, v in enumerate((1.0, 0.5, -1.0), 1)]
    )
    weights = mo.ui.array(
        [kit.slider(-3, 3, 0.1, value=v, label=f"weight $W_{i}$") for i, v in enumerate((1.0, -2.0, 0.5), 1)]
    )
    bias = kit.slider(-3, 3, 0.1, value=0.5, label="bias $b$")
    fires = kit.dropdown(NAMES, value="Heaviside", label="activation")
    kit.column(
        kit.section("From a nerve cell to a formula", ids=("N1.01", "N1.02", "N1.03")),
        kit.prose(r"""
            A nerve cell collects signals through its dendrites, and when enough has come together it sends one itself,
            through its axon. A human brain has about 86 billion such cells. The **perceptron** keeps three of these ingredients: inputs $u_i$, a weight $W_i$ for each of them, and a threshold that the bias $b$ sets. Its answer $y$
            is called the activation of the node.
        """),
        kit.svg(
            nerve_cell(), "A nerve cell: dendrites on the left receive signals, the axon carries them away", width=620
        ),
        kit.formula(
            r"y = \sigma\Big(\sum_{i=1}^{n} W_i u_i + b\Big) = \sigma(W^\top u + b), \qquad u, W \in \mathbb{R}^n, \; b \in \mathbb{R}"
        ),
        kit.source(neuron),
    )
    return bias, fires, inputs, weights


@app.cell(hide_code=True)
def _():
    kit.question(
        r"At the start the sum is exactly 0 and the neuron fires. Which way must each of the seven sliders go to silence it with a single step?",
        r"""The sum is $1 \cdot 1 + 0.5 \cdot (-2) + (-1) \cdot 0.5 + 0.5 = 0$, and Heaviside is 1 from 0 on, so anything that takes a little
        away silences it. One step is enough for every slider: $b$, $W_1$ and $W_2$ down, $W_3$ up, because its input is negative; $u_1$ and $u_3$ down,
        $u_2$ up, because its weight is negative. In the other direction each of them leaves the neuron firing.""",
        options=("Up", "Down", "Either"),
        right=0,
        predict="At the start the sum is exactly 0 and the neuron fires. A single step of $W_3$ silences it. In which direction?",
    )
    return


@app.cell(hide_code=True)
def _():
    shape = kit.dropdown(NAMES, value="sigmoid", label="activation")
    place = kit.slider(-5, 5, 0.1, value=1.5, label="where, $y$")
    alpha = kit.slider(0, 0.9, 0.05, value=0.1, label=r"slope $\alpha$ of leaky ReLU")
    kit.column(
        kit.section(
            "Activation functions",
            ids=(
                "N1.04",
                "N1.05",
                "N1.06",
                "N1.07",
                "N1.08",
                "N1.09",
                "N1.10",
                "N1.12",
                "N1.14",
                "N1.15",
                "N1.16",
                "N1.17",
                "N1.18",
            ),
        ),
        kit.prose(r"""
            An activation function usually grows with its input, and all but Heaviside's are continuous. Learning needs one
            more thing: a derivative that is not zero, because every step of learning is multiplied by it. Move the
            point along the curve and watch the slope.
        """),
        kit.row(
            kit.formula(r"H(y) = \begin{cases} 1 & y \ge 0 \\ 0 & y < 0 \end{cases}", "Heaviside: fires or not"),
            kit.formula(r"\frac{1}{1 + e^{-y}}", "sigmoid: a smooth Heaviside"),
            kit.formula(r"\frac{e^{y} - e^{-y}}{e^{y} + e^{-y}}", "tanh: near the identity around 0"),
            kit.formula(r"\max\{y, 0\}", "ReLU: cheap, unbounded above"),
            kit.formula(
                r"\max\{\alpha y, y\}", r"leaky ReLU: keeps a slope $0 \le \alpha < 1$ below 0 ([E44](/errata#E44))"
            ),
            least=210,
        ),
        kit.source(*(ACTIVATIONS[name].function for name in NAMES.values())),
    )
    return alpha, place, shape


@app.cell(hide_code=True)
def _():
    kit.question(
        "For which of the five functions does learning stop when a unit is far on the negative side, and for which does it never start at all?",
        r"""The slope of sigmoid and tanh fades on both sides, that of ReLU is exactly 0 on the negative side: a unit there no longer receives
        any signal. Leaky ReLU keeps the slope $\alpha$. Heaviside has slope 0 everywhere, so gradients never move it ([E45](/errata#E45)). At the corner
        of ReLU, $y = 0$, there is no derivative; we take 0, as PyTorch does, and in practice it does not matter.""",
        options=("Heaviside", "ReLU", "tanh"),
        right=0,
        predict="Which of the five cannot be trained by gradients at all?",
    )
    return


@app.cell(hide_code=True)
def _(alpha, place, shape):
    def _pair(y):
        if shape.value == "leaky_relu":
            return leaky_relu(y, alpha.value), leaky_relu_derivative(y, alpha.value)
        sigma = get_activation(shape.value)
        return sigma(y), sigma.derivative(y)

    _x = torch.linspace(-5, 5, 401, dtype=torch.float64)
    _value, _slope = _pair(_x)
    _jump = _x.tolist().index(min(_x.tolist(), key=abs)) if shape.value == "heaviside" else None
    _drawn = [None if i == _jump else v for i, v in enumerate(_value.tolist())]
    _y, _d = (t.item() for t in _pair(torch.tensor(place.value, dtype=torch.float64)))
    _scene = kit.plot(
        f"The function {shape.selected_key} and its derivative; at {place.value:.1f} they are {_y:.3f} and {_d:.3f}.",
        lines=[
            Series(shape.selected_key, _x.tolist(), _drawn, "activation"),
            Series("its derivative", _x.tolist(), _slope.tolist(), "line5", "dashed"),
        ],
        points=[Series("", [place.value], [_y], "activation"), Series("", [place.value], [_d], "line5")],
        title="",
        x=("$y$", -5, 5),
        y=("", -1.5, 1.5),
        size=(430, 270),
    )
    kit.panel(
        kit.controls("Activation and place", shape, place, *([alpha] if shape.value == "leaky_relu" else [])),
        _scene,
        kit.facts(value=_y, slope=_d),
    )
    return


@app.cell(hide_code=True)
def _():
    _x = torch.linspace(-5, 5, 201, dtype=torch.float64)

    def _small(title, name):
        ys = [
            None if name == "heaviside" and abs(x) < 1e-9 else y
            for x, y in zip(_x.tolist(), get_activation(name)(_x).tolist(), strict=True)
        ]
        return kit.chart(
            lines=[Series("", _x.tolist(), ys, "activation")],
            title=title,
            x=("", -5, 5),
            y=("", -1.5, 1.5),
            size=(210, 170),
        )

    kit.row(*(kit.svg(_small(title, name), f"The graph of {title}") for title, name in NAMES.items()), least=190)
    return


@app.cell(hide_code=True)
def _():
    bend = kit.dropdown(
        {"none (identity)": "identity", **NAMES}, value="none (identity)", label="activation between the layers"
    )
    shift = kit.slider(-2, 2, 0.1, value=1.0, label="bias of the second unit")
    kit.column(
        kit.section("Why it must not be a straight line", ids=("N1.11",)),
        kit.prose(r"""
            Put one layer after another without an activation between them, and you have gained nothing: two affine maps
            in a row are one affine map (the notes say linear, which leaves out the biases: [E09](/errata#E09)). The library can compute which one. Switch the activation on, and the same
            weights bend.
            $$W^{[1]}\big(W^{[0]} u + b^{[0]}\big) + b^{[1]} = \big(W^{[1]} W^{[0]}\big)\, u + \big(W^{[1]} b^{[0]} + b^{[1]}\big)$$
        """),
        kit.source(collapse_affine),
    )
    return bend, shift


@app.cell(hide_code=True)
def _():
    kit.question(
        "Choose each activation in turn and read the largest difference. When is it zero?",
        "Only without an activation; then the two curves coincide, whatever the bias is. Any bend makes them differ.",
        options=("Not at all", "A little", "It depends on the bias"),
        right=0,
        predict="Two layers without an activation between them: how far are they from one affine map?",
    )
    return


@app.cell(hide_code=True)
def _(bend, shift):
    _W = [
        torch.tensor([[1.0], [-1.0], [0.5]], dtype=torch.float64),
        torch.tensor([[1.0, 1.5, -1.0]], dtype=torch.float64),
    ]
    _b = [torch.tensor([0.0, shift.value, -1.0], dtype=torch.float64), torch.tensor([-0.5], dtype=torch.float64)]
    _x = torch.linspace(-3, 3, 301, dtype=torch.float64)
    _hidden = get_activation(bend.value)(affine(_x[:, None], _W[0], _b[0]))
    _curve = affine(_hidden, _W[1], _b[1])[:, 0]
    _one, _off = collapse_affine(_W, _b)
    _line = affine(_x[:, None], _one, _off)[:, 0]
    _scene = kit.plot(
        f"Two layers with {bend.selected_key} between them, and the single affine map they would be without.",
        lines=[
            Series("two layers", _x.tolist(), _curve.tolist(), "hidden", size=3.0),
            Series("the one affine map", _x.tolist(), _line.tolist(), "line5", "dashed"),
        ],
        x="$u$",
        y=("", -4, 4),
        size=(430, 250),
    )
    kit.panel(
        [bend, shift],
        _scene,
        kit.facts(slope=_one.item(), offset=_off.item(), largest_difference=(_curve - _line).abs().max().item()),
    )
    return


@app.cell(hide_code=True)
def _():
    measure = kit.experiment_button("Measure")
    kit.column(
        kit.section("What an activation costs", ids=("N1.13",)),
        kit.prose("""
            We count the operations in the formulas above: sigmoid and tanh need the exponential function; the others only compare
            and multiply. Times depend on the machine ([E62](/errata#E62)), so measure them on yours.
        """),
        kit.source(activation_cost),
    )
    return (measure,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Press the button a few times. Is the price of the exponential function always the same?",
        """The counts never change, the times do: they depend on the machine and on what else it is doing. For many numbers at once the
        memory is slower than the arithmetic, and the difference may vanish.""",
        options=("The count", "The time", "Both"),
        right=1,
        predict="Count and time: which of them changes from one measurement to the next?",
    )
    return


@app.cell(hide_code=True)
def _(measure):
    kit.measured(
        measure,
        "N1.13",
        "tanh needs {operations[4]} operations, {exp[4]} of them exponentials, and takes {microseconds[4]:.0f} µs for 10,000 numbers; ReLU needs {operations[1]} and takes {microseconds[1]:.0f} µs.",
        "This was recorded on another machine; press the button to measure on yours.",
        numbers=10_000,
        repeats=9,
    )
    return


@app.cell(hide_code=True)
def _():
    steps = kit.slider(0, 200, 1, value=20, label="steps")
    rate = kit.steps([0.1, 0.3, 1.0, 3.0, 10.0, 30.0], value=3.0, label=r"step size $\tau$")
    moves = kit.moved_points()
    kit.column(
        kit.section("What learning means", ids=("N1.19", "N1.20")),
        kit.prose(r"""
            Learning is a search for weights and biases that make a loss $\mathscr{L}$ small. The loss compares the answers
            with what they should be (*supervised*: somebody has told us $S(u)$), or it measures something about the inputs
            alone (*unsupervised*, as in clustering).
        """),
        kit.formula(
            r"\min_{W, b} \; \mathscr{L}(y, u, W, b) \quad \text{subject to} \quad y = \mathcal{F}(u, W, b)",
            "the learning problem (P)",
        ),
        kit.prose(r"""
            Here a single neuron with the sigmoid should answer 0 below 1 and 1 above it. The loss is half the mean squared
            error, and gradient descent takes the steps. Drag one of the points, and the neuron learns again.
        """),
        kit.source(learning_problem, descend),
    )
    return moves, rate, steps


@app.cell(hide_code=True)
def _():
    kit.question(
        r"How large can the step size be before it does harm? And what happens to $W$ when you allow many steps?",
        r"""With $\tau = 30$ the first steps overshoot and the loss jumps. With enough steps $W$ keeps growing: the steeper the sigmoid,
        the closer it comes to the step that was wanted, and no finite weight is the best one.""",
        options=("It settles", "It keeps growing", "It returns to 0"),
        right=1,
        predict="What happens to the weight $W$ when many steps are allowed?",
    )
    return


@app.cell(hide_code=True)
def _(moves, rate, steps):
    _u = torch.linspace(-1, 3, 21, dtype=torch.float64)
    _points, _refused = kit.taken(torch.stack([_u, get_activation("heaviside")(_u - 1)], 1), moves.value)
    _u, _s = _points.T
    _problem = learning_problem(
        lambda p, u: neuron(u[:, None], p["W"], p["b"], get_activation("sigmoid"))[:, None], mse_half, _u, _s[:, None]
    )
    _start = {"W": torch.zeros(1, dtype=torch.float64), "b": torch.tensor(0.0, dtype=torch.float64)}
    _found = descend(_problem, _start, rate.value, steps.value)
    _x = torch.linspace(-1, 3, 161, dtype=torch.float64)
    _y = neuron(_x[:, None], _found.params["W"], _found.params["b"], get_activation("sigmoid"))
    _scene = kit.chart(
        [Series("answer $y$", _x.tolist(), _y.tolist(), "output", titles=["the answer"])],
        [Series("wanted $S(u)$", _u.tolist(), _s.tolist(), "ink", "ring", titles=kit.point_titles(len(_u)))],
        x=("$u$", -1, 3),
        y=("", -0.1, 1.1),
        size=(330, 230),
    )
    _hands = kit.data_hands(
        _scene,
        _points.tolist(),
        (-1, 3),
        (-0.1, 1.1),
        follow="neuron",
        rate=rate.value,
        steps=steps.value,
        ends=[-1, 3],
    )
    _answers = kit.svg(_scene, "The answer of the neuron over its input, and what was wanted", hands=_hands)
    _losses = kit.plot(
        f"The loss over the steps, {_found.losses[-1].item():.4f} at the end",
        lines=[Series("loss", list(range(steps.value + 1)), _found.losses.tolist(), "line1")],
        notes=[Note(steps.value, _found.losses[-1].item(), f"{_found.losses[-1].item():.4f}", anchor="end")],
        x=("step", 0, max(1, steps.value)),
        y=("", 0, 0.3),
        size=(330, 230),
    )
    kit.panel(
        [steps, rate, moves, *_refused],
        kit.row(_answers, _losses),
        kit.facts(weight_W=_found.params["W"].item(), bias_b=_found.params["b"].item(), loss=_found.losses[-1].item()),
    )
    return


if __name__ == "__main__":
    app.run()
