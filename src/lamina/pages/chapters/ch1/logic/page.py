import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="OR, AND and XOR")

with app.setup:
    import marimo as mo
    import torch

    from lamina.architectures.logic import logic_gate, pre_activations
    from lamina.classical.perceptron_rule import (
        TRUTH_TABLE_INPUTS,
        all_truth_tables,
        learn,
        reachable_truth_tables,
    )
    from lamina.data.synthetic import truth_table
    from lamina.drawing.charts import Series
    from lamina.drawing.network import network
    from lamina.experiments.figures_curves import separability
    from lamina.functional.activations import get_activation, heaviside
    from lamina.functional.dense import neuron
    from lamina.functional.random import as_generator
    from lamina.pages import kit
    from lamina.pages.chapters.ch1.logic._drawing import EDGE, half_planes, held_line

    F64 = torch.float64
    GATES = {"OR": "or", "AND": "and", "XOR": "xor"}
    INPUTS = torch.tensor(TRUTH_TABLE_INPUTS, dtype=F64)
    NAMED = {
        (0, 0, 0, 0): "never", (0, 0, 0, 1): "AND", (0, 1, 0, 0): "first, not second", (0, 1, 0, 1): "first",
        (0, 0, 1, 0): "second, not first", (0, 0, 1, 1): "second", (0, 1, 1, 0): "XOR", (0, 1, 1, 1): "OR",
        (1, 0, 0, 0): "neither", (1, 0, 0, 1): "equal (not XOR)", (1, 1, 0, 0): "not second", (1, 1, 0, 1): "second implies first",
        (1, 0, 1, 0): "not first", (1, 0, 1, 1): "first implies second", (1, 1, 1, 0): "not both", (1, 1, 1, 1): "always",
    }  # fmt: skip


@app.cell(hide_code=True)
def _(bias, first, gate, second):
    _W = torch.tensor([first.value, second.value], dtype=F64)
    _b = torch.tensor(bias.value, dtype=F64)
    _sums = neuron(INPUTS, _W, _b, get_activation("identity"))
    _answers = neuron(INPUTS, _W, _b, heaviside).int().tolist()
    _targets = truth_table(gate.value).targets.tolist()
    _wrong = sum(a != t for a, t in zip(_answers, _targets, strict=True))
    _rows = [
        (int(u[0]), int(u[1]), round(z, 10) + 0.0, a, t, "right" if a == t else "wrong")
        for u, z, a, t in zip(TRUTH_TABLE_INPUTS, _sums.tolist(), _answers, _targets, strict=True)
    ]
    _margin = _sums.abs().min().item()
    _plane, _hands = held_line(
        half_planes((first.value, second.value), bias.value, _targets, INPUTS.tolist()),
        (first.value, second.value), bias.value, ("weight-w-1", "weight-w-2", "bias-b"),
    )  # fmt: skip
    kit.lab(
        kit.controls("The line", gate, first, second, bias),
        kit.row(
            kit.svg(
                _plane,
                f"The four inputs and the line of the neuron for {gate.selected_key}: {_wrong} of 4 wrong.",
                caption="Drag the white discs: the one in the middle shifts the line, the other turns it.",
                hands=_hands,
            ),
            kit.table(
                ("y1", "y2", "sum", "answer", "wanted", ""), _rows, caption=f"{gate.selected_key}: what the neuron says"
            ),
            least=280,
        ),
        kit.facts(wrong=f"{_wrong} of 4", margin=round(_margin, 10)),
        kit.note("All four are right.", "good")
        if _wrong == 0
        else kit.note(f"{_wrong} of 4 answers are wrong.", "warn"),
        about="Two inputs, one decision",
    )
    return


@app.cell(hide_code=True)
def _():
    gate = kit.dropdown(GATES, value="OR", label="wanted")
    first = kit.slider(-2, 2, 0.1, value=1.0, label="weight $W_1$")
    second = kit.slider(-2, 2, 0.1, value=1.0, label="weight $W_2$")
    bias = kit.slider(-3, 3, 0.1, value=-1.0, label="bias $b$")
    kit.column(
        kit.section("Two inputs, one decision", ids=("N1.72", "N1.73", "N1.74", "N1.75", "N1.76")),
        kit.prose(r"""
            Write true as 1 and false as 0. A neuron with two inputs and the Heaviside function answers 1 exactly where its weighted sum
            reaches zero. The places where the sum is zero are a straight line, and the neuron fires on one side of it.
            $$y = H(W_1 y_1 + W_2 y_2 + b) = 1 \quad\Longleftrightarrow\quad W_1 y_1 + W_2 y_2 + b \ge 0$$
        """),
        kit.row(
            kit.svg(
                network((2, 1)),
                "A network with two inputs and one output: three parameters",
                caption="Two weights on the arrows, a bias in the output: three parameters.",
                width=420,
            ),
            kit.table(
                ("y1", "y2", "OR", "AND", "XOR"),
                [
                    (int(a), int(b), *(truth_table(gate).targets[i].item() for gate in GATES.values()))
                    for i, (a, b) in enumerate(TRUTH_TABLE_INPUTS)
                ],
                caption="Tables 1 and 2 of the notes, with AND between them",
            ),
            least=280,
        ),
        kit.prose(r"""
            The notes give $W_1 = W_2 = 1$ and $b = -1$ for OR. This is correct, but only just: for two of the four inputs the sum is exactly zero, and the
            answer rests on $H(0) = 1$ ([E21](/errata#E21)). With $b = -0.5$ every sum keeps a distance, the *margin*, from zero. For AND take
            $b = -2$, or with a margin $b = -1.5$. Move the line.
        """),
        kit.source(neuron, heaviside, logic_gate, pre_activations),
    )
    return bias, first, gate, second


