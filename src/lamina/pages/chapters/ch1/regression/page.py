import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Linear regression")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina.classical.descent import descend
    from lamina.classical.linear_regression import (
        fit,
        gradient,
        hessian,
        normal_equations,
        squared_error,
        stable_step,
    )
    from lamina.classical.supervision import supervision_kind, target_size
    from lamina.data.dataset import all_targets
    from lamina.data.preprocess import Preprocess
    from lamina.data.synthetic import blobs, curve, linear, truth_table
    from lamina.drawing.charts import Series
    from lamina.functional.losses import mse_half
    from lamina.functional.random import as_generator
    from lamina.pages import kit
    from lamina.pages.chapters.ch1._shared import line_surface, regression_data, terrain

    F64 = torch.float64
    EXAMPLES = {
        "which digit is it?": (torch.tensor([7, 2, 1]), "7, 2, 1, …"),
        "is the message spam?": (torch.tensor([0, 1, 0]), "0, 1, 0, …"),
        "what does the house cost?": (torch.tensor([0.25, 1.5, 0.75]), "0.25, 1.5, 0.75, … million"),
        "the same picture without noise": (torch.zeros(3, 256, 256), "pictures of 256 × 256 gray values"),
        "the same sentence in German": (["ein Hund", "zwei Katzen"], "“ein Hund”, “zwei Katzen”, …"),
    }


@app.cell(hide_code=True)
def _(S, U, best, count, draw, first, moves, noise, refused, second, solve, valley):
    _W = torch.tensor([first.value, second.value], dtype=F64)
    _x = torch.tensor([-1.0, 1.0], dtype=F64)
    _ends = torch.stack([torch.ones_like(_x), _x], 1)
    _u, _y = U[:, 1].tolist(), (U @ _W).tolist()
    _sticks = Series(
        "",
        [x for u in _u for x in (u, u, u)],
        [v for y, s in zip(_y, S.tolist(), strict=True) for v in (y, s, None)],
        "line6!50",
        size=1.0,
        titles=kit.point_titles(len(_u), "error"),
    )
    _lines = [_sticks, Series("your line", _x.tolist(), (_ends @ _W).tolist(), "line2", size=2.4)]
    if solve.value:
        _lines.append(Series("the best line", _x.tolist(), best.predict(_ends).tolist(), "line3", "dashed"))
    _scene = kit.chart(
        _lines,
        [Series("", _u, S.tolist(), "ink", size=3.4, titles=kit.point_titles(len(_u)))],
        x=("$u_2$", -1, 1),
        y=("$S$", -3, 3),
        size=kit.MAIN,
    )
    _points = torch.stack([U[:, 1], S], 1).tolist()
    _loss = squared_error(_W, U, S).item()
    _slope = gradient(_W, U, S)
    kit.lab(
        kit.controls("Weights and data", first, second, count, noise, draw, solve, moves, *refused),
        kit.row(
            kit.svg(
                _scene,
                f"{count.value} points and your line; the loss is {_loss:.4f}, the smallest possible {best.loss:.4f}.",
                caption="Drag a point: the best line follows.",
                hands=kit.data_hands(_scene, _points, (-1, 1), (-3, 3), follow="line", yours=_W.tolist(), ends=[-1, 1]),
            ),
            kit.svg(
                terrain(valley, [("", "line2", [_W.tolist()])], labels=("$W_1$", "$W_2$"), size=(350.0, 330.0)),
                f"The loss over both weights; the cross marks the lowest point, {best.weight[0].item():.2f} and {best.weight[1].item():.2f}.",
            ),
            least=300,
        ),
        kit.facts(
            loss=_loss,
            smallest_loss=best.loss,
            loss_as_a_sum=squared_error(_W, U, S, "sum").item(),
            size_of_the_gradient=_slope.norm().item(),
        ),
        about="A neuron that does not bend",
    )
    return


@app.cell(hide_code=True)
def _():
    asked = kit.dropdown(list(EXAMPLES), value="what does the house cost?", label="the question")
    kit.column(
        kit.section("What the teacher says", ids=("N1.21",)),
        kit.prose(r"""
            In supervised learning every input $u$ comes with an answer $S(u)$, and what kind of thing the answer is gives the
            task its name. A whole number is a label: **classification**. A real number is **regression**. Anything larger,
            such as a vector, a picture or a sentence, is **structured** output.
            $$S(u) \in \mathbb{N}: \text{classification} \qquad S(u) \in \mathbb{R}: \text{regression} \qquad \text{otherwise: structured}$$
        """),
        kit.source(supervision_kind),
    )
    return (asked,)


@app.cell(hide_code=True)
def _():
    kit.question(
        r"How many numbers is one gray picture of $256 \times 256$ pixels?",
        r"""$65\,536$: it is a point of $[0, 1]^{256 \times 256}$. The notes write $[0, 1]^{256}$, which is one row of it
        ([E11](/errata#E11)).""",
        options=("256", "512", "65,536"),
        right=2,
    )
    return


