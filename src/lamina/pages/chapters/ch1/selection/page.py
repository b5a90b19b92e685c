import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Choosing a model")

with app.setup:
    import math

    import marimo as mo
    import torch

    from lamina.architectures.fnn import FNN, FNNConfig
    from lamina.classical import polynomial
    from lamina.data.splits import Sealed, split
    from lamina.data.synthetic import curve, moons
    from lamina.drawing.charts import Series
    from lamina.experiments.search import play
    from lamina.experiments.selection import coin_flips
    from lamina.functional.selection import expected_best
    from lamina.pages import kit
    from lamina.pages.chapters.ch1.selection._drawing import grid_map, split_bar
    from lamina.pages.chapters.ch1.selection._work import MOMENTA, RATES, defaults, grid
    from lamina.studies.samplers import Grid, OneAtATime
    from lamina.studies.space import Space
    from lamina.training.recipe import Adam, Recipe

    F64 = torch.float64
    DEGREES = tuple(range(10))
    PENALTIES = tuple(range(-10, 1))


@app.cell(hide_code=True)
def _(ratio, total, which):
    _data = moons(total.value, noise=0.15, seed=0)
    _made = split(_data, seed=which.value, ratios=tuple(ratio.value))
    _parts = {"training": _made.train, "validation": _made.validation, "test": _made.open_test()}
    _marks = []
    for (_name, _part), _color in zip(_parts.items(), ("line3", "line5", "line4"), strict=True):
        _u = _part.take(torch.arange(len(_part)))[0].double()
        _marks.append(Series(_name, *_u.T.tolist(), _color, size=2.6))
    _sizes = [len(part) for part in _parts.values()]
    _scene = kit.plot(
        "The examples of two moons in the colors of their parts",
        points=_marks,
        x=("", -1.6, 2.6),
        y=("", -1.1, 1.6),
        size=kit.ALONE,
    )
    _classes = [part.take(torch.arange(len(part)))[1].bincount(minlength=2).tolist() for part in _parts.values()]
    kit.lab(
        kit.controls("Sizes and ratios", total, *ratio.elements, which),
        _scene,
        kit.svg(
            split_bar(_sizes),
            f"Of {total.value} examples {_sizes[0]} train, {_sizes[1]} validate and {_sizes[2]} test.",
        ),
        kit.table(
            ("part", "examples", "class 0", "class 1"),
            [(name, size, *c) for name, size, c in zip(_parts, _sizes, _classes, strict=True)],
            caption="Sizes",
        ),
        about="Three parts",
    )
    return


@app.cell(hide_code=True)
def _():
    width = kit.slider(1, 64, 1, value=16, label="width of a hidden layer")
    layers = kit.slider(1, 4, 1, value=2, label="hidden layers")
    tau = kit.steps([0.001, 0.003, 0.01, 0.03], value=0.01, label=r"step size $\tau$")
    kit.column(
        kit.section("What is not learned", ids=("N1.65",)),
        kit.prose(r"""
            Training changes weights and biases. Everything that must be fixed beforehand is a **hyperparameter**: the degree $r$, the
            penalty $\lambda$, the step size $\tau$ and the other constants of the optimizer, and the shape of the network itself. In the
            library they live in records of their own, and none of them is among the parameters of a network.
            $$\theta^\ast(\eta) = \arg\min_\theta \mathscr{L}_{\text{training}}(\theta; \eta), \qquad \eta = (r, \lambda, \tau, \text{widths}, \ldots)$$
        """),
        kit.source(FNNConfig, Recipe),
    )
    return layers, tau, width


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Which of the three sliders changes the number of parameters, and which one changes nothing that you can see here?",
        r"Width and depth change the shape of the network and with it the number of weights. The step size changes only where training ends, and how soon.",
        options=("Width", "Depth", "Step size"),
        right=2,
        predict="Which slider does not change the number of parameters?",
    )
    return


@app.cell(hide_code=True)
def _(layers, tau, width):
    _config = FNNConfig(2, 2, hidden=(width.value,) * layers.value)
    _recipe = Recipe(Adam(tau.value), epochs=20, batch_size=32)
    _network = FNN(_config)
    _rows = [(name, " × ".join(map(str, p.shape)), p.numel()) for name, p in _network.named_parameters()]
    _total = sum(row[2] for row in _rows)
    kit.panel(
        kit.controls("Hyperparameters", width, layers, tau),
        kit.row(
            kit.table(("parameter", "shape", "numbers"), _rows, caption=f"Learned: {_total} numbers"),
            kit.table(
                ("hyperparameter", "value"),
                [
                    ("hidden layers", str(list(_config.hidden))),
                    ("activation", str(_config.activation)),
                    ("step size", f"{_recipe.optimizer.learning_rate:g}"),
                    ("epochs", str(_recipe.epochs)),
                    ("batch size", str(_recipe.batch_size)),
                    ("penalty", f"{_recipe.penalty.strength:g}"),
                ],
                caption="Fixed beforehand: some of the hyperparameters",
            ),
        ),
        kit.facts(learned_numbers=_total),
    )
    return


