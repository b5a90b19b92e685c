import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Vanishing gradients")

with app.setup:
    from itertools import accumulate
    from operator import mul

    import marimo as mo
    import torch

    from lamina.architectures.build import build
    from lamina.drawing.blocks import residual_block
    from lamina.drawing.charts import Note, Series
    from lamina.drawing.network import network
    from lamina.experiments.gradients import FACTORS, products
    from lamina.experiments.residual import STARTS
    from lamina.experiments.scalar_chain import scalar_chain
    from lamina.functional.chain_rule import chain_gradients, chain_product, layer_jacobian
    from lamina.functional.dense import parameter_count
    from lamina.functional.residual import residual_step, zero_pad_projection
    from lamina.inspection import gradient_flow, jacobians
    from lamina.layers.residual import SimpleResNetLayer
    from lamina.pages import kit
    from lamina.pages.chapters.ch4._shared import race_chart
    from lamina.pages.chapters.ch4.vanishing._work import STEPS, both

    ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "ReLU": "relu", "none (identity)": "identity"}
    BEGINNINGS = {
        "Xavier": {"initialization": "xavier"},
        "He": {"initialization": "he"},
        "standard deviation 0.01": {"initialization": "gaussian", "scale": 0.01},
        "standard deviation 0.2": {"initialization": "gaussian", "scale": 0.2},
    }


@app.cell(hide_code=True)
def _(begin, depth, sigma, tau, width):
    _n, _L = int(width.value), depth.value
    _options = {"inputs": _n, "outputs": _n, "activation": sigma.value, "seed": 0, **BEGINNINGS[begin.value]}
    _plain = build("fnn", hidden=(_n,) * (_L - 1), last_activation=sigma.value, **_options).double().layers
    _residual = build("dense-resnet", hidden=(_n,) * _L, step_size=tau.value, **_options).double().layers
    _g = torch.Generator().manual_seed(1000)
    _u, _s = (torch.randn(128, _n, generator=_g, dtype=torch.float64) for _ in range(2))
    _flows = {"FNN": gradient_flow(_plain, _u, _s), "ResNet": gradient_flow(_residual, _u, _s)}
    _colors = {"FNN": "line2", "ResNet": "line1"}
    _states = kit.chart(
        lines=[
            Series(
                name,
                list(range(_L + 1)),
                [
                    g / flow.layers[-1].state_gradient
                    for g in (flow.input_gradient, *(x.state_gradient for x in flow.layers))
                ],
                _colors[name],
                size=2.4,
            )
            for name, flow in _flows.items()
        ],
        title="gradient that reaches a layer",
        x=("layer", 0, _L),
        y=("", 1e-25, 1e10),
        log_y=True,
        size=kit.MAIN,
    )
    _factors = kit.plot(
        "The largest singular value of each layer's Jacobian at one input, for both networks.",
        lines=[
            Series(
                name,
                list(range(1, _L + 1)),
                [x.largest for x in jacobians(net, _u[0]).layers],
                _colors[name],
                "",
                size=2.0,
            )
            for name, net in (("FNN", _plain), ("ResNet", _residual))
        ],
        title="norm of each factor",
        x=("layer", 1, _L),
        y=("", 1e-3, 1e2),
        log_y=True,
        size=kit.BESIDE,
    )
    _ratios = {name: flow.state_ratio for name, flow in _flows.items()}
    _warnings = [kit.note(f"{name}: {sentence}", "warn") for name, flow in _flows.items() for sentence in flow.warnings]
    kit.lab(
        kit.controls("Depth, width, activation and first weights", depth, width, sigma, begin, tau),
        kit.row(
            kit.svg(
                _states,
                f"Of the last gradient, the input gets {_ratios['FNN']:.1e} in the FNN and {_ratios['ResNet']:.2g} in the ResNet of depth {_L}.",
            ),
            _factors,
        ),
        kit.facts(FNN=kit.number(_ratios["FNN"], 2), ResNet=kit.number(_ratios["ResNet"], 2), layers=_L),
        *(_warnings or [kit.note("No warning: signals and gradients pass in both networks.", "good")]),
        about="Any depth, any width",
    )
    return


