import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Feedforward playground")

with app.setup:
    from itertools import pairwise

    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina.architectures.fnn import FNN
    from lamina.architectures.logic import TRUTH_INPUTS, TRUTH_TABLES, logic_gate, pre_activations
    from lamina.architectures.python_code import python_code
    from lamina.backprop.backpropagation import objective
    from lamina.drawing.network import network
    from lamina.functional.dense import affine, collapse_affine, depth, feedforward, is_deep, layer, parameter_count
    from lamina.inspection.gradient_flow import gradient_flow
    from lamina.pages import kit
    from lamina.pages.chapters.ch2.playground._setup import (
        DATA,
        OPTIMIZERS,
        STARTS,
        Setup,
        Table,
        problem,
        read_columns,
    )
    from lamina.pages.chapters.ch2.playground._work import first_view, learn

    ACTIVATIONS = {"tanh": "tanh", "ReLU": "relu", "leaky ReLU": "leaky_relu", "sigmoid": "sigmoid", "none": "identity"}


@app.cell(hide_code=True)
def _(dock, go, setup, training, trouble):
    def _draw(job):
        row = job.rows[-1] if job.rows else first_view(setup)
        given = problem(setup)
        score = "accuracy" if given.classes else "squared error"
        numbers = row["numbers"]
        facts = {
            "epoch": f"{row['epoch']} of {setup.epochs}",
            "training_loss": "–" if numbers[1] is None else numbers[1],
            "validation_loss": "–" if numbers[2] is None else numbers[2],
            f"validation_{score}".replace(" ", "_"): "–" if numbers[4] is None else numbers[4],
            "first / last gradient": row["first"] / row["last"] if row["last"] else "–",
        }
        said = [kit.note(words, "warn") for words in row["warnings"]]
        if row["bad_step"] is not None:
            said.append(
                kit.note(
                    f"The loss has not been a number since step {row['bad_step']}: choose a smaller learning rate.",
                    "bad",
                )
            )
        if job.state == "failed":
            said.append(kit.note(job.words, "bad"))
        if given.note:
            said.append(kit.note(given.note))
        words = f"epoch {row['epoch']}" + ("" if numbers[4] is None else f", validation {score} {numbers[4]:.3f}")
        return kit.lab(
            dock,
            kit.svg(
                row["surface"],
                f"The decision surface: {words}",
                width=900,
                caption="Filled points teach, rings validate. Drag one, and it learns again.",
                hands=row["hands"],
            ),
            kit.svg(
                row["network"],
                f"The network with its weights and what each node answers: {words}",
                width=round(1.8 * row["width"]),
            ),
            kit.svg(row["losses"], f"The losses over the epochs: {words}", width=640),
            kit.svg(
                row["flow"],
                f"Gradients by layer: the state gradient of the first layer is {row['ratio']:.2g} of the last",
                width=640,
            ),
            kit.facts(**facts),
            kit.progress(row["epoch"] / setup.epochs, job.words),
            *said,
            play=go,
            about="Playground",
        )

    kit.lab(dock, kit.note(trouble, "bad")) if trouble else training.show(_draw, running=go, setup=setup)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Playground", ids=("N2.11", "N2.24")),
        kit.prose(r"""
            Build a network above, press *Learn*, and watch; *Step* continues by one epoch. The plane is colored by the predicted class, filled points are
            used for training, rings for validation; drag one, and the network learns with it from the beginning. Every node of the network shows what *it* answers over the plane, red above
            zero and blue below; every arrow is a weight. At the bottom right you see how much of the gradient reaches each layer:
            a curve that falls towards layer 1 is a network whose first layers hardly learn. Change a setting while it runs,
            and it starts again. Nobody can tell you which depth and width are best for your data: you find out by trying.
        """),
        kit.source(gradient_flow, python_code),
    )
    return


@app.cell(hide_code=True)
def _():
    data = kit.dropdown(DATA, value="two moons", label="data")
    count = kit.steps([40, 100, 200, 300, 600, 1000], value=300, label="points")
    noise = kit.slider(0.0, 0.5, 0.02, value=0.1, label="noise")
    seed = kit.slider(0, 20, value=0, label="seed")
    layers = kit.slider(0, 6, value=2, label="hidden layers")
    width = kit.slider(1, 12, value=6, label="nodes in each")
    bends = kit.dropdown(ACTIVATIONS, value="tanh", label="activation")
    start = kit.dropdown(list(STARTS), value="what suits the activation", label="initial weights")
    normalized = mo.ui.switch(label="batch normalization")
    drop = kit.slider(0.0, 0.8, 0.1, value=0.0, label="dropout")
    method = kit.dropdown(list(OPTIMIZERS), value="Adam", label="optimizer")
    rate = kit.steps(
        [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0], value=0.01, label=r"learning rate $\tau$"
    )
    batch = kit.steps([1, 5, 10, 20, 30, 50, 100, 200], value=30, label="batch size")
    penalty = kit.steps([0.0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1], value=0.0, label=r"penalty $\lambda$")
    norm = kit.dropdown({"squares": 2, "absolute values": 1}, value="squares", label="penalty of")
    epochs = kit.steps([50, 100, 300, 1000, 3000], value=300, label="epochs")
    go = kit.play("Learn")
    training = kit.train(learn, keep="last")
    upload = mo.ui.file(
        filetypes=[".csv", ".tsv", ".parquet"],
        kind="area",
        label="your table (CSV): two columns of numbers, one target",
    )
    return (
        batch, bends, count, data, drop, epochs, go, layers, method, noise, norm, normalized, penalty, rate, seed, start,
        training, upload, width,
    )  # fmt: skip


