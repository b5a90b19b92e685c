import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Ways downhill")

with app.setup:
    from itertools import pairwise

    import marimo as mo
    import torch

    from lamina.classical.linear_regression import fit, gradient, squared_error
    from lamina.drawing.charts import Note, Series
    from lamina.experiments.figures_curves import two_minima_loss
    from lamina.functional.optimizers import (
        Adam,
        adam,
        gradient_descent,
        momentum,
        sample_indices,
    )
    from lamina.inspection.landscape import optimizer_path
    from lamina.inspection.surfaces import SURFACES, bowl
    from lamina.pages import kit
    from lamina.pages.chapters.ch1._shared import COLORS, line_surface, regression_data, terrain
    from lamina.pages.chapters.ch1.descent._work import line_search_path, race
    from lamina.training.line_search import armijo
    from lamina.training.recipe import Schedule, Stopping, rates
    from lamina.training.stopping import rules

    F64 = torch.float64
    LAST = 60
    FORMULAS = {
        "long bowl": r"$\tfrac12 (\theta_1^2 + 40\, \theta_2^2)$",
        "bent valley": r"$(1 - \theta_1)^2 + 10\, (\theta_2 - \theta_1^2)^2$",
        "two valleys": r"$\theta_1^4 - 2\, \theta_1^2 + \theta_1 / 2 + \theta_2^2$",
        "saddle": r"$2\, \theta_2^2 - \theta_1^2 + \theta_1^4 / 4$",
    }
    METHODS = {"gradient descent": "gd", "momentum": "momentum", "Adam": "adam"}
    SAYS = {  # what was recorded about one example, a few, or all
        "N1.41": "One step computes {gradients per step[0]:,.0f} gradients with all examples, {gradients per step[1]:.0f} with a mini batch, {gradients per step[2]:.0f} with one; the batch took {microseconds per step[1]:.0f} µs, the single example {microseconds per step[2]:.0f}.",
        "N1.46": "All batches together are right on average; for $b = 4$ their variance is {variance[6]:.3f} without replacement and {variance[7]:.3f} with it, as the formulas say.",
        "N1.43": "With single examples the descent stays at a squared distance of {squared distance[0]:.4f}, with four at {squared distance[1]:.4f}; theory says {theory[0]:.4f} and {theory[1]:.4f}.",
    }


@app.cell(hide_code=True)
def _(field, from_x, from_y, ground, racers, tracks, upto):
    _k = upto.value
    _floor = field.function(torch.tensor(field.lowest, dtype=F64)).item()
    _paths = [
        (
            name,
            color,
            [p for p in track.points[: _k + 1].tolist() if max(map(abs, p)) < 1e3] or [[from_x.value, from_y.value]],
        )
        for (name, track), color in zip(tracks.items(), ("line2", "line3", "line5"), strict=True)
    ]
    _curves = kit.plot(
        "Height above the lowest point over the steps",
        [
            Series(
                name,
                list(range(_k + 1)),
                [v if 1e-12 < v < 1e6 else None for v in (track.values[: _k + 1] - _floor).tolist()],
                color,
                size=2.2,
            )
            for (name, track), color in zip(tracks.items(), ("line2", "line3", "line5"), strict=True)
        ],
        x=("step", 0, 80),
        y=("height above the lowest", 1e-6, 100),
        log_y=True,
        size=kit.BESIDE,
    )
    _heights = {name: track.values[_k].item() - _floor for name, track in tracks.items()}
    _ground, _hands = kit.grip(
        terrain(field, _paths, size=(390.0, 360.0)), "start", (from_x.value, from_y.value), field.x_range, field.y_range,
        ("start-theta-1", "start-theta-2"),
    )  # fmt: skip
    kit.lab(
        kit.controls("Landscape, start and step sizes", ground, from_x, from_y, *racers.elements),
        kit.svg(
            _ground,
            f"{ground.value} after {_k} steps: "
            + ", ".join(f"{name} is {height:.4g} above the lowest point" for name, height in _heights.items())
            + ".",
            width=900,
            caption=f"The loss is {FORMULAS[ground.value]}. Drag the white disc: it is the start of all three.",
            hands=_hands,
        ),
        _curves,
        kit.facts(**{name.replace(" ", "_"): height for name, height in _heights.items()}),
        play=upto,
        about="Adam",
    )
    return