@app.cell(hide_code=True)
def _():
    kit.question(
        r"With $W_1 = W_2 = 1$: for which biases is the neuron an OR, for which an AND, and which biases have the largest margin?",
        r"""OR for $-1 \le b < 0$, AND for $-2 \le b < -1$. The middle of each interval has the largest margin, one half: $b = -0.5$ and
        $b = -1.5$.""",
        options=("$-0.5$", "$-1.5$", "$-2$"),
        right=1,
        predict="With $W_1 = W_2 = 1$, which bias makes an AND with the largest margin?",
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("What no line can do", ids=("N1.77", "N1.78", "N1.79")),
        kit.prose(r"""
            XOR is true when exactly one input is. Choose it above and try: one answer stays wrong. It must, and four inequalities prove it. From
            the table, in the order $00, 10, 01, 11$:
            $$b < 0, \qquad W_1 + b \ge 0, \qquad W_2 + b \ge 0, \qquad W_1 + W_2 + b < 0$$
            Add the two inequalities in the middle: $W_1 + W_2 + 2b \ge 0$, so $W_1 + W_2 + b \ge -b > 0$. That contradicts the last one. In the picture: a line has
            two sides, and the true corners of XOR lie across from each other.
        """),
        kit.svg(separability(), "OR with a line between its values, and XOR, for which there is none", width=760),
        kit.prose(
            "A single neuron computes fourteen of the sixteen functions of two truth values. We tried all weights on a fine grid."
        ),
        kit.source(reachable_truth_tables),
    )
    return


