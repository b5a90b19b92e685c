import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="GRU and LSTM gates")

with app.setup:
    from functools import cache

    import marimo as mo
    import torch

    from lamina.data.text.words import split_words
    from lamina.drawing.cells import CELLS as WIRINGS
    from lamina.drawing.charts import Series
    from lamina.drawing.wiring import evaluate
    from lamina.functional.dense import affine
    from lamina.functional.recurrent import gru_step, lstm_step, rnn_step
    from lamina.inspection.sensitivity import gates
    from lamina.layers.cells import CELLS, GRUCell, LSTMCell
    from lamina.pages import kit
    from lamina.pages.chapters.ch5._shared import cell_grid
    from lamina.pages.chapters.ch5.gates._drawing import live_cell
    from lamina.pages.kit._shipped import shipped

    DOORS = {"closed (0)": -1000.0, "as computed": 0.0, "open (1)": 1000.0}
    KNOWN = "which we saw often near a small old garden again"

    @cache
    def reader(kind):
        """Load a network that was trained to choose was or were; it is only read."""
        return shipped(f"cats-{kind}")

    def numbers(*values):
        return torch.tensor(values, dtype=torch.float64)


@app.cell(hide_code=True)
def _(between, gate, kind, noun):
    def _read():
        network, record = reader(kind.value)
        symbols = record.preprocess.spec.symbols
        words = ["the", noun.value, *(word.lower() for word in split_words(between.value[:500]))][:24]
        unknown = [word for word in words if word not in symbols]
        if unknown:
            return [
                kit.note(f"This network does not know {', '.join(unknown)}. It knows: {', '.join(symbols)}.", "warn")
            ]
        tokens = torch.tensor([[symbols.index(word) for word in words]])
        cell = gates(network, tokens, words).cells[0]
        values = cell.values[gate.value][0].T.tolist()
        mean, kept = cell.mean(gate.value)[0].tolist(), cell.kept[0].tolist()
        with torch.no_grad():
            said = torch.stack([network(tokens[:, : n + 1])[0].softmax(-1)[1] for n in range(len(words))]).tolist()
        grid = cell_grid(values, words, title=f"{gate.value} gate of each unit: light is closed, dark is open")
        t = list(range(1, len(words) + 1))
        lines = kit.plot(
            f"What is kept, and the probability of were: {said[-1]:.3f} at the end",
            lines=[
                Series("state kept", t, kept, "line1", size=2.2),
                Series(f"mean of the {gate.value} gate", t, mean, "line4", "dashed"),
                Series('says "were"', t, said, "line5", size=2.2),
            ],
            x=("word number", 0.5, len(words) + 0.5),
            y=("", -0.02, 1.02),
            size=(440, 230),
            wide=640,
        )
        verb = record.preprocess.spec.classes[int(said[-1] > 0.5)]
        return [
            kit.svg(
                grid,
                f"The {gate.value} gate of six units over {len(words)} words; its mean at {words[1]} is {mean[1]:.2f}",
                width=1100,
            ),
            lines,
            kit.facts(it_says=f"the {noun.value} … {verb}", probability_of_were=said[-1], kept_at_the_noun=kept[1]),
        ]

    kit.lab(
        kit.controls("Network and sentence", kind, noun, between, gate),
        *_read(),
        about="Gates on a sentence",
        answers=True,
    )
    return


@app.cell(hide_code=True)
def _():
    gru_h = kit.slider(-1, 1, 0.05, value=0.5, label="old state $h^{<t-1>}$")
    gru_u = kit.slider(-2, 2, 0.1, value=-1.0, label="input $u^{<t>}$")
    reset_door = kit.dropdown(list(DOORS), value="as computed", label="reset gate")
    update_door = kit.dropdown(list(DOORS), value="as computed", label="update gate")
    kit.column(
        kit.section("The gated recurrent unit", ids=("N5.32", "N5.33", "N5.34", "N5.36")),
        kit.prose(r"""
            The GRU computes a candidate like a plain cell, and then does not simply take it. The **update gate**
            $\Gamma_u$ decides, component by component, whether the candidate replaces the old state. The **reset
            gate** $\Gamma_r$ decides how much of the old state the candidate may know. Here $\sigma$ is the logistic
            sigmoid ([E64](/errata#E64)).
            $$\begin{aligned}
            \Gamma_r &= \sigma(W_r [h^{<t-1>}; u^{<t>}] + b_r) &&\text{reset gate} \\
            \Gamma_u &= \sigma(W_u [h^{<t-1>}; u^{<t>}] + b_u) &&\text{update gate} \\
            \tilde h^{<t>} &= \tanh(W_{in} [\Gamma_r \odot h^{<t-1>}; u^{<t>}] + b) &&\text{candidate} \\
            h^{<t>} &= \Gamma_u \odot \tilde h^{<t>} + (1 - \Gamma_u) \odot h^{<t-1>} &&\text{state} \\
            y^{<t>} &= W_{out} h^{<t>}
            \end{aligned}$$
        """),
        kit.source(gru_step),
    )
    return gru_h, gru_u, reset_door, update_door