@app.cell(hide_code=True)
def _():
    who = kit.slider(1, 8, 1, value=3, label="example $i$")
    theta_2 = kit.slider(-1, 3, 0.1, value=0.0, label=r"$\theta_2$, the slope")
    kit.column(
        kit.section("One vector, one number", ids=("N1.35",)),
        kit.prose(r"""
            Put all weights and biases into one long vector $\theta$. The loss is then one number for each $\theta$, and in learning it is a
            mean: every example has a loss of its own, and all of them count alike.
            $$\mathscr{L}(\theta) = \frac1N \sum_{i=1}^N \mathscr{L}^{(i)}(\theta), \qquad \mathscr{L}^{(i)}(\theta) = \tfrac12 \big\| y^{(i)} - S(u^{(i)}) \big\|^2 \;\text{ for the mean squared error}$$
        """),
        kit.source(squared_error),
    )
    return theta_2, who


@app.cell(hide_code=True)
def _():
    kit.question(
        "Can a single example's slope have the opposite sign to the average slope?",
        r"""Yes: try examples near the minimum, $\theta_2 = 1.5$. A step that is good for one example can be bad for the others. This is
        the whole difficulty of stochastic gradient descent below.""",
        options=("Their slopes always have the same sign", "They can have opposite signs", "They are always equal"),
        right=1,
        predict="Take the loss of all examples and that of one alone.",
    )
    return