@app.cell(hide_code=True)
def _():
    total = kit.slider(12, 900, 1, value=600, label="examples $N$", debounce=True)
    ratio = mo.ui.array(
        [
            kit.slider(low, 8, 1, value=value, label=f"share of {name}")
            for name, low, value in (("training", 1, 4), ("validation", 1, 1), ("test", 1, 1))
        ]
    )
    which = kit.slider(0, 20, 1, value=0, label="seed")
    kit.column(
        kit.section("Three parts", ids=("N1.66",)),
        kit.prose(r"""
            Divide the data before anything else. The **training** part fits parameters, the **validation** part chooses hyperparameters, and
            the **test** part is used once, at the very end. A common ratio is $4 : 1 : 1$. Validation and test get their share
            rounded down, training gets the rest; each part gets its share of every class.
            $$N_{\text{val}} = \Big\lfloor \frac{b\,N}{a + b + c} \Big\rfloor, \qquad N_{\text{test}} = \Big\lfloor \frac{c\,N}{a + b + c} \Big\rfloor, \qquad N_{\text{train}} = N - N_{\text{val}} - N_{\text{test}}$$
        """),
        kit.source(split),
    )
    return ratio, total, which


@app.cell(hide_code=True)
def _():
    kit.question(
        "What happens to the parts with another seed, and with 601 examples instead of 600?",
        """Another seed puts other examples into the parts, but their sizes stay the same. The 601st example goes to the training part, because a sixth of
        601 is rounded down.""",
        options=("Training", "Validation", "Test"),
        right=0,
        predict="With 601 examples instead of 600, which part gets the additional one?",
    )
    return


@app.cell(hide_code=True)
def _():
    points = kit.slider(18, 120, 6, value=24, label="examples, split 4:1:1", debounce=True)
    deal = kit.slider(0, 20, 1, value=1, label="which data", debounce=True)
    opened = mo.ui.switch(label="Open the test part")
    kit.column(
        kit.section("Train, choose, test once", ids=("N1.67",)),
        kit.prose(r"""
            Train every configuration on the training part. Keep the one with the lowest error on the validation part. Then, and only then,
            open the test part and read off one number. Below, each square is a polynomial with a degree and a penalty, fitted to the same
            training points. The test part is sealed: it counts how often it was opened.
            $$\eta^\ast = \arg\min_\eta \mathscr{L}_{\text{validation}}\big(\theta^\ast(\eta)\big), \qquad \text{report } \mathscr{L}_{\text{test}}\big(\theta^\ast(\eta^\ast)\big)$$
        """),
        kit.source(Sealed),
    )
    return deal, opened, points


@app.cell(hide_code=True)
def _():
    kit.question(
        "Try several data sets with 24 examples. Is the test error of the winner larger or smaller than its validation error, on average?",
        """Larger, most of the time: the winner was chosen because it looked good on those four validation points. With 120 examples the
        difference shrinks. The validation error of the winner is an optimistic number; only the test error is honest.""",
        options=("Smaller", "The same", "Larger"),
        right=2,
        predict="The winner was chosen by its validation error. What is its test error on average?",
    )
    return


@app.cell(hide_code=True)
def _(deal, points):
    three = curve(points.value, seed=deal.value).split(seed=deal.value)

    def _of(part):
        inputs, targets = part.take(torch.arange(len(part)))
        return inputs[:, 0], targets

    contest = {
        (degree, x): polynomial.fit(*_of(three.train), degree, 10.0**x if x > -10 else 0.0)
        for degree in DEGREES
        for x in PENALTIES
    }
    scores = {key: polynomial.error(found, *_of(three.validation)) for key, found in contest.items()}
    winner = min(scores, key=scores.get)
    return contest, scores, three, winner