@app.cell(hide_code=True)
def _():
    rule = kit.dropdown([*FACTORS, "my own number"], value="1/2", label="factor of layer j")
    own = kit.slider(-2, 2, 0.05, value=0.9, label="my own number")
    layers = kit.slider(1, 200, 1, value=40, label="layers $L$")
    kit.column(
        kit.section("A product with as many factors as layers", ids=("N4.01", "N4.02", "N4.03")),
        kit.prose(r"""
            Training asks of every weight: how would the loss change if it changed? For a weight of an early layer the answer
            has to come back through all later layers, and the chain rule multiplies one factor for each of them.
        """),
        kit.formula(
            r"\frac{\partial \mathscr{L}}{\partial W^{[\ell]}} = \frac{\partial \mathscr{L}}{\partial y^{[L]}} \cdot"
            r"\prod_{j=L}^{\ell+2} \frac{\partial y^{[j]}}{\partial y^{[j-1]}} \cdot"
            r"\frac{\partial y^{[\ell+1]}}{\partial W^{[\ell]}}",
            r"a feedforward network of depth $L$; the factors are ordered by falling $j$",
        ),
        kit.prose(r"""
            Many factors that are small make the product tend to zero, and early layers learn nothing: the **vanishing
            gradient**. Many that are large make it grow beyond all bounds: the **exploding gradient**. Choose a factor
            and let the depth grow.
        """),
        kit.source(chain_product),
    )
    return layers, own, rule


@app.cell(hide_code=True)
def _(layers, own, rule):
    _factor = FACTORS.get(rule.value, lambda j: own.value)
    _sizes = [abs(p) for p in accumulate((_factor(j) for j in range(1, layers.value + 1)), mul)]
    _last = _sizes[-1]
    _scene = kit.plot(
        f"The product of {layers.value} factors {rule.value} has the size {_last:.2e}.",
        lines=[Series("size of the product", list(range(1, layers.value + 1)), _sizes, "line2")],
        notes=[Note(layers.value, min(max(_last, 1e-29), 1e29), kit.number(_last, 3), anchor="end")],
        x=("layers $L$", 1, max(2, layers.value)),
        y=("", 1e-30, 1e30),
        log_y=True,
        size=(430, 260),
    )
    kit.panel(
        kit.controls("Factor and depth", rule, layers, *([own] if rule.value == "my own number" else [])),
        _scene,
        kit.facts(product=_last),
    )
    return