@app.cell(hide_code=True)
def _(asked):
    _targets, _words = EXAMPLES[asked.value]
    _kind = supervision_kind(_targets)
    _numbers = target_size(_targets) if torch.is_tensor(_targets) else "varies"
    kit.panel(
        kit.controls("A question", asked),
        kit.note(f"The teacher says: {_words}. That makes it a task of {_kind}."),
        kit.facts(kind=_kind, numbers_in_one_answer=_numbers),
    )
    return


@app.cell(hide_code=True)
def _():
    first = kit.slider(-2, 2, 0.1, value=-1.0, label="offset, weight $W_1$")
    second = kit.slider(-2, 3, 0.1, value=0.0, label="slope, weight $W_2$")
    count = kit.slider(3, 60, 1, value=20, label="points $N$")
    noise = kit.slider(0, 1, 0.05, value=0.3, label="size of the errors")
    draw = kit.slider(0, 20, 1, value=0, label="which data")
    solve = mo.ui.switch(value=True, label="show the best line")
    kit.column(
        kit.section("A neuron that does not bend", ids=("N1.22", "N1.23", "N1.24")),
        kit.prose(r"""
            Linear regression is the perceptron with the identity in place of an activation and without a bias. Write the $N$
            inputs as rows of a matrix $U$, and all answers are one product $y = U W$. A bias is not lost: give every input a first
            component 1, as we do below, and its weight $W_1$ is the bias.
            $$y^{(i)} = W^\top u^{(i)}, \qquad \mathscr{L} = \frac{1}{2N} \sum_{i=1}^N \big\| y^{(i)} - S(u^{(i)}) \big\|^2 = \frac{1}{2N} \| U W - S \|^2$$
            The loss is half the mean of the squared vertical distances: the gray lines in the left picture. The right picture
            shows the same loss as a function of the two weights. Move the line with the sliders and find the deepest point. Then drag
            one of the points far away: how much can a single one turn the best line?
        """),
        kit.source(squared_error, mse_half),
    )
    return count, draw, first, noise, second, solve


@app.cell(hide_code=True)
def _(count, draw, noise):
    _data = count.value, noise.value, draw.value  # other data begin with no point moved
    moves = kit.moved_points()
    return (moves,)


@app.cell(hide_code=True)
def _(count, draw, moves, noise):
    _U, _S = regression_data(count.value, noise.value, draw.value)
    _points, refused = kit.taken(torch.stack([_U[:, 1], _S], 1), moves.value)
    U, S = torch.stack([torch.ones_like(_S), _points[:, 0]], 1), _points[:, 1]
    best = fit(U, S)
    valley = line_surface(U, S)
    return S, U, best, refused, valley


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Set the errors to 0. Where is the lowest point then, and how small is the loss? What do errors change?",
        r"""The data come from $S = 0.5 + 1.5\, u_2$, so without errors the lowest point is $(0.5, 1.5)$ and the loss there is 0.
        With errors the lowest point moves a little, and the loss there is about half the square of their size: no line does
        better.""",
        options=("Exactly 0", "About 0.5", "It depends on the number of points"),
        right=0,
        predict="Without errors in the data, how small is the smallest loss?",
    )
    return


@app.cell(hide_code=True)
def _():
    alike = kit.slider(-8, 0, 1, value=-1, label=r"difference of two columns $10^x$, exponent $x$ (far left: none)")
    apart = kit.slider(0.5, 4, 0.5, value=2.0, label="distance of two random weights")
    kit.column(
        kit.section("Where the slope is zero", ids=("N1.25", "N1.26", "N1.27")),
        kit.prose(r"""
            The loss is a quadratic function of $W$, never negative, and convex: its second derivative $U^\top U$ has no negative
            eigenvalue, so on the segment between any two weights the loss lies below the straight line (see the picture). A
            point where the gradient is zero is therefore the lowest of all. Setting the gradient to zero gives it in closed form.
            $$\nabla_W \tfrac12 \|U W - S\|^2 = U^\top U W - U^\top S = 0 \quad\Longrightarrow\quad W = (U^\top U)^{-1} U^\top S$$
            The formula needs independent columns, rank $U = d$, which the notes do not say ([E12](/errata#E12)). When two columns are
            nearly alike, $U^\top U$ is nearly singular and its condition number is the square of that of $U$. `fit` works on
            $U$ itself and, when there are many best weights, takes the shortest of them. Make the third column a copy of
            the second, step by step.
        """),
        kit.source(gradient, hessian, normal_equations, fit),
    )
    return alike, apart