@app.cell(hide_code=True)
def _():
    kit.question(
        "Close the update gate, then open it. Then close the reset gate and move the old state. When does the cell do exactly what a plain cell does?",
        r"""With the update gate closed, the new state is exactly the old one, and the candidate is ignored. With it open, the new state is the candidate.
        With the reset gate closed, the candidate depends on the input alone, however the old state moves. With both gates open, the unit is the
        plain cell $h^{<t>} = \tanh(W_{in}[h^{<t-1>}; u^{<t>}] + b)$, to the last digit.""",
        options=("Zero", "The candidate", "The old state"),
        right=2,
        predict="Close the update gate completely. What is the new state?",
    )
    return


@app.cell(hide_code=True)
def _(gru_h, gru_u, reset_door, update_door):
    _weight = torch.tensor([[1.0, 0.5], [0.5, -1.0], [2.0, 1.0]], dtype=torch.float64)
    _bias = numbers(DOORS[reset_door.value], DOORS[update_door.value], 0.0)
    _h, _u = numbers(gru_h.value), numbers(gru_u.value)
    _rows = {name: (_weight[i : i + 1], _bias[i : i + 1]) for i, name in enumerate(("r", "z", "candidate"))}
    _found = evaluate(
        WIRINGS["gru"],
        {"h-": _h, "u": _u},
        {name: (lambda z, W=W, b=b: affine(z, W, b)) for name, (W, b) in _rows.items()},
    )
    _new = gru_step(_u, _h, _weight, _bias)
    _plain = rnn_step(_u, _h, _weight[2:], _bias[2:])
    kit.panel(
        [gru_h, gru_u, reset_door, update_door],
        kit.svg(
            live_cell("gru", _found),
            f"A gated recurrent unit with numbers: reset {_found['r'].item():.3f}, update {_found['z'].item():.3f}, candidate {_found['candidate'].item():.3f}, new state {_found['h'].item():.3f}",
            caption="The figure of the notes with your numbers on its wires; weights are left out in the drawing. The output here is the state itself.",
            width=820,
        ),
        kit.facts(
            new_state=_found["h"].item(),
            by_the_formula=_new.item(),
            plain_cell_would_say=_plain.item(),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kind = kit.dropdown({"GRU": "gru", "LSTM": "lstm"}, value="GRU", label="network")
    noun = kit.dropdown(["cat", "cats"], value="cats", label="The")
    between = mo.ui.text_area(KNOWN, label="words between", rows=3, full_width=True)
    kit.column(
        kit.section("Gates on a sentence"),
        kit.prose(r"""
            Two small networks, a GRU and an LSTM with six units each, were trained to say *was* or *were* after a long
            gap. Let one of them read a sentence and watch what its gates do at every word. They know only a dozen words: the,
            cat, cats, and the words of the gap.
        """),
        kit.source(gates),
    )
    return between, kind, noun


@app.cell(hide_code=True)
def _(kind):
    gate_names = {
        "gru": {"update": "update", "reset": "reset"},
        "lstm": {"forget": "forget", "input": "input", "output": "output"},
    }[kind.value]
    gate = kit.dropdown(gate_names, value=next(iter(gate_names)), label="gate")
    return (gate,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Let the GRU read *cat* instead of *cats* and look at the update gate. At which word is it widest open? What changes when you repeat a word in the gap twenty times?",
        """At the noun: that is the word worth writing down, and most units take the candidate there. At the words right after it the gate is
        nearly closed, so the state, and with it whether there are one or several cats, is kept. Later it opens again a little: by then the candidate says the same
        as the state. A word can be repeated as often as you like; the answer stays the same.""",
        options=("At the noun", "At the verb", "It never moves"),
        right=0,
        predict="At which word does the update gate open widest?",
    )
    return


@app.cell(hide_code=True)
def _():
    lstm_c = kit.slider(-2, 2, 0.05, value=0.9, label="old cell state $c^{<t-1>}$")
    lstm_h = kit.slider(-1, 1, 0.05, value=0.3, label="old state $h^{<t-1>}$")
    lstm_u = kit.slider(-2, 2, 0.1, value=1.0, label="input $u^{<t>}$")
    forget_door = kit.dropdown(list(DOORS), value="as computed", label="forget gate")
    input_door = kit.dropdown(list(DOORS), value="as computed", label="input gate")
    output_door = kit.dropdown(list(DOORS), value="as computed", label="output gate")
    belt_steps = kit.slider(1, 50, value=50, label="for this many steps")
    kit.column(
        kit.section("Long short-term memory", ids=("N5.37", "N5.38", "N5.40")),
        kit.prose(r"""
            The LSTM has a second state. The **cell state** $c$ runs through the whole chain like a conveyor belt: at each
            step some of it is taken off (forget gate), something is put on (input gate), and nothing else happens to it. What
            the rest of the network sees, $h$, is the belt looked at through tanh and the output gate.

            The notes print the old *candidate* $\tilde c^{<t-1>}$ in the equation of the cell state. That would forget
            everything after one step; their figure, their text and their remark all mean the old cell state, as below ([E70](/errata#E70)).
            $$\begin{aligned}
            \Gamma_f, \Gamma_i, \Gamma_o &= \sigma(W_\bullet [h^{<t-1>}; u^{<t>}] + b_\bullet) &&\text{forget, input, output gate} \\
            \tilde c^{<t>} &= \tanh(W_c [h^{<t-1>}; u^{<t>}] + b_c) &&\text{candidate} \\
            c^{<t>} &= \Gamma_f \odot c^{<t-1>} + \Gamma_i \odot \tilde c^{<t>} &&\text{cell state} \\
            h^{<t>} &= \Gamma_o \odot \tanh(c^{<t>}) &&\text{hidden state} \\
            y^{<t>} &= W_{out} h^{<t>}
            \end{aligned}$$
        """),
        kit.source(lstm_step),
    )
    return belt_steps, forget_door, input_door, lstm_c, lstm_h, lstm_u, output_door


@app.cell(hide_code=True)
def _():
    kit.question(
        "Set the gates so that the number 0.9 on the belt survives fifty steps untouched. What would the printed equation do with it?",
        r"""Open the forget gate and close the input gate: $c^{<t>} = c^{<t-1>}$, and 0.9 stays 0.9 exactly, whatever the input says. With the printed
        equation the belt would hold the last candidate only: after the first step the 0.9 is gone.""",
        options=("Forget gate open, input gate closed", "Both open", "Both closed"),
        right=0,
        predict="Which gates keep 0.9 on the belt for fifty steps?",
    )
    return


@app.cell(hide_code=True)
def _(belt_steps, forget_door, input_door, lstm_c, lstm_h, lstm_u, output_door):
    _weight = torch.tensor([[0.5, 1.0], [1.0, -0.5], [0.5, 0.5], [1.0, -1.0]], dtype=torch.float64)
    _bias = numbers(DOORS[forget_door.value], DOORS[input_door.value], DOORS[output_door.value], 0.0)
    _h, _c, _u = numbers(lstm_h.value), numbers(lstm_c.value), numbers(lstm_u.value)
    _rows = {name: (_weight[i : i + 1], _bias[i : i + 1]) for i, name in enumerate(("f", "i", "o", "candidate"))}
    _found = evaluate(
        WIRINGS["lstm"],
        {"h-": _h, "c-": _c, "u": _u},
        {name: (lambda z, W=W, b=b: affine(z, W, b)) for name, (W, b) in _rows.items()},
    )
    _belt, _state = [_c.item()], (_h, _c)
    for _ in range(belt_steps.value):
        _state = lstm_step(_u, _state, _weight, _bias)
        _belt.append(_state[1].item())
    _scene = kit.plot(
        f"The cell state over {belt_steps.value} steps with the same input, {_belt[-1]:.3f} at the end",
        lines=[Series("cell state $c$", list(range(belt_steps.value + 1)), _belt, "hidden", size=2.4)],
        x=("step", 0, 50),
        y=("", -3, 3),
        size=(440, 200),
        wide=640,
    )
    kit.panel(
        [lstm_c, lstm_h, lstm_u, forget_door, input_door, output_door, belt_steps],
        kit.svg(
            live_cell("lstm", _found),
            f"An LSTM cell with numbers: forget {_found['f'].item():.3f}, input {_found['i'].item():.3f}, output {_found['o'].item():.3f}, cell state {_found['c'].item():.3f}, hidden state {_found['h'].item():.3f}",
            caption="The conveyor belt runs along the top.",
            width=860,
        ),
        _scene,
        kit.facts(cell_state=_found["c"].item(), hidden_state=_found["h"].item(), after_all_steps=_belt[-1]),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    count_h = kit.slider(1, 256, value=128, label="states $n_h$")
    count_u = kit.slider(1, 256, value=64, label="inputs $n_u$")
    kit.column(
        kit.section("What gates cost", ids=("N5.35", "N5.39")),
        kit.prose(r"""
            A plain cell has one matrix and one bias. The GRU has two gates and therefore three of each, the LSTM three gates and
            four of each. That is the price: clearly more parameters per cell. (PyTorch has a few more, since it keeps two biases.)
            $$k \, \big(n_h (n_h + n_u) + n_h\big), \qquad k = 1 \text{ (plain)}, \; 3 \text{ (GRU)}, \; 4 \text{ (LSTM)}$$
        """),
    )  # fmt: skip
    return count_h, count_u


@app.cell(hide_code=True)
def _(count_h, count_u):
    _torch = {"rnn": torch.nn.RNNCell, "gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}

    def _size(module):
        return sum(p.numel() for p in module.parameters())

    _rows = [
        (name, matrices - 1, _size(CELLS[key](count_u.value, count_h.value)), _size(_torch[key](count_u.value, count_h.value, device="meta")))
        for key, name, matrices in (("rnn", "plain", 1), ("gru", "GRU", 3), ("lstm", "LSTM", 4))
    ]  # fmt: skip
    kit.panel(
        [count_h, count_u],
        kit.table(("cell", "gates", "parameters", "in PyTorch"), _rows, caption="Parameters of one cell"),
        kit.facts(plain=_rows[0][2], GRU=_rows[1][2], LSTM=_rows[2][2]),
    )
    return


@app.cell(hide_code=True)
def _():
    reset_h = kit.slider(1, 16, value=4, label="states $n_h$ of both cells")
    reset_seed = kit.slider(0, 9, value=0, label="other random weights")
    kit.column(
        kit.section("Reset before or after", level=3),
        kit.prose(r"""
            The notes reset the state *before* it is multiplied, $W_h (\Gamma_r \odot h)$; so did the paper of 2014. PyTorch
            and the fast libraries reset *after* it, $\Gamma_r \odot (W_h h)$, because then one large product serves all gates.
            These are two different cells ([E69](/errata#E69)). Give both the same random weights and compare what they say.
            $$\tanh\big(W_h (\Gamma_r \odot h) + W_u u + b\big) \quad \text{or} \quad \tanh\big(\Gamma_r \odot (W_h h) + W_u u + b\big)$$
        """),
    )  # fmt: skip
    return reset_h, reset_seed


@app.cell(hide_code=True)
def _():
    kit.question(
        "For which size of the state are the two cells the same, and why only for that one?",
        r"""For $n_h = 1$: then $\Gamma_r$ and $W_h$ are numbers, and numbers may change places. With two components the gate weights the *parts*
        of a sum in one case and the *sum* in the other. No choice of weights turns one cell into the other for all states.""",
        options=("For 1", "For 2", "For all"),
        right=0,
    )
    return


@app.cell(hide_code=True)
def _(reset_h, reset_seed):
    _g = torch.Generator().manual_seed(reset_seed.value)
    _u = torch.randn(20, 3, generator=_g, dtype=torch.float64)
    _states, _curves = {}, {}
    for _where in ("before", "after"):
        _cell = GRUCell(3, reset_h.value, reset=_where, scale=2.0, seed=reset_seed.value).double()
        _h, _seen = None, []
        with torch.no_grad():
            for _input in _u:
                _h = _cell(_input, _h)
                _seen.append(_h)
        _states[_where] = torch.stack(_seen)
        _curves[_where] = _states[_where][:, 0].tolist()
    _apart = (_states["before"] - _states["after"]).abs().max().item()
    _scene = kit.plot(
        f"The first component of the state of both cells; the states differ by up to {_apart:.3g}",
        lines=[
            Series("reset before", list(range(1, 21)), _curves["before"], "line1", size=2.4),
            Series("reset after", list(range(1, 21)), _curves["after"], "line5", "dashed", size=2.4),
        ],
        x="time $t$",
        y=("first component", -1, 1),
        size=(440, 220),
        wide=640,
    )
    kit.panel([reset_h, reset_seed], _scene, kit.facts(largest_difference=_apart))
    return


@app.cell(hide_code=True)
def _():
    skip_bias = kit.slider(-2, 10, 0.5, value=2, label="forget bias $b_f$")
    skip_steps = kit.slider(1, 50, value=30, label="steps $T$")
    skip_open = mo.ui.switch(label="open the gates fully")
    kit.column(
        kit.section("An LSTM is almost a ResNet", ids=("N5.41",)),
        kit.prose(r"""
            Open all gates, $\Gamma_f = \Gamma_i = \Gamma_o = 1$. Then the belt adds the candidate and passes everything else on:
            that is the skip connection of a ResNet, found almost two decades earlier. Along the belt the derivative is the product
            of the forget gates: with open gates exactly 1, so nothing vanishes there.
            $$c^{<t>} = c^{<t-1>} + \tilde c^{<t>} \;\Rightarrow\; c^{<T>} = c^{<0>} + \sum_{t=1}^{T} \tilde c^{<t>}, \qquad \frac{\partial c^{<T>}}{\partial c^{<0>}}\bigg|_{\text{belt}} = \prod_{t=1}^{T} \Gamma_f^{<t>}$$
        """),
    )
    return skip_bias, skip_open, skip_steps


@app.cell(hide_code=True)
def _():
    kit.question(
        "Which forget bias keeps half of the derivative over thirty steps?",
        r"""About $b_f = 4$: the forget gate is then near 0.98, and $0.98^{30} \approx 0.55$. With fully open gates the derivative is exactly 1 after any
        number of steps, as along the skip connections of a ResNet.""",
        options=("About 0", "About 1", "About 4"),
        right=2,
    )
    return


@app.cell(hide_code=True)
def _(skip_bias, skip_open, skip_steps):
    def _along(bias, steps):
        """Follow the derivative of the cell state with respect to the first one along the belt: the gates see inputs only."""
        cell = LSTMCell(1, 1, seed=2).double()
        weight = cell.weight.detach().clone()
        weight[:, 0] = 0.0
        b = numbers(*bias, 0.0)
        g = torch.Generator().manual_seed(0)
        c = start = numbers(0.5).requires_grad_()
        h, slopes, belt = numbers(0.0), [1.0], [0.5]
        for u in torch.randn(steps, 1, generator=g, dtype=torch.float64):
            h, c = lstm_step(u, (h, c), weight, b)
            slopes.append(torch.autograd.grad(c, start, retain_graph=True)[0].item())
            belt.append(c.item())
        return slopes, belt

    _bias = (1000.0, 1000.0, 1000.0) if skip_open.value else (skip_bias.value, 0.0, 0.0)
    _slopes, _belt = _along(_bias, skip_steps.value)
    _t = list(range(skip_steps.value + 1))
    _scene = kit.plot(
        f"The derivative of the cell state with respect to the first one along the belt, {_slopes[-1]:.4g} after {skip_steps.value} steps",
        lines=[Series("derivative along the belt", _t, _slopes, "line2", size=2.4)],
        x=("step $t$", 0, 50),
        log_y=True,
        y=("", 1e-12, 10),
        size=(440, 230),
        wide=640,
    )
    kit.panel(
        [skip_open, *([] if skip_open.value else [skip_bias]), skip_steps],
        _scene,
        kit.facts(derivative=_slopes[-1], cell_state=_belt[-1]),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("The three cells compared", ids=("N5.42",)),
        kit.prose("""
            Two tasks that need a memory: adding two marked numbers of a sequence, and copying symbols after a delay. At
            short lags all cells do well; at long lags gated cells with an open memory have a clearly smaller loss.
        """),
        kit.question(
            "Compare the bars.",
            r"It guesses: its loss is about $\frac16$, that of the best constant answer.",
            options=("As well as the gated cells", "No better than guessing"),
            right=1,
            predict="Adding two numbers that stand up to 50 steps back: how well does the plain cell do?",
        ),
        kit.recorded(
            "memory_tasks",
            "Adding over 50 steps, the plain cell ends at a loss of {loss[5]:.2f}, no better than guessing; the GRU with its memory open ends at {loss[7]:.4f}.",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