@app.cell(hide_code=True)
def _():
    _table = products()
    kit.column(
        kit.finding(
            _table,
            "After 100 layers a factor of 1/2 leaves {L = 100[0]:.0e} and −2 makes {L = 100[2]:.0e}; after 1,000 layers the factors 1 − 1/(j+1)² still leave {L = 1000[1]:.2f}.",
        ),
        kit.prose(r"""
            The notes ask for factors below 1, or above 1 ([E54](/errata#E54)). Two things are missing there: it is the **absolute value** that
            counts, since $-2 < 1$ and its powers explode, and it must stay away from 1 by a fixed amount, since
            $\prod_j \big(1 - 1/(j+1)^2\big)$ tends to $\tfrac12$ and $\prod_j \big(1 + 1/j^2\big)$ to 3.676. For matrices:
            norms of at most $q < 1$ make the product vanish, least singular values of at least $q > 1$ make it explode.
        """),
        kit.question(
            r"Take your own number. At 100 layers, which numbers leave between a thousandth and a thousand of the gradient?",
            r"""The hundredth root of 1000 is 1.072, so it must lie between 0.933 and 1.072 in absolute value. On the slider
            that leaves $\pm 0.95$, $\pm 1$ and $\pm 1.05$. A deep network has to balance on this narrow ridge in every layer, or it needs another
            construction.""",
            options=("A tenth", "Less than a thousandth", "None, exactly"),
            right=1,
            predict="A factor of 0.9 in each of 100 layers. How much of the gradient is left?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    n_in = kit.slider(1, 6, 1, value=3, label=r"width before, $n_{\ell-1}$")
    n_out = kit.slider(1, 6, 1, value=5, label=r"width after, $n_\ell$")
    kind = kit.dropdown(
        {"learned": "learned", "pad with zeros": "zero-pad"}, value="learned", label="where widths differ"
    )
    kit.column(
        kit.section("The skip connection", ids=("N4.04", "N4.05", "N4.06")),
        kit.prose(r"""
            Residual networks (ResNets) were invented against the vanishing gradient. A residual layer computes what a feedforward layer
            computes, and then adds what came in. The input jumps over the layer, hence **skip connection**; the layer has to
            learn only the difference.
        """),
        kit.formula(
            r"y^{[\ell]} = y^{[\ell-1]} + \sigma^{[\ell]}\big(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}\big),"
            r"\qquad \ell = 1, \ldots, L, \quad y^{[0]} = u",
            "Eq. (9): the simplified residual layer",
        ),
        kit.svg(
            residual_block("residual-layer"),
            "Fig. 26: affine map, activation, sum, and the skip arrow from the input to the sum",
        ),
        kit.prose(r"""
            The sum needs vectors of one size. Where the width changes, a matrix $P$ brings the input to the new size.
            The notes call it a projection; it is rectangular, so it is not one in the algebraic sense ([E55](/errata#E55)). It may be learned, or
            fixed: pad with zeros, or cut off.
        """),
        kit.formula(
            r"y^{[\ell]} = P_{\ell-1}^{\ell}\, y^{[\ell-1]} + \sigma^{[\ell]}\big(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}\big),"
            r"\qquad P_{\ell-1}^{\ell} \in \mathbb{R}^{n_\ell \times n_{\ell-1}}",
            "Remark 4.1",
        ),
        kit.source(residual_step, zero_pad_projection),
    )
    return kind, n_in, n_out


@app.cell(hide_code=True)
def _():
    kit.question(
        "When does a residual layer have exactly as many parameters as a layer of a feedforward network, and what does it do before it has learned anything?",
        r"""When the widths agree, or when the fixed matrix is taken: the skip connection costs nothing. With zero weights (and ReLU
        or tanh) it passes its input on unchanged, while a plain layer answers zero and forgets everything. With a learned $P$ the identity
        in all formulas below becomes $P$, which may shrink gradients again.""",
        options=("It answers zero", "It passes its input on", "It depends on the input"),
        right=1,
        predict="What does a residual layer do when all of its weights are zero?",
    )
    return


@app.cell(hide_code=True)
def _(kind, n_in, n_out):
    _layer = SimpleResNetLayer(n_in.value, n_out.value, projection=kind.value, initialization="constant", scale=0.0)
    _u = torch.arange(1, n_in.value + 1, dtype=torch.float32)
    _y = _layer(_u).tolist()
    _same = n_in.value == n_out.value
    _parameters = sum(p.numel() for p in _layer.parameters())
    _words = ", ".join(kit.number(round(v, 2)) for v in _y)
    kit.panel(
        [n_in, n_out, kind],
        kit.svg(
            residual_block(_layer),
            f"A residual layer from {n_in.value} to {n_out.value} numbers with {_parameters} parameters.",
        ),
        kit.facts(parameters=_parameters, as_FNN_layer=parameter_count((n_in.value, n_out.value))),
        kit.note(
            f"With all weights of the branch at zero, ({', '.join(str(int(v)) for v in _u.tolist())}) becomes ({_words})"
            + (": the identity." if _same else ": what P makes of it.")
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    chain_weights = mo.ui.array(
        [kit.slider(-3, 3, 0.1, value=v, label=f"weight $W^{{[{i}]}}$") for i, v in enumerate((0.5, -0.4, 0.8))]
    )
    chain_input = kit.slider(-2, 2, 0.1, value=1.0, label="input $u$")
    chain_sigma = kit.dropdown(ACTIVATIONS, value="tanh", label="activation of the chain")
    chain_skip = mo.ui.switch(value=True, label="skip connections")
    kit.column(
        kit.section("Three layers by hand", ids=("N4.07", "N4.08")),
        kit.prose(r"""
            Example 4.2: one node per layer, no biases, depth $L = 3$. Write $a^{[\ell]} = \sigma(W^{[\ell-1]} y^{[\ell-1]})$,
            so that $y^{[\ell]} = y^{[\ell-1]} + a^{[\ell]}$. Every factor of the product has become one plus what it was.
            $$\frac{\partial \mathscr{L}}{\partial W^{[0]}} = \frac{\partial \mathscr{L}}{\partial y^{[3]}}\Big(1 + \frac{\partial a^{[3]}}{\partial y^{[2]}}\Big)\Big(1 + \frac{\partial a^{[2]}}{\partial y^{[1]}}\Big)\frac{\partial y^{[1]}}{\partial W^{[0]}}$$
        """),
        kit.source(scalar_chain, chain_gradients),
    )
    return chain_input, chain_sigma, chain_skip, chain_weights


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Choose no activation (the identity). Find weights for which the first gradient is zero with skip connections, but not without.",
        r"""Set $W^{[1]} = -1$ or $W^{[2]} = -1$: then the factor $1 + W$ is 0. The notes say that with skip connections gradients do not
        vanish even if all $\partial a / \partial y < 1$. That is what usually happens, and it is true for factors of at least 0, but near $-1$ the
        identity and the branch cancel ([E56](/errata#E56)).""",
        options=("No, the identity saves it", "Yes, for one weight"),
        right=1,
        predict="Can a gradient vanish with a skip connection where it would not without?",
    )
    return


@app.cell(hide_code=True)
def _(chain_input, chain_sigma, chain_skip, chain_weights):
    _chain = scalar_chain(chain_weights.value, chain_input.value, 1.0, chain_sigma.value, residual=chain_skip.value)
    _scene = network(
        (1, 1, 1, 1),
        weights=[[[w]] for w in chain_weights.value],
        weight_names=True,
        loss=True,
        skip=chain_skip.value,
    )
    _apart = max(abs(a - b) for a, b in zip(_chain.formula, _chain.autograd, strict=True))
    _rows = [
        (
            f"{layer + 1}",
            w,
            _chain.branches[layer],
            _chain.features[layer + 1],
            _chain.factors[layer],
            _chain.formula[layer],
            _chain.autograd[layer],
        )
        for layer, w in enumerate(chain_weights.value)
    ]
    kit.panel(
        kit.controls("Weights, input and activation", chain_skip, *chain_weights.elements, chain_input, chain_sigma),
        kit.svg(
            _scene,
            f"{'Fig. 27' if chain_skip.value else 'Fig. 16'}: a chain of three layers; the gradient of the first weight is {_chain.formula[0]:.4f}, the loss {_chain.loss:.4f}.",
        ),
        kit.table(
            ("layer", "weight before", "branch a", "state y", "factor dy/dy", "gradient of the weight", "by autograd"),
            _rows,
            caption="The loss is half the squared distance of the last state to 1; a weight's gradient is the product of the later factors",
        ),
        kit.facts(loss=_chain.loss, first_gradient=_chain.formula[0], largest_difference=_apart),
    )
    return


@app.cell(hide_code=True)
def _():
    depth = kit.slider(2, 50, 1, value=20, label="depth $L$", debounce=True)
    width = kit.dropdown(["8", "16", "32", "64"], value="64", label="width")
    sigma = kit.dropdown(ACTIVATIONS, value="sigmoid", label="activation of all layers")
    begin = kit.dropdown(list(BEGINNINGS), value="Xavier", label="initial weights")
    tau = kit.dropdown({"1": 1.0, "1/L": "1/L"}, value="1", label="step size of the ResNet")
    kit.column(
        kit.section("Any depth, any width", ids=("N4.09", "N4.10", "N4.11", "N4.12")),
        kit.prose(r"""
            For vectors the number one becomes the identity matrix, biases do not change the structure, and the formula
            holds for every depth.
        """),
        kit.formula(
            r"\frac{\partial \mathscr{L}}{\partial W^{[\ell]}} = \frac{\partial \mathscr{L}}{\partial y^{[L]}} \cdot"
            r"\prod_{j=L}^{\ell+2} \Big(\mathbb{I} + \frac{\partial a^{[j]}}{\partial y^{[j-1]}}\Big) \cdot"
            r"\frac{\partial y^{[\ell+1]}}{\partial W^{[\ell]}}",
            "Eq. (10)",
        ),
        kit.prose(r"""
            Below, two networks with the same widths get normally distributed inputs. On the left: how much of the gradient
            $\partial\mathscr{L}/\partial y^{[L]}$ arrives at each layer, coming from the right. On the right: the norm of each
            factor, $\partial y^{[j]}/\partial y^{[j-1]}$.
        """),
        kit.source(gradient_flow, jacobians, layer_jacobian),
    )
    return begin, depth, sigma, tau, width


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "Which combinations of activation and initial weights save the plain network at depth 50? And which make even the ResNet explode?",
            r"""ReLU with He's weights lets signals through the plain network (that is what the rule was made for), and so does tanh with Xavier's or
            He's; the sigmoid never does, because its slope is at most 1/4. The same He weights are too much for the ResNet with ReLU: every
            layer adds as much as was there, and at depth 50 the gradient has grown to $10^{11}$. The step size $1/L$ keeps it at about 1; so do
            small weights on the branches or batch normalization.""",
            options=("The same", "Its gradient explodes", "Its gradient vanishes"),
            right=1,
            predict="He's weights and ReLU keep the plain network alive. What do they do to the ResNet?",
        ),
        kit.prose(r"""
            So the identity survives in every architecture with skip connections, and typically gradients neither vanish nor
            explode. This is not a theorem, as these three networks show: factors near $1 - 0.9$, ReLU units that are dead (the
            state's gradient passes, but the weights get exactly nothing), and weights that are too large.
        """),
        kit.recorded(
            "residual_exceptions",
            "A weight of −0.9 lets the gradient shrink to {state gradient[0]:.0e}, He's weights let it grow to {state gradient[2]:,.0f}; the step size $1/L$ holds it at {state gradient[3]:.1f}.",
        ),
        kit.prose(
            "That the product is the derivative, biases included, can be checked against automatic differentiation:"
        ),
        kit.recorded(
            "identity_term",
            "After 30 layers the product with the identity has norm {with the identity[3]:.1f}; without it, {without[3]:.0e}.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    train_depth = kit.slider(2, 30, 1, value=20, label="layers to train", debounce=True)
    train_start = kit.dropdown(list(STARTS), value="sigmoid, Xavier", label="start")
    train_go = kit.play("Train")
    training = kit.train(both)
    kit.column(
        kit.section("Does it matter for learning?", ids=("N4.13",)),
        kit.prose("""
            Two networks with the same start and the same depth, 32 units per layer, learn two moons from 128 points in 250 steps of Adam, one with skip connections and
            one without. Guessing would be right half of the time.
        """),
    )
    return train_depth, train_go, train_start, training


@app.cell(hide_code=True)
def _(train_depth, train_go, train_start, training):
    def _draw(job):
        colors = {"FNN": "line2", "ResNet": "line1"}
        last = job.rows[-1] if job.rows else None
        words = (
            f"After {last['epoch']} steps the FNN has {last['FNN']['validation_accuracy']:.1%} right, the ResNet {last['ResNet']['validation_accuracy']:.1%}."
            if last
            else "Nothing has been trained yet."
        )
        scene = race_chart(
            job.rows, colors, "validation_accuracy", until=STEPS, y_label="correct on other points", y_range=(0.3, 1.0)
        )
        return kit.panel(
            kit.controls("Depth and start", train_depth, train_start, train_go),
            kit.svg(scene, f"The share of right answers of both networks. {words}"),
            kit.note(f"{words} ({job.words})", "bad" if job.state == "failed" else "plain"),
        )

    training.show(_draw, running=train_go, depth=train_depth.value, start=train_start.value, seed=0)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "deep_residual_training",
            "With 20 layers the plain networks stay at {accuracy[0]:.0%}, a coin toss; the residual ones reach {accuracy[1]:.1%} with the sigmoid and {accuracy[3]:.1%} with tanh.",
        ),
        kit.question(
            "How many layers can the plain sigmoid network have and still learn the moons in 250 steps?",
            """Up to about a dozen: it then finds a straight border and gets some 85% right, but it never finds the bend of the moons. At 20 layers it stays at
            one half, as if it tossed a coin. The residual network learns at every depth of the slider, and the deeper ones learn the bend, too.""",
            options=("About 3", "About a dozen", "About 50"),
            right=1,
        ),
    )
    return


if __name__ == "__main__":
    app.run()