@app.cell(hide_code=True)
def _(theta_2, who):
    _U, _S = regression_data(8, 0.3, 0)
    _theta = torch.tensor([0.5, theta_2.value], dtype=F64)
    _each = [squared_error(_theta, _U[i : i + 1], _S[i : i + 1]).item() for i in range(8)]
    _slopes = torch.stack([gradient(_theta, _U[i : i + 1], _S[i : i + 1]) for i in range(8)])
    _full = gradient(_theta, _U, _S)
    _mean = sum(_each) / 8
    _scene = kit.plot(
        f"The losses of eight examples; their mean, {_mean:.4f}, is the loss of all.",
        bars=[
            Series("loss of one example", list(range(1, 9)), _each, "line1!70"),
            Series("the chosen one", [who.value], [_each[who.value - 1]], "line2", size=0.8),
        ],
        lines=[Series("mean", [0.5, 8.5], [_mean, _mean], "ink", "dashed")],
        x=("example", 0.4, 8.6),
        size=(400, 240),
    )
    kit.panel(
        kit.controls("An example", who, theta_2),
        _scene,
        kit.facts(
            mean_of_the_losses=_mean,
            loss_of_all=squared_error(_theta, _U, _S).item(),
            slope_of_the_chosen=_slopes[who.value - 1, 1].item(),
            mean_of_the_slopes=_slopes[:, 1].mean().item(),
            slope_of_all=_full[1].item(),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    share = kit.slider(0.05, 1.1, 0.05, value=0.8, label=r"step size, as a share of $2/\lambda_{\max}$")
    condition = kit.steps([1, 2, 5, 10, 20, 50], value=10, label=r"condition number $\kappa$")
    angle = kit.slider(0, 90, 5, value=20, label="turned by (degrees)")
    taken = kit.slider(0, LAST, 1, value=15, label="steps $k$")
    count_steps = kit.experiment_button("Count the steps")
    kit.column(
        kit.section("Gradient descent", ids=("N1.36", "N1.38")),
        kit.prose(r"""
            The gradient points uphill, so take a step against it, of size $\tau$ times its length, and repeat. The step size $\tau$ is
            called the **learning rate**. On a quadratic bowl we know exactly how large it may be: if the largest curvature is
            $\lambda_{\max}$, the path leads down if and only if $\tau < 2 / \lambda_{\max}$.
        """),
        kit.formula(r"\theta^{k+1} = \theta^k - \tau\, \nabla \mathscr{L}(\theta^k)", "Alg. 2"),
        kit.prose(r"""
            A single step size for all components is a limitation. The steep direction forbids large steps, the flat one needs them, and the
            number of steps grows with the condition number $\kappa$, the ratio of the two curvatures.
        """),
        kit.source(gradient_descent, bowl),
    )
    return angle, condition, count_steps, share, taken


@app.cell(hide_code=True)
def _():
    kit.question(
        "Set the step size to 0.95, 1 and 1.05 times the bound. What happens in each case, and in which direction does the path swing?",
        r"""Below the bound it swings across the steep direction but still converges. At the bound it jumps from one wall to the other forever. Above it every jump is larger than the last. The flat direction takes no part in this; there the steps stay as
        small as ever.""",
        options=("It converges slowly", "It jumps between two walls forever", "It flies off"),
        right=1,
        predict="What does the path do at exactly the bound?",
    )
    return


@app.cell(hide_code=True)
def _(angle, condition, share):
    basin = bowl(float(condition.value), float(angle.value))
    way = optimizer_path(basin.function, basin.start, steps=LAST, learning_rate=share.value * 2 / basin.curvature)
    return basin, way


@app.cell(hide_code=True)
def _(angle, basin, condition, share, taken, way):
    _k = taken.value
    _values = [v if 1e-30 < v < 1e6 else None for v in way.values.tolist()]
    _curve = kit.plot(
        f"The loss over {LAST} steps; {way.values[-1].item():.3g} at the end.",
        [
            Series("loss", list(range(LAST + 1)), _values, "line2!45"),
            Series("", list(range(_k + 1)), _values[: _k + 1], "line2", size=2.6),
        ],
        x=("step $k$", 0, LAST),
        y=("loss", 1e-8, 1e3),
        log_y=True,
        size=(310, 280),
    )
    _loss = way.values[_k].item()
    kit.panel(
        kit.controls("The bowl and the step size", share, condition, angle, taken),
        kit.row(
            kit.svg(
                terrain(basin, [("", "line2", way.points[: _k + 1].tolist())], size=(370.0, 290.0)),
                f"Gradient descent after {_k} steps of size {share.value * 2 / basin.curvature:.4g}: the loss is {_loss:.4g}.",
            ),
            _curve,
            least=300,
        ),
        kit.facts(step_size=share.value * 2 / basin.curvature, bound=2 / basin.curvature, loss=_loss),
    )
    return


@app.cell(hide_code=True)
def _(count_steps):
    kit.measured(
        count_steps,
        "N1.38",
        "From condition 10 to 1000 gradient descent needs {gd[0]:.0f}, {gd[1]:.0f} and {gd[2]:,.0f} steps; with a separate step size for each component, {scaled[2]:.0f} are always enough.",
        "This is a recorded run; press the button to count again (about two seconds).",
    )
    return


@app.cell(hide_code=True)
def _():
    small = kit.slider(-5, -1, 1, value=-2, label=r"bound $\varepsilon = 10^x$, exponent $x$")
    pace = kit.steps([0.001, 0.01, 0.05, 0.2, 0.5, 1.0], value=0.2, label=r"step size $\tau$")
    errors = kit.slider(0, 1, 0.1, value=0.5, label="size of the errors in the data")
    kit.column(
        kit.section("When to stop", ids=("N1.37",)),
        kit.prose(r"""
            The notes name three rules: a maximal number of steps, a small loss, and a small step. The second rarely helps, because the smallest
            loss of noisy data is not zero; what is meant is a small **gradient** ([E14](/errata#E14)). And a small step may only mean that $\tau$ is small. The library therefore also offers the size of the gradient, the step relative to $\theta$, and
            the relative decrease of the loss.
            $$k \ge K, \qquad \mathscr{L}(\theta^k) < \varepsilon, \qquad \big\| \theta^{k+1} - \theta^k \big\| < \varepsilon, \qquad \big\| \nabla \mathscr{L}(\theta^k) \big\| < \varepsilon$$
        """),
        kit.source(rules),
    )
    return errors, pace, small


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Set $\tau = 0.001$. Which rules end the run far from the minimum? And when does the size of the loss ever end it?",
        r"""The two that look at one step: with a tiny $\tau$ every step is tiny, wherever you are. The size of the loss ends the run
        only if the smallest loss is below $\varepsilon$: set the errors in the data to 0.""",
        options=("A small gradient", "A small last step", "A small loss"),
        right=1,
        predict="With a tiny step size, which rule stops far from the minimum?",
    )
    return


@app.cell(hide_code=True)
def _(errors, pace, small):
    _eps = 10.0**small.value
    _U, _S = regression_data(30, errors.value, 0)
    _path = optimizer_path(lambda w: squared_error(w, _U, _S), (-1.5, -1.5), steps=200, learning_rate=pace.value)
    _norms = [gradient(w, _U, _S).norm().item() for w in _path.points]
    _moves = (_path.points[1:] - _path.points[:-1]).norm(dim=1) / _path.points[1:].norm(dim=1).clamp(min=1e-12)
    _history = [
        {
            "step": k + 1,
            "loss": _path.values[k + 1].item(),
            "gradient_norm": _norms[k + 1],
            "relative_step": _moves[k].item(),
        }
        for k in range(200)
    ]
    _asked = {
        "size of the loss": Stopping(loss_below=_eps),
        "size of the gradient": Stopping(gradient_norm=_eps),
        "relative step": Stopping(relative_step=_eps),
        "relative decrease of the loss": Stopping(relative_decrease=_eps),
        "maximal number of steps": Stopping(max_steps=100),
    }
    _best = fit(_U, _S)
    _rows, _ends = [], []
    for _name, _stopping in _asked.items():
        (_rule,) = rules(_stopping)
        _at = next((k for k in range(1, 201) if _rule(_history[:k]) is not None), None)
        _off = None if _at is None else (_path.points[_at] - _best.weight).norm().item()
        _rows.append(
            (_name, "never in 200 steps" if _at is None else f"step {_at}", "—" if _off is None else f"{_off:.3g}")
        )
        if _at is not None:
            _ends.append((_name, _at))
    _scene = kit.plot(
        f"Loss and gradient of a descent; the smallest possible loss is {_best.loss:.4f}.",
        [
            Series("loss", list(range(201)), _path.values.tolist(), "line1", size=2.2),
            Series("size of the gradient", list(range(201)), _norms, "line2", size=2.2),
            Series("bound", [0, 200], [_eps] * 2, "ink", "dotted"),
        ],
        x=("step", 0, 200),
        log_y=True,
        y=("", 1e-5, 10),
        size=(430, 260),
    )
    kit.panel(
        kit.controls("Bound, step size and data", small, pace, errors),
        _scene,
        kit.table(
            ("rule", "ends the run", "distance from the minimum then"),
            _rows,
            caption="Which rule stops the descent, and where",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    first = kit.steps([0.001, 0.01, 0.1, 1.0, 10.0, 100.0], value=10.0, label=r"first trial $\tau_0$")
    plan = kit.dropdown(["constant", "warmup", "cosine", "one-cycle", "step"], value="one-cycle", label="schedule")
    try_plans = kit.experiment_button("Try the schedules")
    kit.column(
        kit.section("How long a step", ids=("N1.39", "N1.40")),
        kit.prose(r"""
            A **line search** tries step sizes and takes the first that lowers the loss enough (Armijo's rule). It needs no tuning and never goes
            uphill, but every trial costs one evaluation of the loss on all data, so it is rare in machine learning. A **schedule** changes $\tau$ according to a plan.
            The notes advise starting small and increasing the rate; that is called warm-up. Most schedules fall in the end, and for SGD this is
            what makes it converge ([E16](/errata#E16)).
            $$\mathscr{L}(\theta - \tau g) \le \mathscr{L}(\theta) - c\, \tau \|g\|^2, \qquad \tau = \tau_0, \tfrac12 \tau_0, \tfrac14 \tau_0, \ldots$$
        """),
        kit.source(armijo, line_search_path, rates),
    )
    return first, plan, try_plans


@app.cell(hide_code=True)
def _():
    kit.question(
        "Give the line search a first trial of 100, then one of 0.001. How do the accepted steps differ after ten steps?",
        """Hardly: a trial that is too long is halved until it fits, and because each search begins with twice the last accepted step, one
        that is too short doubles. What differs is the price of the first step.""",
        options=("By a factor of 100,000", "By a factor of about 10", "Hardly at all"),
        right=2,
        predict="The first trial is 100 in one run and 0.001 in the other. How far apart are the accepted steps after ten steps?",
    )
    return


@app.cell(hide_code=True)
def _(first, plan):
    _valley = SURFACES["bent valley"]
    _points, _sizes, _losses = line_search_path(_valley, first.value, 40)
    _falls = all(b < a for a, b in pairwise(_losses))
    _taken = kit.plot(
        f"Accepted step sizes between {min(_sizes):.3g} and {max(_sizes):.3g}.",
        [Series("accepted step size", list(range(40)), _sizes, "line2", "step", size=2.0)],
        x="step",
        log_y=True,
        y=("", 1e-4, 10),
        size=(310, 240),
    )
    _plans = rates(Schedule(plan.value, every=8, factor=0.5), 0.2, 200, 5)
    _drawn = kit.plot(
        f"The learning rate of the schedule {plan.value}: first {_plans[0].item():.3g}, last {_plans[-1].item():.3g}.",
        [Series("", list(range(200)), _plans.tolist(), "line1", size=2.2)],
        x="step",
        y=(r"learning rate $\tau$", 0, 0.22),
        size=(310, 240),
    )
    kit.column(
        kit.panel(
            kit.controls("Line search", first),
            kit.row(
                kit.svg(
                    terrain(_valley, [("", "line2", _points)], size=(360.0, 270.0)),
                    f"Line search from a first trial of {first.value:g}: after 40 steps the loss is {_losses[-1]:.4f}; it {'fell at every step' if _falls else 'did not fall at every step'}.",
                ),
                _taken,
                least=300,
            ),
        ),
        kit.panel(kit.controls("Schedule", plan), _drawn),
    )
    return


@app.cell(hide_code=True)
def _(try_plans):
    kit.measured(
        try_plans,
        "N1.40",
        "With a constant step size mini batches stay at a squared distance of {squared distance[0]:.3f}; with the cosine they come as close as {squared distance[2]:.4f}.",
        "This is a recorded run; press the button to try them again (about two seconds).",
    )
    return


@app.cell(hide_code=True)
def _():
    batch = kit.steps([1, 2, 4, 8, 16, 32, 64], value=8, label="batch size $b$ of 64")
    speed = kit.steps([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], value=0.2, label=r"step size $\tau$")
    adam_speed = kit.steps([0.01, 0.03, 0.1, 0.3], value=0.1, label=r"step size of Adam")
    dice = kit.slider(0, 9, 1, value=0, label="which data and draws")
    go = kit.play("Race")
    racing = kit.train(race)
    claim = kit.dropdown(
        {
            "gradients in a step, and their time": "N1.41",
            "batches are right on average; their variance": "N1.46",
            "the ball around the minimum": "N1.43",
        },
        value="the ball around the minimum",
        label="measurement",
    )
    measure = kit.experiment_button("Measure")
    kit.column(
        kit.section("One example, a few, or all", ids=("N1.41", "N1.42", "N1.43", "N1.45", "N1.46", "N1.49")),
        kit.prose(r"""
            A step of gradient descent looks at all $N$ examples. **Stochastic gradient descent** (SGD) draws one of them and takes its gradient,
            which is right on average and wrong every time. A **mini batch** takes the mean over $b$ drawn examples: the variance
            of the gradient's error is $1/b$ of that of SGD, and a little less when no example is drawn twice. Adam, below,
            usually gets its gradients from mini batches too.
        """),
        kit.row(
            kit.formula(
                r"\theta^{k+1} = \theta^k - \tau\, \nabla \mathscr{L}^{(j)}(\theta^k), \quad j \text{ drawn from } \{1, \ldots, N\}",
                "Alg. 3, SGD",
            ),
            kit.formula(
                r"\theta^{k+1} = \theta^k - \frac{\tau}{b} \sum_{j \in B} \nabla \mathscr{L}^{(j)}(\theta^k), \quad |B| = b",
                "Alg. 4, mini batch",
            ),
            least=300,
        ),
        kit.prose(r"""
            With a constant step, SGD does not converge: it ends in a ball around the minimum whose size grows with $\tau / b$. Two corrections:
            the loop *while* $k \le K$ of the notes makes $K + 1$ steps ([E15](/errata#E15)), and whether an example may be drawn twice
            is left open ([E17](/errata#E17)). Here none is, and then $b = N$ is gradient descent to the last bit.
        """),
        kit.source(sample_indices),
    )
    return adam_speed, batch, claim, dice, go, measure, racing, speed


@app.cell(hide_code=True)
def _():
    kit.question(
        "After 120 steps SGD has computed 120 gradients and gradient descent 7,680. Which of them is nearer to the minimum, step for step and gradient for gradient?",
        r"""Step for step, gradient descent is. Gradient for gradient, SGD is: 120 gradients are not even two steps of gradient descent with $N = 64$.
        The mini batch lies between, and processors compute a batch nearly as fast as one example: this is why it is the usual
        choice.""",
        options=("Gradient descent, in both", "SGD, in both", "Gradient descent per step, SGD per gradient"),
        right=2,
    )
    return


@app.cell(hide_code=True)
def _(dice):
    race_U, race_S = regression_data(64, 0.5, dice.value)
    race_best = fit(race_U, race_S)
    race_surface = line_surface(race_U, race_S)
    return race_best, race_surface


@app.cell(hide_code=True)
def _(adam_speed, batch, dice, go, race_best, race_surface, racing, speed):
    def _draw(job):
        rows = job.rows or [next(race(64, 0.5, 8, 0.1, 0.1, 1, dice.value, pause=0))]
        names = list(rows[0]["points"])
        paths = [
            (name, color, [row["points"][name] for row in rows]) for name, color in zip(names, COLORS, strict=False)
        ]
        last = rows[-1]
        curves = kit.plot(
            f"Losses over the steps; mini batches are at {last['losses']['mini batch']:.4f}, the smallest loss is {race_best.loss:.4f}.",
            [
                Series(
                    name,
                    [row["step"] for row in rows],
                    [row["losses"][name] - race_best.loss for row in rows],
                    color,
                    size=2.0,
                )
                for name, color in zip(names, COLORS, strict=False)
            ],
            x=("step", 0, 120),
            y=("loss above the smallest", 1e-6, 10),
            log_y=True,
            size=(340, 310),
        )
        table = [
            (
                name,
                last["gradients"][name],
                last["losses"][name],
                (torch.tensor(last["points"][name], dtype=F64) - race_best.weight).norm().item(),
            )
            for name in names
        ]
        return kit.panel(
            kit.controls("The race", batch, speed, adam_speed, dice, go),
            kit.progress(last["step"] / 120, f"step {last['step']} of 120, {job.words}"),
            kit.row(
                kit.svg(
                    terrain(race_surface, paths, labels=("offset", "slope"), size=(360.0, 310.0)),
                    f"Four methods on the loss of a line, after {last['step']} steps.",
                ),
                curves,
                least=300,
            ),
            kit.table(("method", "gradients computed", "loss", "distance"), table, caption="Where they stand"),
        )

    racing.show(
        _draw,
        running=go,
        count=64,
        noise=0.5,
        batch_size=batch.value,
        learning_rate=speed.value,
        adam_rate=adam_speed.value,
        steps=120,
        seed=dice.value,
    )
    return


@app.cell(hide_code=True)
def _(claim, measure):
    kit.measured(
        measure,
        claim.value,
        SAYS[claim.value],
        "This is a recorded run; press the button to measure again (a few seconds).",
        beside=[claim],
    )
    return


@app.cell(hide_code=True)
def _():
    ground = kit.dropdown(["long bowl", *SURFACES], value="long bowl", label="landscape")
    racers = mo.ui.array(
        [
            kit.steps([0.001, 0.003, 0.01, 0.03, 0.1, 0.3], value=value, label=f"step size of {name}")
            for name, value in (("gradient descent", 0.03), ("momentum", 0.01), ("Adam", 0.1))
        ]
    )
    upto = kit.walk(0, 80, value=40, label="steps so far")
    kit.column(
        kit.section("Adam", ids=("N1.47", "N1.48")),
        kit.prose(r"""
            Adam keeps two running means for every component: $m_1$ of the gradient, which smooths the noise, and $m_2$ of its square, which
            measures how large the gradients are there. Dividing one by the root of the other gives every component a step size of its own.
            Both means start at 0 and are too small at first; the hats correct that. All operations act on each component separately.
        """),
        kit.formula(
            r"""\begin{aligned} m_1^{k+1} &= \beta_1 m_1^k + (1 - \beta_1)\, g, & \hat m_1 &= m_1^{k+1} / (1 - \beta_1^{k+1}), \\
            m_2^{k+1} &= \beta_2 m_2^k + (1 - \beta_2)\, g^2, & \hat m_2 &= m_2^{k+1} / (1 - \beta_2^{k+1}), \\
            \theta^{k+1} &= \theta^k - \tau\, \hat m_1 / (\sqrt{\hat m_2} + \varepsilon) \end{aligned}""",
            r"Alg. 5, with the usual $\tau = 0.001$, $\beta_1 = 0.9$, $\beta_2 = 0.999$, $\varepsilon = 10^{-8}$",
        ),
        kit.prose(r"""
            Two slips in the notes: the power in the correction is $k + 1$, since with $k$ the first step would divide by zero ([E01](/errata#E01)), and
            the means enter the next step uncorrected ([E02](/errata#E02)). In this form the steps are those of PyTorch to the last bit.
        """),
        kit.source(adam, Adam, momentum),
    )
    return ground, racers, upto


@app.cell(hide_code=True)
def _(ground):
    field = bowl(40.0, 0.0) if ground.value == "long bowl" else SURFACES[ground.value]
    from_x = kit.slider(*field.x_range, 0.01, value=field.start[0], label=r"start $\theta_1$")
    from_y = kit.slider(*field.y_range, 0.01, value=field.start[1], label=r"start $\theta_2$")
    return field, from_x, from_y


@app.cell(hide_code=True)
def _(field, from_x, from_y, racers):
    tracks = {
        name: optimizer_path(field.function, (from_x.value, from_y.value), method, steps=80, learning_rate=rate)
        for (name, method), rate in zip(METHODS.items(), racers.value, strict=True)
    }
    return (tracks,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Look at the first step of Adam on each landscape. How long is it in each component, and why does it not depend on the height of the landscape?",
        r"""Exactly $\tau$: after one step $\hat m_1 = g$ and $\hat m_2 = g^2$, so the step is $\tau\, g / |g|$, plus or minus $\tau$ in every
        component. Multiply the loss by a thousand and Adam takes the same path; gradient descent would fly off.""",
        options=("As long as the gradient", r"Exactly $\tau$", "It depends on the landscape"),
        right=1,
        predict="How long is the first step of Adam in each component?",
    )
    return


@app.cell(hide_code=True)
def _():
    begin = kit.slider(-1.6, 1.6, 0.1, value=1.5, label=r"start $\theta^0$")
    stride = kit.steps([0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25], value=0.02, label=r"step size $\tau$")
    far = kit.slider(0, 100, 1, value=60, label="steps")
    many = kit.experiment_button("Descend from many starts")
    kit.column(
        kit.section("Not every valley is the deepest", ids=("N1.50", "N1.51")),
        kit.prose(r"""
            A loss with a hidden layer is not convex. Then all we can expect of a descent is that it ends where the gradient is small; which
            valley that is depends on the start. Linear, polynomial and logistic regression are convex, and there the start does
            not matter. With a constant step, SGD does not even come to rest ([E76](/errata#E76)).
        """),
        kit.formula(
            r"\mathscr{L}(\theta) = \theta^4 - 2 \theta^2 + \tfrac12 \theta",
            "one valley near $-1.06$, a higher one near $0.93$",
        ),
        kit.source(two_minima_loss),
    )
    return begin, far, many, stride


@app.cell(hide_code=True)
def _():
    kit.question(
        "Find a start on the right from which the descent still ends in the global minimum.",
        r"""From 1.5 with $\tau = 0.2$: the first step is 1.6 long and lands beyond the hill. Large steps do not see narrow valleys. But
        they do not settle in the deep one either: its curvature is 9.4, and above $2 / 9.4 = 0.21$ the descent jumps around in it forever.""",
        options=("No, the hill stops it", "Yes, if the first step is long enough"),
        right=1,
        predict="From some starts on the right, can the descent still end in the deeper valley on the left?",
    )
    return


@app.cell(hide_code=True)
def _(begin, far, stride):
    _path = optimizer_path(lambda t: two_minima_loss(t)[0], (begin.value,), steps=100, learning_rate=stride.value)
    _x = torch.linspace(-1.7, 1.7, 171, dtype=F64)
    _end, _height = _path.points[far.value, 0].item(), _path.values[far.value].item()
    _scene = kit.plot(
        f"Gradient descent from {begin.value:.1f} stands at {_end:.4f} after {far.value} steps, at the loss {_height:.4f}.",
        [Series("", _x.tolist(), two_minima_loss(_x).tolist(), "line1", size=2.2)],
        [
            Series(
                "steps",
                _path.points[: far.value + 1, 0].tolist(),
                _path.values[: far.value + 1].tolist(),
                "line5",
                size=2.8,
            ),
            Series("", [_end], [_height], "line2", "ring", size=6.0),
        ],
        notes=[Note(-1.0575, -1.5148, "global minimum", (0, 17)), Note(0.9304, -0.5167, "local minimum", (0, 17))],
        x=(r"$\theta$", -1.7, 1.7),
        y=("loss", -2, 2),
        size=(430, 290),
    )
    kit.panel(kit.controls("Start and step size", begin, stride, far), _scene, kit.facts(theta=_end, loss=_height))
    return


@app.cell(hide_code=True)
def _(many):
    kit.measured(
        many,
        "N1.50",
        "From ten starts XOR ends in {different ends[0]} different places, with losses from {smallest loss[0]:.3f} to {largest loss[0]:.2f}; logistic regression, which is convex, in one.",
        "This is a recorded run; press the button to descend again (a few seconds).",
    )
    return


if __name__ == "__main__":
    app.run()
