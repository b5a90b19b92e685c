import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Long memories")

with app.setup:
    import torch

    from lamina.data.sequences import agreement
    from lamina.drawing.charts import Series
    from lamina.drawing.unrolled import shaded
    from lamina.experiments.sensitivity_time import plain_cell, sensitivities
    from lamina.functional.clipping import clip, clip_by_global_norm, clip_by_tensor_norm, clip_by_value, global_norm
    from lamina.functional.initialization import memory_bias
    from lamina.inspection.sensitivity import sensitivity
    from lamina.layers.cells import GRUCell, LSTMCell
    from lamina.pages import kit
    from lamina.pages.chapters.ch5.long_term._work import cats

    CELLS = {"plain": "rnn", "GRU": "gru", "LSTM": "lstm"}
    READINGS = {"global": "all together", "tensor": "each tensor", "value": "each number"}

    def sentence(gap, number):
        """Draw a sentence of the task and its verb."""
        data = agreement(8, gap, seed=number)
        words = [data.spec.symbols[i] for i in data.inputs[0].tolist()]
        return " ".join(words).capitalize(), data.spec.classes[data.targets[0]]


@app.cell(hide_code=True)
def _(learn_bias, learn_cell, learn_gap, learner, learning):
    def _draw(job):
        steps = [row["step"] for row in job.rows]
        right = [row["accuracy"] for row in job.rows]
        until = max(60, steps[-1]) if job.state in ("idle", "done") and steps else 600
        scene = kit.chart(
            lines=[
                Series("guessing", [0, until], [0.5, 0.5], "muted", "dashed"),
                Series("right answers", steps, right, "line3", size=2.4),
                Series("loss", steps, [row["loss"] for row in job.rows], "line5"),
            ],
            x=("update", 0, until),
            y=("", 0, 1.05),
            size=kit.ALONE,
        )
        last = job.rows[-1] if job.rows else {"step": 0, "accuracy": "–", "loss": "–"}
        words = "Share of right answers over the updates"
        if job.rows:
            words += f"; now {last['accuracy']:.3f} after {last['step']} updates"
        return kit.lab(
            [
                learn_cell,
                learn_gap,
                *([learn_bias] if learn_cell.value != "rnn" else []),
                kit.note(job.words, "bad" if job.state == "failed" else "plain"),
            ],
            kit.svg(scene, words),
            kit.facts(update=last["step"], right=last["accuracy"], loss=last["loss"]),
            play=learning,
            about="The cat, which ..., was",
        )

    learner.show(
        _draw,
        running=learning,
        cell=learn_cell.value,
        gap=learn_gap.value,
        memory_bias=float(learn_bias.value) if learn_cell.value != "rnn" else 0.0,
    )
    return


@app.cell(hide_code=True)
def _():
    gap = kit.slider(1, 60, value=8, label="number of words in the gap")
    which = kit.slider(0, 20, value=0, label="another sentence")
    kit.column(
        kit.section("The cat, which ..., was", ids=("N5.24", "N5.25")),
        kit.prose(r"""
            "The cat, which …, **was**" but "The cats, which …, **were**": the verb depends on the second word, and any
            number of words may stand between them. For a recurrent network that means: what it read at the second step
            must still be in its state at the last one, and, while it learns, the gradient must find its way back.
            $$\text{the cat} \; \underbrace{u^{<3>} \; \dots \; u^{<T>}}_{\text{gap}} \;\to\; \text{was}, \qquad \text{the cats} \; u^{<3>} \; \dots \; u^{<T>} \;\to\; \text{were}$$
        """),
        kit.source(agreement),
    )
    return gap, which


@app.cell(hide_code=True)
def _(gap, which):
    _text, _verb = sentence(gap.value, which.value)
    kit.panel([gap, which], kit.note(f"{_text} …"), kit.facts(verb=_verb, words_read=gap.value + 2))
    return