@app.cell(hide_code=True)
def _():
    kit.question(
        r"The data follow $S = u_1 + 2 u_2$ exactly. What does `fit` answer when the third column is an exact copy of the second?",
        r"""$W = (1, 1, 1)$: of all weights with $W_2 + W_3 = 2$ the shortest shares the 2 equally. The normal equations have no
        unique solution then, and the library says so instead of dividing by zero.""",
        options=("It fails", "$(1, 2, 0)$", "$(1, 1, 1)$"),
        right=2,
    )
    return


@app.cell(hide_code=True)
def _(alike, apart):
    _g = as_generator(3)
    _columns = torch.randn(12, 2, generator=_g, dtype=F64)
    _third = _columns[:, 1:] + (10.0**alike.value if alike.value > -8 else 0.0) * torch.randn(
        12, 1, generator=_g, dtype=F64
    )
    _U = torch.cat([_columns, _third], 1)
    _S = _columns @ torch.tensor([1.0, 2.0], dtype=F64)
    _found = fit(_U, _S)
    _rows = [
        (
            "fit, on U itself",
            *_found.weight.tolist(),
            gradient(_found.weight, _U, _S).norm().item(),
            squared_error(_found.weight, _U, _S).item(),
        )
    ]
    try:
        _W = normal_equations(_U, _S)
        _rows.append(
            ("normal equations", *_W.tolist(), gradient(_W, _U, _S).norm().item(), squared_error(_W, _U, _S).item())
        )
        _refused = None
    except LaminaError as _error:
        _refused = kit.note(str(_error), "warn")
    _a, _b = (apart.value * torch.randn(3, generator=_g, dtype=F64) for _ in range(2))
    _t = torch.linspace(0, 1, 41, dtype=F64)
    _between = [squared_error((1 - t) * _a + t * _b, _U, _S).item() for t in _t]
    _scene = kit.plot(
        f"The loss on the way between two weights lies below the straight line: {_between[20]:.3f} in the middle.",
        [
            Series("loss between them", _t.tolist(), _between, "line1", size=2.2),
            Series("straight line", [0, 1], [_between[0], _between[-1]], "line6", "dashed"),
        ],
        x="from one weight to the other",
        size=(360, 230),
    )
    _eigen = torch.linalg.eigvalsh(hessian(_U)).tolist()
    kit.panel(
        kit.controls("The data matrix", alike, apart),
        kit.table(
            ("method", "W1", "W2", "W3", "size of gradient", "loss"), _rows, caption="Three weights for twelve points"
        ),
        *([_refused] if _refused is not None else []),
        kit.facts(
            rank_of_U=_found.rank,
            condition_of_U=_found.condition,
            smallest_eigenvalue=_eigen[0],
            largest_eigenvalue=_eigen[-1],
        ),
        _scene,
    )
    return


@app.cell(hide_code=True)
def _():
    tau = kit.steps([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0], value=0.5, label=r"step size $\tau$")
    rows_N = kit.slider(2, 40, 1, value=20, label="number of points $N$")
    kit.column(
        kit.section("Two scales, one minimum", ids=("N1.28",)),
        kit.prose(r"""
            The notes write the loss with the factor $\frac{1}{2N}$ and, a line later, with $\frac12$ ([E40](/errata#E40)). The lowest
            point is the same. The gradient is not: it is $N$ times larger without the $N$, and a step size that is fine for one
            of them throws the other out of the valley. PyTorch's `MSELoss` has a third scale, the mean without the $\frac12$.
            $$\tau < \frac{2}{\lambda_{\max}(U^\top U / N)} \;\; \text{for the mean}, \qquad \tau < \frac{2}{\lambda_{\max}(U^\top U)} \;\; \text{for the sum}$$
        """),
        kit.source(stable_step),
    )
    return rows_N, tau


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Find a step size with which the mean converges and the sum does not. By what factor do the bounds differ?",
        r"""Any $\tau$ between the two bounds, for example $0.5$ with 20 points. The bounds differ by exactly $N$. This is why a step size
        from a paper says little unless you know how its loss is scaled.""",
        options=("2", "$N$", "$N^2$"),
        right=1,
        predict="By what factor do the largest stable step sizes of the mean and of the sum differ?",
    )
    return