@app.cell(hide_code=True)
def _(data, upload):
    columns, guess, complaint = (), "", ""
    if data.value == "" and upload.value:
        try:
            columns, guess = read_columns(upload.value[0])
        except LaminaError as error:
            complaint = str(error)
    _names = [*columns, guess] if columns else ["-"]
    target = kit.dropdown(_names, value=_names[-1], label="target")
    across = kit.dropdown(_names[:-1] or _names, value=_names[0], label="horizontal")
    up = kit.dropdown(_names[:-1] or _names, value=_names[1] if len(_names) > 2 else _names[0], label="vertical")
    return across, columns, complaint, target, up


@app.cell(hide_code=True)
def _(across, count, data, noise, seed, target, up):
    _data = across.value, count.value, data.value, noise.value, seed.value, target.value, up.value
    moves = kit.moved_points()  # other data begin with no point moved
    return (moves,)


@app.cell(hide_code=True)
def _(
    across, batch, bends, columns, complaint, count, data, drop, epochs, layers, method, moves, noise, norm, normalized,
    penalty, rate, seed, start, target, up, upload, width,
):  # fmt: skip
    if data.value:
        _source = [count, noise]
    elif columns:
        _source = [upload, target, across, up]
    else:
        _source = [
            upload,
            kit.note(complaint or "Choose a file; until then you see the two moons.", "bad" if complaint else "plain"),
        ]
    dock = kit.controls(
        "Data, network and training",
        kit.card("Data", kit.column(data, *_source, seed, moves)),
        kit.card("Network", kit.column(layers, width, bends, start, normalized, drop)),
        kit.card("Training", kit.column(method, rate, batch, penalty, norm, epochs)),
    )
    return (dock,)


@app.cell(hide_code=True)
def _(
    across, batch, bends, columns, count, data, drop, epochs, layers, method, moves, noise, norm, normalized, penalty,
    rate, seed, start, target, up, upload, width,
):  # fmt: skip
    _table = None
    if data.value == "" and columns and target.value != "-":
        _file = upload.value[0]
        _table = Table(_file.name, _file.contents, target.value, across.value, up.value)
    setup = Setup(
        data=data.value or "moons",
        count=count.value,
        noise=noise.value,
        table=_table,
        moved=moves.value,
        hidden=(width.value,) * layers.value,
        activation=bends.value,
        start=start.value,
        batch_norm=normalized.value,
        dropout=drop.value,
        optimizer=method.value,
        learning_rate=rate.value,
        batch_size=batch.value,
        penalty=penalty.value,
        norm=norm.value,
        epochs=epochs.value,
        seed=seed.value,
    )
    trouble = ""
    try:
        problem(setup)
    except LaminaError as error:
        trouble = str(error)
    return setup, trouble


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("The network as Python code", level=3),
        kit.prose(r"""
            Press *Pause*, or wait for the end, and take the network with you: a program that needs only PyTorch, contains
            the weights, prepares points as the playground does and gives the same probabilities.
        """),
    )
    return


@app.cell(hide_code=True)
def _():
    export = kit.button("Write the code of the network above")
    kit.column(export)
    return (export,)


@app.cell(hide_code=True)
def _(export, setup, training, trouble):
    _made = ()
    if export.value and not trouble:
        _row = training.last(setup=setup) or first_view(setup)
        _made = (
            mo.download(
                _row["code"].encode(), filename="network.py", mimetype="text/x-python", label="Download network.py"
            ),
            kit.note(
                f"The network after epoch {_row['epoch']}: {_row['code'].count(chr(10))} lines. Press the button again for a later one."
            ),
            kit.prose("```python\n" + _row["code"] + "\n```"),
        )
    kit.column(*_made)
    return