@app.cell(hide_code=True)
def _(contest, deal, opened, points, scores, three, winner):
    _map = grid_map(
        [[min(scores[degree, x], 2.0) for degree in DEGREES] for x in PENALTIES],
        [str(degree) for degree in DEGREES],
        ["0" if x == -10 else f"$10^{{{x}}}$" for x in PENALTIES],
        labels=("degree", r"penalty $\lambda$"),
        best=(winner[0], PENALTIES.index(winner[1])),
    )
    _facts = {
        "configurations": len(contest),
        "chosen_degree": winner[0],
        "chosen_penalty": 0 if winner[1] == -10 else kit.number(10.0 ** winner[1], 1),
        "validation_error": scores[winner],
    }
    if opened.value:
        _u, _s = (column for column in three.open_test().take(torch.arange(len(three.test))))
        _facts["test_error"] = polynomial.error(contest[winner], _u[:, 0], _s)
        _facts["openings"] = three.openings
    kit.panel(
        kit.controls("The contest", points, deal, opened),
        kit.svg(
            _map,
            f"Validation errors of {len(contest)} polynomials; the lowest, {scores[winner]:.4f}, has degree {winner[0]}.",
            caption="The lighter, the lower; the ring is the choice.",
        ),
        kit.facts(**_facts),
        kit.note("The test part is sealed.")
        if not opened.value
        else kit.note("The test part is open. If you change anything now, you must draw new data.", "warn"),
    )
    return


@app.cell(hide_code=True)
def _():
    coins = kit.slider(0, 10, 1, value=10, label=r"models $K = 2^x$, exponent $x$", debounce=True)
    size = kit.steps([20, 50, 100, 200, 500], value=100, label="points $n$ to choose by", debounce=True)
    kit.column(
        kit.section("Why the test part must not choose", ids=("N1.68",)),
        kit.prose(r"""
            Take models that do nothing but toss a coin. On 100 points one of them is right 50 times, more or less. Take the best of 1,024,
            and it will be right about 66 times: by luck alone. On fresh points it is a coin again. If you choose by the test
            part, you measure this luck.
            $$E \max_{k \le K} \frac{S_k}{n} = \frac1n \sum_{s=0}^{n-1} \big(1 - F(s)^K\big), \qquad S_k \sim B\big(n, \tfrac12\big)$$
        """),
        kit.source(expected_best, coin_flips),
    )
    return coins, size


@app.cell(hide_code=True)
def _():
    kit.question(
        "How many points do you need for the best of 1,024 coins to look no better than 0.55?",
        r"About 1,050: the luck of the best shrinks like $1/\sqrt{n}$. With 500 points it still shows 0.57.",
        options=("About 100", "About 1,000", "About 10,000"),
        right=1,
    )
    return