@app.cell(hide_code=True)
def _(rows_N, tau):
    _U, _S = regression_data(rows_N.value, 0.3, 0)
    _start = {"W": torch.tensor([-1.0, -1.0], dtype=F64)}
    _best = fit(_U, _S)

    def _distance(scaling):
        def objective(params):
            return (params["W"] - _best.weight).norm(), {"W": gradient(params["W"], _U, _S, scaling)}

        return [d if d < 1e6 else None for d in descend(objective, _start, tau.value, 40).losses.tolist()]

    _ways = {"mean, 1/(2N)": _distance("mean"), "sum, 1/2": _distance("sum")}
    _bounds = {scaling: stable_step(_U, scaling).item() for scaling in ("mean", "sum")}
    _scene = kit.chart(
        [
            Series(name, list(range(41)), ys, color, size=2.2)
            for (name, ys), color in zip(_ways.items(), ("line1", "line2"), strict=True)
        ],
        x=("step", 0, 40),
        y=("distance from the minimum", 1e-4, 1e4),
        log_y=True,
        size=(430, 270),
    )
    _said = [("falls" if tau.value < bound else "grows") for bound in _bounds.values()]
    kit.panel(
        kit.controls("Step size and points", tau, rows_N),
        kit.svg(
            _scene, f"Distance from the minimum over 40 steps: with the mean it {_said[0]}, with the sum it {_said[1]}."
        ),
        kit.facts(
            bound_for_the_mean=_bounds["mean"],
            bound_for_the_sum=_bounds["sum"],
            their_ratio=_bounds["mean"] / _bounds["sum"],
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    made = kit.dropdown(["noisy line", "blobs", "noisy curve", "truth table of XOR"], value="noisy curve", label="data")
    many = kit.slider(8, 200, 4, value=60, label="how many")
    seed = kit.slider(0, 9, 1, value=0, label="seed")
    kit.column(
        kit.section("Data of our own making", ids=("N1.82",)),
        kit.prose("""
            The notes ship no data, so the library draws what their examples need: each set is a function of its arguments and a
            seed, and its truth is known. The same seed gives the same data on every machine.
        """),
        kit.source(linear, blobs, curve, truth_table),
    )
    return made, many, seed


@app.cell(hide_code=True)
def _():
    kit.question(
        "Which slider changes nothing for the truth table, and why?",
        "Both: a truth table is complete. There are four inputs and no others, nothing is drawn, and there are no unseen examples.",
        options=("The number of examples", "The error", "Both"),
        right=2,
    )
    return


@app.cell(hide_code=True)
def _(made, many, seed):
    _sets = {
        "noisy line": lambda: linear(many.value, weight=(1.5,), noise=0.3, seed=seed.value),
        "blobs": lambda: blobs(many.value, seed=seed.value),
        "noisy curve": lambda: curve(many.value, seed=seed.value),
        "truth table of XOR": lambda: truth_table("xor"),
    }
    _data = _sets[made.value]()
    _u, _s = _data.inputs.double(), _data.targets
    if _u.shape[1] == 1:
        _marks = [Series("", _u[:, 0].tolist(), _s.tolist(), "line1")]
    else:
        _marks = [
            Series(f"class {c}", *_u[_s == c].T.tolist(), color, size=3.4)
            for c, color in zip(_s.unique().tolist(), ("line2", "line1", "line3", "line5"), strict=False)
        ]
    _flat = _u.shape[1] == 1
    _scene = kit.plot(
        f"{len(_data)} examples of {made.value}, seed {seed.value}",
        points=_marks,
        x="$u$" if _flat else "$u_1$",
        y="$S$" if _flat else "$u_2$",
        size=(400, 270),
    )
    kit.panel(
        kit.controls("Which data", made, many, seed),
        _scene,
        kit.facts(examples=len(_data), inputs=_u.shape[1], task=supervision_kind(_s)),
    )
    return


@app.cell(hide_code=True)
def _():
    table = mo.ui.file(filetypes=[".csv"], kind="area", label="your CSV")
    kit.column(
        kit.section("A line through your own table"),
        kit.prose("""
            Choose a CSV file with a header. The last column is taken as the answer, all others as inputs; columns of words become one column
            per value, and every column is shifted and scaled to mean 0 and standard deviation 1, so that its weight shows
            how much it matters. The file stays on this machine.
        """),
    )
    return (table,)


@app.cell(hide_code=True)
def _(table):
    def _read(upload):
        data = kit.read_table(upload)
        prepare = Preprocess.fit(data)
        inputs = prepare.apply(data.take(torch.arange(len(data)))[0]).double()
        targets = all_targets(data).double()
        inputs = torch.cat([torch.ones_like(inputs[:, :1]), inputs], 1)
        found = fit(inputs, targets)
        spread = (targets - targets.mean()).square().mean().item() / 2
        rows = list(zip(("offset", *prepare.names), found.weight.tolist(), strict=True))
        return kit.column(
            kit.table(("column", "weight"), rows, caption=f"{len(data)} rows of {upload.name}"),
            kit.facts(loss=found.loss, loss_of_the_mean=spread, rank=found.rank, condition=found.condition),
        )

    def _shown():
        if not table.value:
            return kit.note("No file yet.")
        try:
            return _read(table.value[0])
        except (LaminaError, ValueError) as error:
            return kit.note(str(error), "bad")

    kit.panel(kit.controls("Your table", table), _shown())
    return


if __name__ == "__main__":
    app.run()