@app.cell(hide_code=True)
def _():
    kit.question(
        """Take two spirals: what is the smallest network that separates them? Then choose *sigmoid* with six hidden layers and look at
        the gradients. What do the warnings advise, and does it help?""",
        """Without a hidden layer the border is a line and the accuracy about 0.65. One layer of 12 nodes with tanh gets about 85% right, two layers of 8 get
        almost everything right in 300 epochs and everything in 1000. Six sigmoid layers send the first layer less than a thousandth of the gradient of the last, and the
        result is no better than without hidden layers. ReLU, as the warning advises, separates the spirals with the same six layers.""",
        options=("Better than two layers", "No better than without hidden layers"),
        right=1,
        predict="Six hidden sigmoid layers on two spirals. How well do they learn?",
    )
    return


@app.cell(hide_code=True)
def _():
    sizes = mo.ui.array(
        [
            kit.slider(1, 6, value=3, label="inputs $n_0$"),
            kit.slider(0, 5, value=3, label="hidden layers, $L - 1$"),
            kit.slider(1, 8, value=5, label="nodes in each, $n_l$"),
            kit.slider(1, 4, value=1, label="outputs $n_L$"),
        ]
    )
    kit.column(
        kit.section(
            "Layers",
            ids=("N2.01", "N2.02", "N2.03", "N2.04", "N2.05", "N2.07", "N2.12", "N2.13"),
        ),
        kit.prose(r"""
            Put perceptrons next to each other and you have a layer; put layers one after another and you have a
            **feedforward network** (FNN). Layer 0 is the input, layer $L$ the output, those in between are hidden. $L$ is the
            *depth* (the input does not count), the number $n_l$ of nodes the *width* of layer $l$. With two hidden layers
            or more the network is called *deep*. Matrix $W^{[l]}$ and vector $b^{[l]}$ lead from layer $l$ to layer $l+1$,
            and $\sigma$ acts on each component alone.
        """),
        kit.formula(
            r"y^{[l]} = \sigma^{[l]}\big(W^{[l-1]} y^{[l-1]} + b^{[l-1]}\big), \quad l = 1, \ldots, L, \qquad W^{[l]} \in \mathbb{R}^{n_{l+1} \times n_l}, \; b^{[l]} \in \mathbb{R}^{n_{l+1}}",
            r"one layer; $y^{[0]} = u$, and $y^{[l]}$ is the feature vector of layer $l$",
        ),
        kit.row(
            kit.formula(
                r"\mathcal{F} = f_L \circ f_{L-1} \circ \cdots \circ f_1",
                "the network is the composition of its layers (printed in the notes with one layer missing, [E03](/errata#E03))",
            ),
            kit.formula(
                r"n_0 n_1 + \cdots + n_{L-1} n_L + n_1 + \cdots + n_L",
                r"how many numbers $\theta$ holds: weights, then biases",
            ),
            least=320,
        ),
        kit.prose(r"""
            The last layer is often left linear, $y^{[L]} = W^{[L-1]} y^{[L-1]}$, usually with a bias ([E23](/errata#E23)): it sets the number of
            outputs and frees them from the range of $\sigma$.
        """),
        kit.source(layer, feedforward, parameter_count, FNN),
    )
    return (sizes,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Start from 3-5-5-5-1 with its 86 parameters. What adds more: a fourth hidden layer of 5 nodes, or one more node in each of the three?",
        r"""Almost the same: 3-5-5-5-5-1 has $86 + 5 \cdot 5 + 5 = 116$, and 3-6-6-6-1 has $24 + 42 + 42 + 7 = 115$. The products of
        neighboring widths are what counts: double all widths and the parameters almost quadruple.""",
        options=("A fourth layer of 5 nodes", "One more node in each layer", "Almost the same"),
        right=2,
        predict="What adds more parameters?",
    )
    return


