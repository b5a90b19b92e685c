import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Unrolling a recurrent network")

with app.setup:
    import marimo as mo
    import torch

    from lamina.architectures.recurrent import (
        ManyToMany,
        ManyToManyConfig,
        ManyToOne,
        ManyToOneConfig,
        OneToMany,
        OneToManyConfig,
    )
    from lamina.architectures.seq2seq import EncoderDecoder, EncoderDecoderConfig
    from lamina.backprop.through_time import backpropagate_through_time
    from lamina.data.text.vocabulary import Vocabulary
    from lamina.drawing.cells import cell
    from lamina.drawing.charts import Series
    from lamina.drawing.unrolled import bidirectional, deep, fnn_and_rnn, four_shapes, sequence_shape
    from lamina.functional.losses import squared_error, sum_over_time
    from lamina.functional.recurrent import output_step, rnn_step, unroll
    from lamina.inspection.sensitivity import sensitivity
    from lamina.layers.recurrent import Recurrent
    from lamina.pages import kit

    SHAPES = ("one to many", "many to one", "many to many, read then write", "many to many, step by step")
    PATTERNS = {
        "one pulse": [1.0] + [0.0] * 11,
        "switched on": [0.0] * 3 + [1.0] * 9,
        "up and down": [1.0, -1.0] * 6,
        "a slow wave": torch.sin(torch.arange(12) * 0.6).tolist(),
    }

    def size_of(network):
        return sum(p.numel() for p in network.parameters())

    def answer_shape(shape, t_in, t_out):
        """Let the network of a shape read a random sequence; return inputs, cells, outputs, and what came out."""
        g = torch.Generator().manual_seed(0)
        u = torch.randn(1, t_in, 4, generator=g)
        if shape == SHAPES[0]:
            net = OneToMany(OneToManyConfig(4, 3, hidden=8, cell="rnn", steps=t_out))
            return (1, t_out, t_out), net(u[:, 0]).shape, size_of(net)
        if shape == SHAPES[1]:
            net = ManyToOne(ManyToOneConfig(4, 3, hidden=8, cell="rnn"))
            return (t_in, t_in, 1), net(u).shape, size_of(net)
        if shape == SHAPES[2]:
            net = EncoderDecoder(EncoderDecoderConfig(4, 3, hidden=8, cell="rnn", embedding=None))
            return (t_in, t_in + t_out, t_out), net.rollout(u, t_out).shape, size_of(net)
        net = ManyToMany(ManyToManyConfig(4, 3, hidden=8, cell="rnn"))
        return (t_in, t_in, t_in), net(u).shape, size_of(net)