@app.cell(hide_code=True)
def _():
    _found = reachable_truth_tables()
    _rows = [(*table, NAMED[table], "yes" if table in _found else "no") for table in all_truth_tables()]
    kit.column(
        kit.table(
            ("00", "10", "01", "11", "name", "one neuron?"),
            _rows,
            caption=f"{len(_found)} of {len(_rows)} functions are within reach",
        ),
        kit.question(
            "Which two are missing, and what do they have in common?",
            "XOR and its negation, *equal*: in both the true corners are opposite each other. Turning all answers around turns the line around, so a function and its negation are always both within reach or both out of reach.",
            options=("8", "14", "16"),
            right=1,
            predict="How many of the 16 truth tables of two inputs can one neuron compute?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    task = kit.dropdown(GATES, value="OR", label="function")
    start = kit.slider(0, 20, 1, value=1, label="which initial weights")
    rate = kit.steps([0.1, 0.2, 0.5, 1.0], value=0.5, label=r"size of a correction $\tau$")
    epoch = kit.slider(0, 30, 1, value=0, label="passes through the four examples")
    moves = kit.moved_points("moved inputs")
    measure = kit.experiment_button("Learn from ten starts")
    kit.column(
        kit.section("Learning the line", ids=("N1.80",)),
        kit.prose(r"""
            The derivative of Heaviside's function is zero, so gradients do not help. The **perceptron rule** needs none: go through the examples, and
            whenever the answer is wrong, move the weights by the input, towards the right side. If a line exists, this finds one after finitely many
            corrections. For XOR it goes on forever, unless you drag one of the four inputs so far that a line exists.
            $$W \leftarrow W + \tau\, \big(S(u) - y\big)\, u, \qquad b \leftarrow b + \tau\, \big(S(u) - y\big)$$
        """),
        kit.source(learn),
    )
    return epoch, measure, moves, rate, start, task


@app.cell(hide_code=True)
def _():
    kit.question(
        "Let the rule learn XOR and watch the line. Does it settle? How many answers are right at best?",
        """It never settles: each correction repairs one corner and breaks another. Three of four is the best possible, and it does occur along the way.
        With the logistic loss, which can be minimized, the neuron ends with all weights at zero: it answers one half to every input.""",
        options=("Two", "Three", "Four"),
        right=1,
        predict="How many of the four answers of XOR can one neuron get right?",
    )
    return


@app.cell(hide_code=True)
def _(epoch, moves, rate, start, task):
    _targets = truth_table(task.value).targets
    _first = torch.randn(3, generator=as_generator(start.value), dtype=F64)
    _settings = {"learning_rate": rate.value, "weight": _first[:2], "bias": _first[2].item()}
    _inputs, _refused = kit.taken(INPUTS, moves.value)
    _whole = learn(_inputs, _targets.double(), epochs=30, **_settings)
    _now = learn(_inputs, _targets.double(), epochs=epoch.value, **_settings) if epoch.value else None
    _W, _b = (_first[:2], _first[2].item()) if _now is None else (_now.weight, _now.bias.item())
    _errors = _whole.errors.tolist()
    _errors += [_errors[-1]] * (31 - len(_errors))
    _curve = kit.chart(
        [Series("wrong answers", list(range(31)), _errors, "line6", "step", size=2.0)],
        [Series("", [epoch.value], [_errors[epoch.value]], "line2", "ring", size=6.0)],
        x=("passes", 0, 30),
        y=("", 0, 4),
        size=(330, 330),
    )
    _scene = half_planes(tuple(_W.tolist()), _b, _targets.tolist(), _inputs.tolist())
    _hands = kit.data_hands(
        _scene, _inputs.tolist(), EDGE, EDGE, into="moved-inputs", follow="rule", targets=_targets.tolist(),
        weight=_first[:2].tolist(), bias=_first[2].item(), rate=rate.value, epochs=epoch.value, edge=EDGE,
    )  # fmt: skip
    _said = (
        f"without error after {len(_whole.errors) - 1} passes" if _whole.converged else "still wrong after 30 passes"
    )
    kit.panel(
        kit.controls("The perceptron rule", task, start, rate, epoch, moves, *_refused),
        kit.row(
            kit.svg(
                _scene,
                f"The line for {task.selected_key} after {epoch.value} passes: {_errors[epoch.value]} of 4 wrong.",
                caption="Drag an input: the neuron learns again, from the same first weights.",
                hands=_hands,
            ),
            kit.svg(_curve, f"Wrong answers over the passes: {_said}."),
            least=280,
        ),
        kit.facts(W_1=_W[0].item(), W_2=_W[1].item(), b=_b, wrong=f"{_errors[epoch.value]} of 4"),
    )
    return


@app.cell(hide_code=True)
def _(measure):
    kit.measured(
        measure,
        "N1.80",
        "From ten starts each, OR and AND end with {errors at end[0]} errors; XOR ends with up to {errors at end[4]} under the perceptron rule, and never has fewer than {fewest[4]}.",
        "This is a recorded run; press the button to learn again with the rule and with the logistic loss (about two seconds).",
    )
    return


@app.cell(hide_code=True)
def _():
    robust = mo.ui.switch(value=True, label="biases with a margin")
    push = kit.slider(-0.6, 0.6, 0.05, value=0.0, label="error added to every input")
    kit.column(
        kit.section("Two lines and a third neuron", ids=("N1.81", "N1.83")),
        kit.prose(r"""
            XOR means *OR, but not both*. Each of the two is one line, and AND joins them: two neurons, whose answers a third one reads. A layer
            between input and output does what no single layer can, and that is where chapter 2 begins. The notes call a network
            *shallow* when it has only one layer, like the perceptron; elsewhere the word means one hidden layer
            ([E22](/errata#E22)), so we say perceptron, one hidden layer, or deep.
            $$\text{XOR}(y_1, y_2) = \text{AND}\big(\text{OR}(y_1, y_2),\; \text{NAND}(y_1, y_2)\big)$$
        """),
        kit.source(logic_gate),
    )
    return push, robust


@app.cell(hide_code=True)
def _():
    kit.question(
        "Switch the margin off and add the smallest error. What breaks, and how much error do the biases with a margin tolerate?",
        r"""With the printed biases half of the sums are exactly zero, and an error of $-0.05$ in the inputs flips several answers. The
        margin is one half in sums of two inputs each, so errors below 0.25 do no harm.""",
        options=("Below 0.05", "Below 0.25", "Below 0.5"),
        right=1,
        predict="How large may errors in the inputs be before the network with a margin fails?",
    )
    return


@app.cell(hide_code=True)
def _(push, robust):
    _parts = {name: logic_gate(name, robust=robust.value).double() for name in ("or", "nand", "xor")}
    _inputs = INPUTS + push.value
    _said = {name: each(_inputs).flatten().int().tolist() for name, each in _parts.items()}
    _wanted = truth_table("xor").targets.tolist()
    _rows = [
        (int(a), int(b), o, n, x, "right" if x == t else "wrong")
        for (a, b), o, n, x, t in zip(
            TRUTH_TABLE_INPUTS, _said["or"], _said["nand"], _said["xor"], _wanted, strict=True
        )
    ]
    _wrong = sum(row[-1] == "wrong" for row in _rows)
    _margin = pre_activations("xor", robust=robust.value).abs().min().item()
    kit.panel(
        kit.controls("The network for XOR", robust, push),
        kit.row(
            kit.svg(network((2, 2, 1)), "A network with two inputs, two hidden nodes and one output", width=420),
            kit.table(
                ("y1", "y2", "OR", "NAND", "XOR", ""),
                _rows,
                caption=f"Two hidden neurons and their AND: {4 - _wrong} of 4 right",
            ),
            least=280,
        ),
        kit.facts(right=f"{4 - _wrong} of 4", margin=_margin),
    )
    return


if __name__ == "__main__":
    app.run()