@app.cell(hide_code=True)
def _():
    learn_cell = kit.dropdown(CELLS, value="plain", label="cell")
    learn_gap = kit.steps([2, 5, 10, 20, 40, 60], value=10, label="gap", debounce=True)
    learn_bias = kit.steps([0, 1, 2, 3, 4], value=0, label="memory bias", debounce=True)
    learning = kit.play("Learn")
    learner = kit.train(cats)
    kit.prose("""
        Let a network learn it, here and now. It reads new sentences all the time and is asked about 500 others; half of the answers
        right means guessing. Start with the plain cell and a short gap, then make the gap longer. Then try a gated cell,
        once with its memory half closed (memory bias 0) and once with its memory open (3).
    """)
    return learn_bias, learn_cell, learn_gap, learner, learning


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("Over several starting points, with at most 200 updates each:"),
        kit.recorded(
            "accuracy_against_gap",
            "Over 60 words the GRU that starts with its memory open is right in {accuracy[12]:.0%} of all cases; with zero biases it guesses, {accuracy[11]:.0%}.",
        ),
        kit.question(
            "The notes say that gates solve the problem. Does the GRU with memory bias 0 solve the gap of 60?",
            r"""No: it guesses, like the plain cell. Gates that start half open lose half of the state at every step, and
            $2^{-60}$ of a gradient is nothing. With the memory open from the start, GRU and LSTM have learned it after 50 to 100 updates. So it
            is not gates alone that help, but open gates ([E67](/errata#E67)).""",
            options=("Yes", "No, it guesses"),
            right=1,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    radius = kit.slider(0.1, 3.0, 0.1, value=0.5, label="spectral radius")
    horizon = kit.slider(7, 40, value=30, label="steps $T$")
    weights_seed = kit.slider(0, 9, value=0, label="other random weights")
    kit.column(
        kit.section("How far back a state remembers", ids=("N5.26", "N5.29")),
        kit.prose(r"""
            Ask how much the state at time $t$ changes when the *first* input changes a little. Between them lie $t - 1$
            products with the recurrent weights and the slope of tanh. If the largest eigenvalue of the recurrent
            weights, their **spectral radius**, is small, the product vanishes; if it is large, it can explode. On its
            way back the gradient passes through the same factors.
            $$\Big\lVert \frac{\partial h^{<t>}}{\partial u^{<1>}} \Big\rVert_F, \qquad \frac{\partial h^{<t>}}{\partial h^{<t-1>}} = \operatorname{diag}\big(\sigma'(z^{<t>})\big) \, W_{hh}$$
        """),
        kit.source(sensitivity, plain_cell),
    )
    return horizon, radius, weights_seed


@app.cell(hide_code=True)
def _():
    kit.question(
        "At which radius does the first input neither fade nor grow? Why does a radius of 3 not explode without limit?",
        """Somewhat above 1, depending on the random weights: tanh takes away a part at every step, and more of it when the states
        are larger. With a large radius the states run into the flat ends of tanh, whose slope is almost 0, and that works against the
        growth. Without tanh, a cell with 1.3 times an orthogonal matrix grows by exactly 1.3 in every step.""",
        options=("Yes", "No"),
        right=1,
        predict="A plain cell with radius 3: does the first input grow without limit?",
    )
    return


@app.cell(hide_code=True)
def _(horizon, radius, weights_seed):
    _g = torch.Generator().manual_seed(weights_seed.value)
    _norms = sensitivities(*plain_cell(radius.value, _g), horizon.value, _g)
    _t = list(range(1, horizon.value + 1))
    _scene = kit.plot(
        f"How strongly the state at each time feels the first input: {_norms[0]:.3g} at 1, {_norms[-1]:.3g} at {horizon.value}",
        lines=[Series("", _t, _norms, "accent", size=2.4)],
        points=[Series("", _t, _norms, "accent")],
        x=("time $t$", 0.5, 40.5),
        y=("influence of the first input", 1e-12, 1e4),
        log_y=True,
        size=(440, 250),
    )
    _factor = (_norms[-1] / _norms[0]) ** (1 / (horizon.value - 1))
    kit.panel(
        [radius, horizon, weights_seed],
        kit.svg(
            shaded(_norms[:7]),
            f"The unrolled network, darker where the first input is felt: {', '.join(f'{x:.2g}' for x in _norms[:7])}",
            caption="The figure of the notes with measured shades: states and outputs of the first seven steps.",
        ),
        _scene,
        kit.facts(at_1=_norms[0], at_7=_norms[6], at_the_end=_norms[-1], factor_of_a_step=_factor),
    )
    return


@app.cell(hide_code=True)
def _():
    g_first = kit.slider(-6, 6, 0.1, value=3.0, label="gradient of $W_1$")
    g_second = kit.slider(-6, 6, 0.1, value=4.0, label="gradient of $W_2$")
    g_bias = kit.slider(-6, 6, 0.1, value=0.3, label="gradient of $b$")
    bound = kit.slider(0.1, 6, 0.1, value=1.0, label="bound $C$")
    kit.column(
        kit.section("Clipping the gradient", ids=("N5.27", "N5.28")),
        kit.prose(r"""
            An exploding gradient can be tamed by force: if it is too long, shorten it to a length $C > 0$. That is a
            heuristic, but a robust one. What is "it"? The notes say "some variable $\theta_i$", which can be read in
            three ways: every number by itself, every weight matrix by itself, or all gradients together. Only the last,
            which the book cited there and PyTorch use, keeps the direction; the other two turn it ([E68](/errata#E68)).
            $$g \;\leftarrow\; C \, \frac{g}{\lVert g \rVert} \qquad \text{if} \; \lVert g \rVert \ge C$$
        """),
        kit.source(clip_by_global_norm, clip_by_tensor_norm, clip_by_value),
    )
    return bound, g_bias, g_first, g_second


@app.cell(hide_code=True)
def _(bound, g_bias, g_first, g_second):
    _g = {
        "W": torch.tensor([g_first.value, g_second.value], dtype=torch.float64),
        "b": torch.tensor([g_bias.value], dtype=torch.float64),
    }
    _flat = torch.cat(list(_g.values()))
    _rows, _points = [("before", *_flat.tolist(), global_norm(_g).item(), 1.0)], []
    for _by, _words in READINGS.items():
        _clipped = clip(_g, bound.value, _by)
        _now = torch.cat(list(_clipped.values()))
        _cosine = torch.nn.functional.cosine_similarity(_flat, _now, 0).item()
        _rows.append((_words, *_now.tolist(), global_norm(_clipped).item(), _cosine))
        _points.append(_now)
    _colors = ("line3", "line4", "line5")
    _scene = kit.plot(
        f"The gradient of W before and after clipping; lengths {_rows[1][4]:.3f}, {_rows[2][4]:.3f}, {_rows[3][4]:.3f}; cosines {_rows[1][5]:.3f}, {_rows[2][5]:.3f}, {_rows[3][5]:.3f}",
        lines=[
            Series("before", [0, g_first.value], [0, g_second.value], "muted", "dashed"),
            *(
                Series(words, [0, p[0].item()], [0, p[1].item()], color, size=4.0 - i)
                for i, (words, p, color) in enumerate(zip(READINGS.values(), _points, _colors, strict=True))
            ),
        ],
        x=("$W_1$", -6, 6),
        y=("$W_2$", -6, 6),
        size=(330, 300),
        wide=420,
    )
    kit.panel(
        [g_first, g_second, g_bias, bound],
        kit.table(("clipped", "W 1", "W 2", "b", "length", "cosine"), _rows, caption="The gradient in its three readings"),
        _scene,
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "For which bounds do all three readings agree? And which reading can leave the whole gradient longer than $C$?",
            r"""They agree when no number, no tensor and not even the whole gradient is longer than $C$: then none of them changes anything. Clipping each number or
            each tensor bounds nothing else: with $C = 1$ the first example keeps the length 1.44 and 1.04, and both turn the direction a little.
            PyTorch divides by the norm plus $10^{-6}$ and so ends a millionth below $C$.""",
            options=("Yes", "No"),
            right=1,
            predict="Clipping every number at $C$: is the whole gradient then at most $C$ long?",
        ),
        kit.prose("""
            Does clipping help? Against explosion, yes: without it every run of the first task below ended in infinity, with it none
            did. Against vanishing, no: a gradient that is too short is not made longer by a bound. There clipping changed not a single weight.
        """),
        kit.recorded(
            "clipping_and_memory",
            "With exploding gradients all {diverged[0]} runs without clipping diverged and none with it; with vanishing ones the loss stays at {end[2]:.3f}, clipped or not.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    gate_bias = kit.slider(0, 8, 0.5, value=6, label="memory bias $m$")
    gate_seed = kit.slider(0, 9, value=0, label="other random weights")
    kit.column(
        kit.section("Gates against forgetting", ids=("N5.30", "N5.31")),
        kit.prose(r"""
            The other remedy changes the cell. A **gate** is a number between 0 and 1 for every component, computed from
            the state and the input, that decides how much may pass. The GRU (2014) and the LSTM (1997; its forget gate came
            a few years later, [E75](/errata#E75)) are built from gates; the next page takes them apart. The $\sigma$ in a gate is always the
            logistic sigmoid, not tanh ([E64](/errata#E64)).

            How much they help depends on where they start. The memory bias $m$ opens the memory: a share $\sigma(m)$ of the
            state survives a step before anything is learned.
            $$\Gamma = \sigma\big(W \, [h^{<t-1>}; u^{<t>}] + b\big) \in (0, 1)^{n_h}$$
        """),
        kit.source(memory_bias),
    )
    return gate_bias, gate_seed


@app.cell(hide_code=True)
def _(gate_bias, gate_seed):
    _g = torch.Generator().manual_seed(gate_seed.value)
    _u = torch.randn(1, 30, 4, generator=_g, dtype=torch.float64)
    _u[:, 1:] *= 0.1
    _curves = {"plain, radius 0.5": sensitivities(*plain_cell(0.5, _g), 30, _g)}
    for _name, _made in (("GRU", GRUCell), ("LSTM", LSTMCell)):
        _cell = _made(4, 16, memory_bias=gate_bias.value, scale=0.6, seed=gate_seed.value).double()
        _curves[_name] = sensitivity(_cell, _u).to(1)
    _t = list(range(1, 31))
    _scene = kit.plot(
        f"How strongly the state at time t feels the first input; after 30 steps plain {_curves['plain, radius 0.5'][-1]:.2g}, GRU {_curves['GRU'][-1]:.2g}, LSTM {_curves['LSTM'][-1]:.2g}",
        lines=[
            Series(name, _t, values, color, size=2.2)
            for (name, values), color in zip(_curves.items(), ("muted", "line1", "line2"), strict=True)
        ],
        x=("time $t$", 0.5, 30.5),
        y=("influence of the first input", 1e-12, 10),
        log_y=True,
        size=(440, 260),
    )
    kit.panel(
        [gate_bias, gate_seed],
        _scene,
        kit.facts(
            GRU_keeps=_curves["GRU"][-1] / _curves["GRU"][0], LSTM_keeps=_curves["LSTM"][-1] / _curves["LSTM"][0]
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "first_input_over_time",
            "After 30 steps a plain cell of radius 0.5 keeps {t=30[0]:.0e} of the first input, an LSTM with its memory open {t=30[7]:.1f}.",
        ),
        kit.question(
            "Set the memory bias to 0. How do the gated cells compare with the plain one? From which bias on is a tenth still felt after 30 steps?",
            """At 0, about half of the state is lost at every step, and after 30 steps less than a hundred-thousandth is felt. With a bias of 2 the LSTM
            keeps most of it, with a bias of 3 the GRU a quarter: a share of 0.95 stays at each step.""",
            options=("Most of it", "About a tenth", "Less than a hundred-thousandth"),
            right=2,
            predict="Memory bias 0: how much of the first input do gated cells feel after 30 steps?",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