@app.cell(hide_code=True)
def _(sizes):
    _inputs, _layers, _each, _outputs = sizes.value
    _widths = (_inputs, *(_each,) * _layers, _outputs)
    _words = "-".join(map(str, _widths))
    kit.panel(
        kit.controls("Widths of the layers", *sizes.elements),
        kit.svg(
            network(_widths),
            f"The network {_words}: depth {depth(_widths)}, {parameter_count(_widths)} parameters.",
            caption="Fig. 11 of the notes is 3-5-5-5-1, Fig. 10 is 2-2-1: set the sliders accordingly.",
            width=620,
        ),
        kit.facts(
            depth_L=depth(_widths), deep="yes" if is_deep(_widths) else "no", parameters=parameter_count(_widths)
        ),
        kit.table(
            ("layer", "W", "b", "numbers"),
            [
                (f"{i} to {i + 1}", f"{b} x {a}", str(b), parameter_count((a, b)))
                for i, (a, b) in enumerate(pairwise(_widths))
            ],
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    safe = mo.ui.switch(label="robust biases")
    shake = kit.slider(-0.6, 0.6, 0.05, value=0.0, label="added to every bias")
    smooth = kit.dropdown(
        {"Heaviside": "heaviside", "sigmoid, weights x 10": "sigmoid", "none": "identity"},
        value="Heaviside",
        label="activation",
    )
    kit.column(
        kit.section("XOR needs one hidden layer", ids=("N2.06", "N2.08", "N2.09", "N2.10", "N2.11", "N2.14")),
        kit.prose(r"""
            No single line separates XOR, and linear hidden layers do not help: they collapse to one affine map, whose best
            answer is $\frac12$ everywhere. Two hidden nodes with a step are enough: the first computes OR, the second NAND, and
            the output is their AND.
        """),
        kit.formula(
            r"W^{[0]} = \begin{pmatrix} 1 & 1 \\ -1 & -1 \end{pmatrix}, \quad b^{[0]} = \begin{pmatrix} -1 \\ 1 \end{pmatrix}, \quad W^{[1]} = \begin{pmatrix} 1 & 1 \end{pmatrix}, \quad b^{[1]} = -2",
            "the weights of the notes for Heaviside",
        ),
        kit.prose(r"""
            With these weights half of the sums are exactly 0, so everything rests on $H(0) = 1$ ([E21](/errata#E21)). The *robust* biases
            $b^{[0]} = (-0.5, 1.5)$, $b^{[1]} = -1.5$ keep a distance of $\frac12$. Disturb all biases a little and see which
            network survives.
        """),
        kit.source(logic_gate),
    )
    return safe, shake, smooth


@app.cell(hide_code=True)
def _():
    kit.question(
        "How much may the biases be disturbed, downwards, before the notes' weights fail? And the robust ones?",
        """The smallest step down, 0.05, already breaks the notes' weights: sums that were 0 turn negative. The robust ones
        survive up to 0.5 in either direction. And look at the last number: without an activation the network is affine, here the
        constant −2 or −0.5, whatever you feed it.""",
        options=("Not at all", "By 0.25", "By 0.5"),
        right=0,
        predict="How far down may the biases go before the weights of the notes fail?",
    )
    return


@app.cell(hide_code=True)
def _(safe, shake, smooth):
    _gate = logic_gate("xor", safe.value, smooth.value, 10.0 if smooth.value == "sigmoid" else 1.0).double()
    with torch.no_grad():
        for _bias in _gate.biases:
            _bias += shake.value * (10.0 if smooth.value == "sigmoid" else 1.0)
        _u = torch.tensor(TRUTH_INPUTS, dtype=torch.float64)
        _features = _gate.features(_u)
        _W, _b = collapse_affine(_gate.weights, _gate.biases)
        _line = affine(_u, _W, _b)[:, 0]
    _y = _features[-1][:, 0]
    _right = int(((_y >= 0.5).long() == torch.tensor(TRUTH_TABLES["xor"])).sum())
    kit.panel(
        kit.controls("Biases and activation", safe, shake, smooth),
        kit.row(
            kit.svg(
                network((2, 2, 1), weights=[W.tolist() for W in _gate.weights]),
                f"The network 2-2-1 for XOR: {_right} of 4 answers are right.",
                caption="Fig. 10 of the notes, with the weights as colors",
                width=400,
            ),
            kit.table(
                ("u1 u2", "OR", "NAND", "output", "XOR"),
                [
                    (f"{a} {b}", round(h[0], 3), round(h[1], 3), round(y, 3), s)
                    for (a, b), h, y, s in zip(
                        TRUTH_INPUTS, _features[1].tolist(), _y.tolist(), TRUTH_TABLES["xor"], strict=True
                    )
                ],
                caption="Table 3 of the notes",
            ),
            least=280,
        ),
        kit.facts(
            right=f"{_right} of 4",
            margin=pre_activations("xor", safe.value).abs().min().item(),
            without_activation=", ".join(kit.number(v, 2) for v in _line.tolist()),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose(r"""
            Training must find such weights by itself. The learning problem is that of the perceptron, over all layers and
            all samples:
        """),
        kit.formula(
            r"\min_{\theta} \frac1N \sum_{i=1}^N \mathscr{L}\big(y^{[L](i)}, S(u^{(i)})\big) \quad \text{subject to} \quad y^{[l](i)} = \sigma^{[l]}\big(W^{[l-1]} y^{[l-1](i)} + b^{[l-1]}\big)",
            r"the learning problem $(P_l)$",
        ),
        kit.prose("From most starting points gradient descent reaches all four answers of XOR. From some it does not."),
        kit.recorded(
            "xor_training",
            "From Xavier's weights {all right[0]:.0%} of the sigmoid networks get all four answers right, and {stuck[0]:.0%} get stuck; with tanh {all right[2]:.0%} and {stuck[2]:.0%}.",
        ),
        kit.source(objective),
    )
    return


if __name__ == "__main__":
    app.run()