@app.cell(hide_code=True)
def _(coins, size):
    _many = 2**coins.value
    _found = coin_flips(seeds=10, models=(_many,), points=size.value)
    _shown, _fresh = _found.rows[0][1], _found.rows[0][3]
    _ks = [2**x for x in range(11)]
    _scene = kit.plot(
        f"The best of {_many:,} coins on {size.value} points shows {_shown:.3f} where selected and {_fresh:.3f} on fresh points, means of 10 draws.",
        [
            Series("expected for the best", _ks, [expected_best(k, size.value) for k in _ks], "line1", size=2.0),
            Series("what it is worth", [1, 1024], [0.5, 0.5], "line3", "dashed"),
        ],
        [
            Series("where selected", [_many], [_shown], "line2", size=5.0),
            Series("on fresh points", [_many], [_fresh], "line3", "ring", size=5.0),
        ],
        x="models to choose from",
        y=("accuracy", 0.4, 0.85),
        log_x=True,
        size=(430, 280),
    )
    kit.panel(
        kit.controls("Coins", coins, size),
        _scene,
        kit.facts(
            models=_many, where_selected=_shown, on_fresh_points=_fresh, expected=expected_best(_many, size.value)
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    names = kit.slider(1, 7, 1, value=5, label="hyperparameters $m$")
    values = kit.slider(2, 6, 1, value=4, label="values of each, $v$")
    kit.column(
        kit.section("All combinations, or one at a time", ids=("N1.69", "N1.70")),
        kit.prose(r"""
            Five hyperparameters with four values each make $4^5 = 1{,}024$ training runs. The usual practice changes one at a time: keep the best value of the first,
            then continue with the second. That is $1 + 5 \cdot 3 = 16$. This is enough when hyperparameters do not interact, and it
            misses the best when they do.
            $$\text{grid: } v^m \qquad \text{one at a time: } 1 + m\,(v - 1)$$
        """),
        kit.source(Grid, OneAtATime),
    )
    return names, values


@app.cell(hide_code=True)
def _(names, values):
    _space = Space.of({name: list(range(values.value)) for name in "abcdefg"[: names.value]})
    kit.panel(
        kit.controls("Size of a search", names, values),
        kit.facts(grid=_space.size, one_at_a_time=OneAtATime().total(_space)),
    )
    return


@app.cell(hide_code=True)
def _():
    epochs = kit.slider(2, 20, 1, value=10, label="epochs of each training run")
    moon = kit.slider(0, 9, 1, value=0, label="which data")
    search = kit.button("Search")
    searching = kit.train(grid)
    kit.prose("""
        Now for real. A network learns two moons with every pair of a step size and a momentum, five training runs at once. The arrow shows the path of
        *one at a time*, which begins at the bottom left, first chooses a step size and then a momentum.
    """)
    return epochs, moon, search, searching


@app.cell(hide_code=True)
def _():
    kit.question(
        "Search with several data sets. How often does *one at a time* miss the best pair, and why?",
        """In most of them. Without momentum a large step size is best, and with it the best momentum is a small one. But a large momentum wants a
        small step size; they interact. Only changing both at once finds that pair.""",
        options=("Never", "In most data sets", "Always"),
        right=1,
        predict="How often does *one at a time* miss the best pair of step size and momentum?",
    )
    return


@app.cell(hide_code=True)
def _(epochs, moon, search, searching):
    def _draw(job):
        controls = [epochs, moon, search]
        rows = job.rows
        done = len(rows) / len(MOMENTA)
        if not rows:
            return kit.panel(
                kit.controls("Search", *controls), kit.waiting(job, "Press the button to train twenty networks.")
            )
        losses = {
            (rate, row["momentum"]): loss for row in rows for rate, loss in zip(RATES, row["losses"], strict=True)
        }
        known = {pair: loss for pair, loss in losses.items() if loss is not None}
        best = min(known, key=known.get)
        place = lambda pair: (RATES.index(pair[0]), MOMENTA.index(pair[1]))  # noqa: E731
        way, said = [], {}
        if len(rows) == len(MOMENTA):
            space = Space.of({"learning_rate": list(RATES), "momentum": list(MOMENTA)})
            tried = play(OneAtATime(), space, lambda v: losses[v["learning_rate"], v["momentum"]] or math.inf)
            corner, single = (min(some, key=lambda each: each.error) for some in (tried[: len(RATES)], tried))
            way = [
                place((each.values["learning_rate"], each.values["momentum"])) for each in (tried[0], corner, single)
            ]
            said = {"one_at_a_time": single.error, "its_training_runs": len(tried)}
        values = [[losses.get((rate, momentum)) for rate in RATES] for momentum in MOMENTA]
        scene = grid_map(
            [[None if value is None else max(value, 1e-6) for value in row] for row in values],
            [f"{rate:g}" for rate in RATES],
            [f"{m:g}" for m in MOMENTA],
            labels=(r"step size $\tau$", "momentum"),
            best=place(best),
            way=way,
            numbers=True,
        )
        return kit.panel(
            kit.controls("Search", *controls),
            kit.progress(done, f"{len(losses)} of {len(RATES) * len(MOMENTA)} training runs, {job.words}"),
            kit.svg(
                scene,
                f"Validation losses of {len(losses)} training runs; the best, {known[best]:.4f}, has step size {best[0]:g} and momentum {best[1]:g}.",
            ),
            kit.facts(best_of_the_grid=known[best], training_runs=len(losses), **said),
        )

    searching.show(_draw, running=search.value > 0, run=search.value, epochs=epochs.value, seed=moon.value)
    return


@app.cell(hide_code=True)
def _():
    compare = kit.button("Compare on five data sets")
    comparing = kit.train(defaults)
    kit.column(
        kit.section("Good defaults", ids=("N1.71",)),
        kit.prose(r"""
            Some hyperparameters have defaults that are nearly always good enough, such as Adam's $\beta_1$, $\beta_2$ and $\varepsilon$. The step size is not: it has to be
            chosen for every task, and this is the tedious part of the work. `lamina search` writes down every run, so that none has to
            be done twice.
            $$\beta_1 = 0.9, \qquad \beta_2 = 0.999, \qquad \varepsilon = 10^{-8}$$
        """),
        kit.source(Adam),
    )
    return compare, comparing


@app.cell(hide_code=True)
def _():
    kit.question(
        "Compare the worst of the 64 choices of constants with the worst step size. Which choice matters more?",
        "The step size, by far: the worst constants cost a little, the worst step size several times the loss; and the best step size gains more than the best constants.",
        options=("The constants of Adam", "The step size"),
        right=1,
        predict="Which choice matters more?",
    )
    return


@app.cell(hide_code=True)
def _(compare, comparing):
    def _draw(job):
        if not job.rows:
            idle = "64 choices of the constants and five step sizes for each data set, about twenty seconds in all."
            return kit.column(compare, kit.waiting(job, idle))
        last = job.rows[-1]
        return kit.column(
            compare,
            kit.progress(last["done"] / last["of"], f"{last['done']} of {last['of']} data sets, {job.words}"),
            kit.table(last["head"], last["rows"], caption="Smallest validation loss of a network with 32 hidden units"),
        )

    comparing.show(_draw, running=compare.value > 0, run=compare.value)
    return


if __name__ == "__main__":
    app.run()