@app.cell(hide_code=True)
def _(cell_b, pattern, probabilities, w_h, w_out, w_u):
    _u = torch.tensor(PATTERNS[pattern.value], dtype=torch.float64)
    _W = torch.tensor([[w_h.value, w_u.value]], dtype=torch.float64)
    _b = torch.tensor([cell_b.value], dtype=torch.float64)
    _h, _ = unroll(lambda u, h: rnn_step(u, h, _W, _b), _u[None, :, None], torch.zeros(1, 1, dtype=torch.float64))
    _rows = torch.tensor([[w_out.value], [-w_out.value]], dtype=torch.float64)
    _y = output_step(_h[0], _rows, softmax=probabilities.value)
    _t = list(range(1, 13))
    _state = kit.plot(
        f"Inputs and states over 12 steps; the first state is {_h[0, 0, 0]:.3f}, the last {_h[0, -1, 0]:.3f}",
        lines=[Series("state $h$", _t, _h[0, :, 0].tolist(), "hidden", size=2.4)],
        bars=[Series("input $u$", _t, _u.tolist(), "input!45", "bar", size=0.5)],
        points=[Series("", _t, _h[0, :, 0].tolist(), "hidden")],
        x=("time $t$", 0.4, 12.6),
        y=("", -1.1, 1.1),
        size=kit.MAIN,
    )
    _names = ("softmax, first", "softmax, second") if probabilities.value else ("$y_1$", "$y_2$")
    _out = kit.plot(
        f"Two outputs over time; at the end {_y[-1, 0]:.3f} and {_y[-1, 1]:.3f}",
        lines=[
            Series(_names[0], _t, _y[:, 0].tolist(), "output"),
            Series(_names[1], _t, _y[:, 1].tolist(), "line5", "dashed"),
        ],
        x=("time $t$", 0.4, 12.6),
        y=("", *((-0.05, 1.05) if probabilities.value else (-3.1, 3.1))),
        size=kit.BESIDE,
    )
    kit.lab(
        [w_h, w_u, cell_b, w_out, pattern, probabilities],
        kit.row(_state, _out),
        kit.facts(first_state=_h[0, 0, 0].item(), last_state=_h[0, -1, 0].item(), sum_of_outputs=_y[-1].sum().item()), about="A network with a memory"
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    first = mo.ui.text("the dog bites the man", label="one sentence", full_width=True)
    second = mo.ui.text("the man bites the dog", label="another sentence", full_width=True)
    kit.column(
        kit.section("Order counts", ids=("N5.01", "N5.03")),
        kit.prose(r"""
            The networks so far look at one example at a time and treat the examples as independent of each other. A
            sentence is not like that: its words depend on each other, and their order carries meaning. Translation,
            speech and the mood of a text all depend on sequences. In the example of the notes the input has
            $T_{in} = 5$ words, "The sun is shining today", and the output $T_{out} = 4$: "Heute scheint die Sonne".

            Compare two sentences below. A network that only gets the *counts* of the words sees no difference when the
            words are the same. A recurrent network reads them one after the other and ends in different states.
            $$(u^{<1>}, \dots, u^{<T_{in}>}) \;\longmapsto\; (y^{<1>}, \dots, y^{<T_{out}>})$$
        """),
    )
    return first, second


@app.cell(hide_code=True)
def _(first, second):
    def _compared():
        texts = [first.value[:200], second.value[:200]]
        words = Vocabulary.fit(texts)
        rows = [words.encode(text) for text in texts]
        if min(len(row) for row in rows) == 0:
            return [kit.note("Both sentences need at least one word.", "warn")]
        counts = [words.one_hot(row).sum(0) for row in rows]
        reader = Recurrent("rnn", len(words), 8, seed=1)
        with torch.no_grad():
            states = [reader(words.one_hot(row)[None])[0][0, -1] for row in rows]
        apart = (states[0] - states[1]).norm().item()
        different = (counts[0] - counts[1]).abs().sum().item()
        used = [i for i in range(len(words)) if counts[0][i] + counts[1][i] > 0]
        table = [(words.tokens[i], int(counts[0][i]), int(counts[1][i])) for i in used]
        bars = [
            Series("one", [i - 0.2 for i in range(1, 9)], states[0].tolist(), "line1", "bar", size=0.36),
            Series("another", [i + 0.2 for i in range(1, 9)], states[1].tolist(), "line5", "bar", size=0.36),
        ]
        scene = kit.chart(bars=bars, x=("component of the last state", 0.4, 8.6), y=("", -1, 1), size=(330, 220))
        label = f"The last states of a recurrent network after both sentences; their distance is {apart:.3f}"
        return [
            kit.row(kit.table(("word", "one", "another"), table, caption="Counts of words"), kit.svg(scene, label)),
            kit.facts(difference_of_counts=int(different), distance_of_states=apart),
        ]

    kit.panel(kit.controls("Two sentences", first, second), *_compared())
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("""
            The same with trained networks: does A come before B in a sequence of ten letters? A network that only counts
            letters is right in exactly half of all cases; every kind of recurrent network learns it.
        """),
        kit.recorded(
            "order_counts",
            "A network that only counts is right in {accuracy[0]:.0%} of all cases, the plain recurrent cell in {accuracy[1]:.1%}.",
        ),
        kit.question(
            "Find two different English sentences with the same counts. Can the distance between the states become 0?",
            """"only I saw her" and "I saw only her" have the same words. The states after them could only agree by
            accident: each step mixes the word with everything that came before. Equal sentences give distance 0.""",
            options=("Yes", "No"),
            right=1,
            predict="Two sentences with the same words in another order: are their final states equal?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    unrolled_steps = kit.slider(1, 6, value=3, label="steps $T$")
    kit.column(
        kit.section("A network with a memory", ids=("N5.02", "N5.04", "N5.05", "N5.06", "N5.07", "N5.08", "N5.15")),
        kit.prose(r"""
            Take a feedforward network and feed its hidden values back at the next time step: that cycle is all a
            **recurrent neural network** adds. The state $h^{<t>}$ always has the same size, however long the sequence
            is; in principle it can carry context of any length. Written out over time, the cycle becomes a chain of
            identical cells. That is what *unrolling* means.
        """),
        kit.formula(
            r"h^{<t>} = \sigma\big(W_{in} \, [h^{<t-1>}; u^{<t>}] + b\big), \qquad y^{<t>} = W_{out} \, h^{<t>}, \qquad h^{<0>} = 0",
            r"$[h; u]$ is one vector, the state above the input; $\sigma = \tanh$ at all times. Where probabilities are wanted, "
            r"softmax is applied to $W_{out} h^{<t>}$.",
        ),
        kit.source(rnn_step, output_step),
    )
    return (unrolled_steps,)


@app.cell(hide_code=True)
def _(unrolled_steps):
    kit.panel(
        [unrolled_steps],
        kit.svg(
            fnn_and_rnn(unrolled_steps.value),
            f"A feedforward column, the same with a loop at its hidden node, and the loop unrolled for {unrolled_steps.value} steps",
            caption="Feedforward, recurrent, and the same recurrent network unrolled in time.",
        ),
        kit.svg(cell("rnn"), "The wiring of one recurrent cell", caption="Inside one cell.", width=560),
    )
    return


@app.cell(hide_code=True)
def _():
    w_h = kit.slider(-2, 2, 0.1, value=0.9, label="weight of the state $w_h$")
    w_u = kit.slider(-2, 2, 0.1, value=1.0, label="weight of the input $w_u$")
    cell_b = kit.slider(-1, 1, 0.1, value=0.0, label="bias $b$")
    w_out = kit.slider(-3, 3, 0.1, value=1.0, label="output weight $w_{out}$")
    pattern = kit.dropdown(list(PATTERNS), value="one pulse", label="inputs")
    probabilities = mo.ui.switch(label="softmax of $(y, -y)$")
    kit.prose(r"""
        The smallest cell has one number as its state. Move its weights and watch it remember, forget or flip. The
        weight $w_h$ decides how much of the old state stays, $w_u$ how much of the input comes in.
    """)
    return cell_b, pattern, probabilities, w_h, w_out, w_u


@app.cell(hide_code=True)
def _():
    kit.question(
        "With one pulse as input, for which $w_h$ does the cell still know after twelve steps that there was a pulse? What happens for negative $w_h$?",
        r"""Below $w_h = 1$ the state fades, at 0.9 to about a fifth. Above 1 it settles at a value different from
        zero, the solution of $h = \tanh(w_h h)$, and stays there: the cell has switched. With a negative $w_h$ the state changes its sign at every step.
        With softmax the two outputs are probabilities and add up to 1.""",
        options=("Below 1", "Above 1", "For all"),
        right=1,
        predict="After one pulse, for which $w_h$ does the cell still know of it after many steps?",
    )
    return


@app.cell(hide_code=True)
def _():
    shape = kit.dropdown(list(SHAPES), value=SHAPES[2], label="shape")
    t_in = kit.slider(1, 8, value=5, label="inputs $T_{in}$")
    t_out = kit.slider(1, 8, value=4, label="outputs $T_{out}$")
    kit.column(
        kit.section("Four shapes", ids=("N5.09", "N5.10", "N5.11", "N5.12", "N5.13")),
        kit.prose(r"""
            Input and output need not have the same length. Four shapes are common: **one to many** (describe a
            picture), **many to one** (the mood of a text), **many to many** with reading first and writing afterwards
            (translation), and **many to many** with an answer at every step (follow an object through a film).

            Two remarks. The equations above name an input at every step, but after the last word there is none ([E63](/errata#E63)). The library
            lets the network read zeros, as drawn, or what it wrote before, which is the usual choice and the one for
            translation, where reading and writing have their own weights. And the notes' "video to word" for sentiment
            is rare ([E75](/errata#E75)): usually a text gets a label.
        """),
        kit.svg(four_shapes(), "The four shapes: inputs, cells and outputs are 1, 3, 3; 3, 3, 1; 3, 5, 2; and 3, 3, 3", width=900),
        kit.source(OneToMany, ManyToOne, ManyToMany),
    )  # fmt: skip
    return shape, t_in, t_out


@app.cell(hide_code=True)
def _():
    kit.question(
        "Move the lengths. Which of the numbers never moves, and why is that good?",
        """The number of parameters. All steps share their weights, so the same network takes sequences of any length, even of lengths
        it has never seen.""",
        options=("The number of states", "The number of parameters", "The number of outputs"),
        right=1,
        predict="The sequence gets longer. Which number stays?",
    )
    return


@app.cell(hide_code=True)
def _(shape, t_in, t_out):
    _counts, _made, _size = answer_shape(shape.value, t_in.value, t_out.value)
    _read = f"({_counts[0]}, 4)"
    _written = f"({_counts[2]}, {_made[-1]})"
    kit.panel(
        [shape, *([] if shape.value == SHAPES[0] else [t_in]), *([t_out] if shape.value in (SHAPES[0], SHAPES[2]) else [])],
        kit.svg(sequence_shape(*_counts), f"A network with {_counts[0]} inputs, {_counts[1]} cells and {_counts[2]} outputs"),
        kit.facts(inputs=_counts[0], cells=_counts[1], outputs=_counts[2], reads=_read, writes=_written, parameters=_size),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("The same weights at all times", ids=("N5.14",)),
        kit.prose(r"""
            $W_{in}$, $W_{out}$ and $b$ do not depend on $t$. With separate weights for every step, a network would be
            made for one length and could say nothing about any other. Here, networks were trained to repeat the
            previous input on sequences of 2 to 10 steps, and then tested on longer ones.
        """),
        kit.question(
            "Look at the chart.",
            "All of them: the same weights work at every step, so that the length does not matter.",
            options=("About half", "About 90%", "All of them"),
            right=2,
            predict="After training on 2 to 10 steps, how many answers are right on sequences of 50?",
        ),
        kit.recorded(
            "unseen_lengths",
            "At length {length[3]}, five times as long as anything they were trained on, all cells are right in {accuracy[3]:.0%} of all cases.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    back_steps = kit.slider(2, 30, value=12, label="steps $T$")
    back_size = kit.slider(0.2, 2, 0.1, value=0.8, label="size of the weights")
    back_where = kit.dropdown(["at every step", "at the last step only"], value="at the last step only", label="loss")
    kit.column(
        kit.section("Loss over time, and the way back", ids=("N5.16", "N5.17")),
        kit.prose(r"""
            Every output has a loss, and the loss of a sequence is their sum. For several sequences we take the mean of
            these sums and leave out padded steps. (PyTorch also averages over time, which makes a factor of $T$, [E65](/errata#E65).) The gradient comes
            from **backpropagation through time**: the algorithm of chapter 2 on the unrolled network. Because all
            times share one weight, its gradient is the sum of the contributions of all times, and the weight may change only
            after that sum is complete.
            $$\mathscr{L}(\theta) = \sum_{t=1}^{T_{out}} \mathscr{L}^{<t>}\big(y^{<t>}(\theta)\big)$$
            $$\bar h^{<t>} = W_{out}^\top \bar y^{<t>} + \big(W_{in}^\top \bar z^{<t+1>}\big)_h, \qquad \bar W_{in} = \sum_{t} \bar z^{<t>} [h^{<t-1>}; u^{<t>}]^\top$$
        """),
        kit.source(backpropagate_through_time, sum_over_time),
    )
    return back_size, back_steps, back_where


@app.cell(hide_code=True)
def _():
    kit.question(
        "Keep the loss at the last step. How long may the sequence be before the first state gets less than a thousandth of what the last one gets? What do larger weights change?",
        """With size 0.8 that happens between 14 and 16 steps; with larger weights it takes longer, but tanh saturates, and the
        gradient fades all the same. The next page is about exactly this. The gradients computed by our formulas and by autograd always agree up to rounding.""",
        options=("About 5", "About 15", "About 100"),
        right=1,
        predict="After how many steps has the first state less than a thousandth of the last one's gradient?",
    )
    return


@app.cell(hide_code=True)
def _(back_size, back_steps, back_where):
    def _network(steps, size):
        g = torch.Generator().manual_seed(3)
        draw = lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64)  # noqa: E731
        W, b, W_out = size * draw(6, 8) / 8**0.5, torch.zeros(6, dtype=torch.float64), draw(1, 6) / 6**0.5
        return draw(4, 30, 2)[:, :steps], draw(4, 30, 1)[:, :steps], W, b, W_out

    _u, _S, _W, _b, _W_out = _network(back_steps.value, back_size.value)
    _mask = torch.ones(4, back_steps.value, dtype=torch.bool)
    if back_where.value != "at every step":
        _mask[:, :-1] = False
    _found = backpropagate_through_time(_u, _S, _W, _b, _W_out, mask=_mask)
    _leaf = _W.clone().requires_grad_()
    _h, _ = unroll(lambda u, h: rnn_step(u, h, _leaf, _b), _u, torch.zeros(4, 6, dtype=torch.float64))
    _loss = sum_over_time(squared_error(output_step(_h, _W_out), _S), _mask)
    (_auto,) = torch.autograd.grad(_loss, _leaf)
    _difference = (_auto - _found.weight).abs().max().item()
    _sizes = _found.states.norm(dim=(0, 2)).tolist()
    _scene = kit.plot(
        f"The gradient with respect to the state at each time, {_sizes[0]:.2e} at the first and {_sizes[-1]:.2e} at the last of {back_steps.value} steps",
        lines=[Series(r"norm of $\bar{h}$", list(range(1, back_steps.value + 1)), _sizes, "line4", size=2.4)],
        points=[Series("", list(range(1, back_steps.value + 1)), _sizes, "line4")],
        x="time $t$",
        log_y=True,
        size=(430, 240),
        caption="How much of the gradient arrives at the state of each time on the way back. Read it from right to left.",
    )
    kit.panel(
        [back_steps, back_size, back_where],
        _scene,
        kit.facts(
            loss=_found.loss.item(), first_step=_sizes[0], last_step=_sizes[-1], difference_to_autograd=_difference
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    both = mo.ui.switch(value=True, label="both directions")
    seen_at = kit.slider(1, 21, value=11, label="output at time $t$")
    seen_scale = kit.slider(0.3, 1.5, 0.1, value=0.6, label="size of the weights")
    kit.column(
        kit.section("Both directions", ids=("N5.18", "N5.19", "N5.20", "N5.21", "N5.23")),
        kit.prose(r"""
            Sometimes the answer at time $t$ needs what comes later: what a sound means often becomes clear only with the next one. A
            **bidirectional** network runs one chain of states $h$ forward and another, $g$, backward in time, and reads
            both. The notes leave open how ([E66](/errata#E66)); the usual choice is one vector $[h; g]$ of twice the size. The price: the
            whole sequence must be there before the first output.
            $$y^{<t>} = W_{out} \, [h^{<t>}; g^{<t>}]$$
        """),
        kit.svg(bidirectional(3, letter="x"), "A bidirectional network over three steps", width=620,
                caption="The first picture of the lost figure, with inputs called $x$ as there."),
        kit.source(Recurrent),
    )  # fmt: skip
    return both, seen_at, seen_scale


@app.cell(hide_code=True)
def _(both, seen_at, seen_scale):
    _net = Recurrent("rnn", 3, 16, bidirectional=both.value, scale=seen_scale.value, seed=0).double()
    _u = torch.randn(8, 21, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _felt = sensitivity(_net, _u, times=[seen_at.value]).relative(seen_at.value)
    _later = sum(value > 0 for value in _felt[seen_at.value :])
    _scene = kit.plot(
        f"How strongly the output at time {seen_at.value} depends on each input; {_later} later inputs have an influence",
        bars=[Series("", list(range(1, 22)), _felt, "line1", "bar", size=0.7)],
        x=("input at time $s$", 0.3, 21.7),
        y=("relative sensitivity", 0, 1.05),
        size=(440, 240),
    )
    kit.panel(
        [both, seen_at, seen_scale],
        _scene,
        kit.facts(earlier_inputs_felt=sum(value > 0 for value in _felt[: seen_at.value - 1]), later_inputs_felt=_later),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "Switch the second direction off. How much do later inputs count? And where is the output most sensitive?",
            """Later inputs do not count at all. With both directions all inputs count, most of all those near $t$; on average, the influence shrinks
            with every step away.""",
            options=("As much as earlier ones", "A little", "Not at all"),
            right=2,
            predict="With one direction only, how much do later inputs count?",
        ),
        kit.prose(
            "A task that needs both: name the *next* input. One direction can only guess; the other one has just read it."
        ),
        kit.recorded(
            "next_input_task",
            "One direction guesses among four symbols, {accuracy[0]:.0%}; with both, {accuracy[1]:.0%} are right.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    deep_layers = kit.slider(1, 5, value=3, label="layers $L$")
    deep_inputs = kit.slider(1, 64, value=3, label="inputs $n_u$")
    deep_hidden = kit.slider(1, 64, value=4, label="states $n_h$")
    kit.column(
        kit.section("Several layers", ids=("N5.22",)),
        kit.prose(r"""
            As with feedforward networks, more layers can express more. In a **deep** recurrent network each layer reads
            the states of the layer below at the same time, $u_l^{<t>} = h_{l-1}^{<t>}$. PyTorch keeps two biases where
            the notes have one ([E61](/errata#E61)); they only ever act as their sum.
            $$h_l^{<t>} = \tanh\big(W_l \, [h_l^{<t-1>}; h_{l-1}^{<t>}] + b_l\big), \qquad h_0^{<t>} = u^{<t>}$$
        """),
    )  # fmt: skip
    return deep_hidden, deep_inputs, deep_layers


@app.cell(hide_code=True)
def _():
    kit.question(
        "Where does the difference from PyTorch come from? Check it with three layers, $n_u = 3$ and $n_h = 4$.",
        r"104 against 116 numbers: the second bias has $n_h$ entries in each layer, $3 \cdot 4 = 12$.",
        options=("None", "12", "104"),
        right=1,
        predict="Three layers with $n_u = 3$ and $n_h = 4$: how many more numbers does PyTorch have?",
    )
    return


@app.cell(hide_code=True)
def _(deep_hidden, deep_inputs, deep_layers):
    _ours = size_of(Recurrent("rnn", deep_inputs.value, deep_hidden.value, layers=deep_layers.value))
    _torch = size_of(torch.nn.RNN(deep_inputs.value, deep_hidden.value, deep_layers.value, device="meta"))
    kit.panel(
        [deep_layers, deep_inputs, deep_hidden],
        kit.svg(
            deep(deep_layers.value, 4),
            f"A deep recurrent network with {deep_layers.value} layers: {_ours} parameters",
            width=430,
        ),
        kit.facts(parameters=_ours, in_torch=_torch, difference=_torch - _ours),
    )
    return


if __name__ == "__main__":
    app.run()
