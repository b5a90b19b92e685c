import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Too simple, too eager")

with app.setup:
    import torch

    from lamina.classical import estimation, polynomial
    from lamina.classical.linear_regression import least_squares
    from lamina.data.synthetic import curve
    from lamina.drawing.charts import Band, Note, Series
    from lamina.experiments.figures_data import polynomial_fits, polynomial_panels
    from lamina.experiments.overfitting import early_stopping, estimators, trade_off
    from lamina.functional.optimizers import soft_threshold
    from lamina.pages import kit
    from lamina.pages.chapters.ch1.overfitting._work import noisy_sine, overfit
    from lamina.training.recipe import Stopping
    from lamina.training.stopping import rules

    F64 = torch.float64
    X = torch.linspace(0, 1, 201, dtype=F64)
    TRUTH = noisy_sine(X, 0.0, 0)
    STRENGTHS = {-9: 0.0, **{x: 10.0**x for x in range(-8, 3)}}
    SPARSE = 1e-4  # below it the proximal steps for norm 1 are too many for a page


@app.cell(hide_code=True)
def _(count, degree, ladder, moves, noise, refused, s, seed, t, u, unseen_errors, v):
    _fit, _r = ladder[degree.value], degree.value
    _scene = kit.chart(
        [
            Series("truth", X.tolist(), TRUTH.tolist(), "line3", "dashed"),
            Series("fit", X.tolist(), _fit.predict(X).tolist(), "line2", size=2.4),
        ],
        [
            Series("unseen points", v.tolist(), t.tolist(), "line1!45", size=1.8),
            Series("points of the fit", u.tolist(), s.tolist(), "line3", size=4.0, titles=kit.point_titles(len(u))),
        ],
        x=("$u$", 0, 1),
        y=("", -2, 2),
        size=kit.MAIN,
    )
    _points = torch.stack([u, s], 1).tolist()
    _picture = kit.svg(
        _scene,
        f"A polynomial of degree {_r} on {count.value} points: its error there is {_fit.error:.4f}, at unseen points {unseen_errors[_r]:.4f}.",
        caption="Drag a green point: the polynomial follows.",
        hands=kit.data_hands(_scene, _points, (0, 1), (-2, 2), follow="polynomial", degree=_r, penalty=0, ends=[0, 1]),
    )
    _floor = [max(each.error, 1e-6) for each in ladder]
    _errors = kit.plot(
        f"Both errors over the degree; the one at unseen points is smallest for degree {unseen_errors.index(min(unseen_errors))}.",
        [
            Series("at its own points", list(range(13)), _floor, "line3", size=2.0),
            Series("at unseen points", list(range(13)), [min(e, 50.0) for e in unseen_errors], "line1", size=2.0),
        ],
        [Series("", [_r, _r], [_floor[_r], min(unseen_errors[_r], 50.0)], "line2", "ring", size=5.0)],
        x=("degree $r$", -0.3, 12.3),
        y=("error", 1e-6, 10),
        log_y=True,
        size=kit.BESIDE,
    )
    kit.lab(
        kit.controls("Degree and data", degree, count, noise, seed, moves, *refused),
        kit.row(_picture, _errors, least=300),
        kit.facts(
            error_at_its_points=_fit.error,
            error_at_unseen_points=unseen_errors[_r],
            parameters=_r + 1,
            largest_weight=_fit.weight.abs().max().item(),
        ),
        about="A polynomial is a linear model",
    )
    return


@app.cell(hide_code=True)
def _():
    degree = kit.slider(0, 12, 1, value=3, label="degree $r$")
    count = kit.slider(4, 40, 1, value=10, label="points $N$")
    noise = kit.slider(0, 0.6, 0.05, value=0.25, label="size of the errors")
    seed = kit.slider(0, 30, 1, value=3, label="which data")
    kit.column(
        kit.section("A polynomial is a linear model", ids=("N1.52", "N1.53", "N1.54", "N1.55")),
        kit.prose(r"""
            Give the neuron the powers $u^0, u^1, \ldots, u^r$ of a number instead of the number itself, and its answer is a polynomial. It is
            linear in the weights and not in $u$, so the best weights come from linear regression; the data matrix has one row for each
            of the $N$ points (the notes count them up to $m$, [E18](/errata#E18)) and one column for each power.
            $$p(u, W) = \sum_{j=0}^{r} W_j u^j, \qquad \mathscr{L}(W) = \frac{1}{2N} \| U W - S \|^2, \qquad U_{ij} = \big(u^{(i)}\big)^j$$
            With a low degree the model is too simple: it misses even the points it was fitted to. That is **underfitting**. With degree
            $N - 1$ it goes through all of them, and swings in between: **overfitting**. The error at the points themselves does not
            reveal it. Only points that the fit has not seen do.
        """),
        kit.source(polynomial.vandermonde, polynomial.fit, polynomial.error),
    )
    return count, degree, noise, seed


@app.cell(hide_code=True)
def _(count, noise, seed):
    _u = torch.linspace(0, 1, count.value, dtype=F64)
    given = torch.stack([_u, noisy_sine(_u, noise.value, seed.value)], 1)
    moves = kit.moved_points()  # other data begin with no point moved
    return given, moves


@app.cell(hide_code=True)
def _(given, moves, noise, seed):
    _points, refused = kit.taken(given, moves.value)
    u, s = _points.T
    unseen = curve(200, noise=noise.value, seed=10_000 + seed.value)
    v, t = unseen.inputs[:, 0], unseen.targets
    ladder = [polynomial.fit(u, s, r) for r in range(13)]
    unseen_errors = [polynomial.error(each, v, t) for each in ladder]
    return ladder, refused, s, t, u, unseen_errors, v


@app.cell(hide_code=True)
def _():
    _found = polynomial_fits()
    kit.column(
        kit.svg(
            polynomial_panels(),
            f"Fits of degree 0, 1, 3 and 9 to ten points; test errors {', '.join(f'{e:.3f}' for e in _found.test)}.",
            caption="The figure from the notes: degrees 0 and 1 are too simple, 3 is right, 9 hits every point and misses the rest.",
            width=1000,
        ),
        kit.question(
            "From how many points on does degree 9 no longer overfit? What else cures it?",
            """About 20 points: then ten weights can no longer follow every error. Without errors in the data a high degree does no harm either,
            since there is nothing false to learn.""",
            options=("About 10", "About 20", "About 1000"),
            right=1,
            predict="From how many points on does degree 9 no longer overfit?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    held = kit.slider(3, 40, 1, value=20, label="held-out points")
    again = kit.slider(0, 30, 1, value=0, label="which data")
    kit.column(
        kit.section("Choosing the degree", ids=("N1.61",)),
        kit.prose(r"""
            Hold out some points, fit every degree to the rest, and keep the degree with the smallest error at the held-out points. It
            costs one fit for each degree, and the degree can only jump from one whole number to the next.
            $$r^\ast = \arg\min_r \; \mathscr{L}_{\text{validation}}\big(W^{(r)}\big), \qquad W^{(r)} = \arg\min_W \mathscr{L}_{\text{training}}(W)$$
        """),
        kit.source(polynomial.choose_degree),
    )
    return again, held


@app.cell(hide_code=True)
def _():
    kit.question(
        "Try several data sets with 20 held-out points, then with 3. How often is the choice not 3, 4 or 5?",
        "With 20 points, about one time in seven. With 3 points the choice is nearly a lottery: their own errors decide. Every held-out point is one training point fewer, so there is a balance to strike.",
        options=("Never", "About one time in seven", "Every second time"),
        right=1,
        predict="The best degree is 3, 4 or 5. How often is another one chosen with 20 held-out points?",
    )
    return


@app.cell(hide_code=True)
def _(again, held):
    _u = torch.linspace(0, 1, 10, dtype=F64)
    _s = noisy_sine(_u, 0.25, again.value)
    _back = curve(held.value, noise=0.25, seed=1000 + again.value)
    _found = polynomial.choose_degree(_u, _s, _back.inputs[:, 0], _back.targets)
    _best = _found.best.degree
    _scene = kit.plot(
        f"With {held.value} held-out points, degree {_best} is chosen, error {_found.validation_errors[_best]:.4f}.",
        [
            Series(
                "at the ten points", _found.degrees, [max(e, 1e-4) for e in _found.training_errors], "line3", size=2.0
            ),
            Series("at the held-out points", _found.degrees, _found.validation_errors, "line5", size=2.0),
        ],
        [Series("", [_best], [_found.validation_errors[_best]], "line2", "ring", size=6.0)],
        notes=[Note(_best, _found.validation_errors[_best], f"degree {_best}", (0, 16))],
        x=("degree", -0.3, 9.3),
        y=("error", 1e-4, 10),
        log_y=True,
        size=(430, 260),
    )
    kit.panel(
        kit.controls("Held back", held, again),
        _scene,
        kit.facts(chosen_degree=_best, validation_error=_found.validation_errors[_best], fits=len(_found.degrees)),
    )
    return


@app.cell(hide_code=True)
def _():
    power = kit.slider(0, 9, 1, value=3, label="degree $r$")
    sets = kit.slider(5, 200, 5, value=40, label="data sets")
    kit.column(
        kit.section("Bias and variance", ids=("N1.56", "N1.57", "N1.58", "N1.59", "N1.60")),
        kit.prose(r"""
            A fit is an **estimate**: a function $g$ of the data, inputs and answers. Other data would have given another one, so the
            estimate $\hat\theta = g(\text{data})$ is random. Its error has two parts. The **bias** says how far its mean lies from the
            truth, the **variance** how much it scatters.
            $$\operatorname{Bias}(\hat\theta) = E(\hat\theta) - \theta, \qquad \operatorname{Var}(\hat\theta) = E(\hat\theta^2) - E(\hat\theta)^2, \qquad E\big[(\hat\theta - \theta)^2\big] = \operatorname{Var}(\hat\theta) + \operatorname{Bias}(\hat\theta)^2$$
            For vectors, the variance is the trace of the covariance, and the bias is measured by its norm. And a polynomial that is too simple has no true weights to
            compare with, so we compare predictions ([E19](/errata#E19)). Underfitting is high bias with low variance, overfitting low bias with
            high variance; the sum of both is smallest in between.
        """),
        kit.source(estimation.decompose, estimation.decompose_predictions, trade_off),
    )
    return power, sets


@app.cell(hide_code=True)
def _():
    balance = trade_off(draws=1000)
    return (balance,)


@app.cell(hide_code=True)
def _(balance, power, sets):
    _u = torch.linspace(0, 1, 10, dtype=F64)
    _values = torch.stack([noisy_sine(_u, 0.25, seed) for seed in range(sets.value)])
    _weights = least_squares(polynomial.vandermonde(_u, power.value), _values.T)[0]
    _drawn = (polynomial.vandermonde(X, power.value) @ _weights).T
    _inside = slice(10, 191)
    _parts = estimation.decompose_predictions(_drawn[:, _inside], TRUTH[_inside])
    _mean, _spread = _drawn.mean(0), _drawn.std(0, correction=0)
    _xs = X.tolist()
    _scene = kit.plot(
        f"Fits of degree {power.value} to {sets.value} data sets: squared bias {_parts.squared_bias:.4f}, variance {_parts.variance:.4f}.",
        [
            *(Series("", _xs[::4], row[::4].tolist(), "line2!35", size=0.8) for row in _drawn[:25]),
            Series("mean of the fits", _xs, _mean.tolist(), "line2", size=2.6),
            Series("truth", _xs, TRUTH.tolist(), "line3", "dashed", size=2.0),
        ],
        bands=[
            Band("one standard deviation", _xs, (_mean - _spread).tolist(), (_mean + _spread).tolist(), "line2", 0.2)
        ],
        x=("$u$", 0, 1),
        y=("", -2, 2),
        size=(380, 310),
    )
    _degrees = balance.column("degree")
    _curve = kit.plot(
        f"Squared bias falls and variance rises with the degree; their sum is smallest at degree {min(_degrees, key=lambda r: balance.column('total')[r])}.",
        [
            Series("squared bias", _degrees, balance.column("squared bias"), "line1", size=2.0),
            Series("variance", _degrees, balance.column("variance"), "line2", size=2.0),
            Series("their sum", _degrees, balance.column("total"), "line4", "dashed", size=2.4),
        ],
        [Series("", [power.value], [balance.column("total")[power.value]], "line4", "ring", size=6.0)],
        x=("degree", -0.3, 9.3),
        y=("", 0, 0.6),
        size=(330, 310),
    )
    kit.panel(
        kit.controls("Degree and data sets", power, sets),
        kit.row(_scene, _curve, least=300),
        kit.facts(
            squared_bias=_parts.squared_bias,
            variance=_parts.variance,
            sum=_parts.squared_bias + _parts.variance,
            mean_squared_error=_parts.total,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.outcome(
            estimators(draws=4000),
            "without a penalty the mean squared error is {mean squared error[0]:.4f}, with the small one {mean squared error[1]:.4f}, with the large one {mean squared error[2]:.4f}.",
        ),
        kit.question(
            "Three weights are estimated, without a penalty and with two different ones. Which way has the smallest mean squared error, and must the one without bias win?",
            """Here the first one wins narrowly: least squares has no bias, and the variance that the small penalty saves is less than the bias it
            brings. With more noise or fewer points the order is reversed. Nothing says that no bias is best.""",
            options=("Yes", "No"),
            right=1,
            predict="Must the estimator without bias have the smallest mean squared error?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    strength = kit.slider(-9, 2, 1, value=-4, label=r"penalty $\lambda = 10^x$, exponent $x$ (far left: 0)")
    norm = kit.dropdown({"squared norm 2": 2, "norm 1": 1}, value="squared norm 2", label="norm")
    high = kit.slider(1, 9, 1, value=9, label="degree $r$")
    case = kit.slider(0, 30, 1, value=3, label="which data")
    pulled = kit.moved_points("moved points under a penalty")
    decay = kit.experiment_button("Train with a penalty in six ways")
    kit.column(
        kit.section("Weight decay", ids=("N1.62", "N1.63", "N1.64")),
        kit.prose(r"""
            Instead of lowering the degree, keep it large and make large weights expensive. The number $\lambda$ is continuous, and one fit
            for each value of it is enough. Other norms are possible: norm 1 sets weights to exactly zero.
            $$\mathscr{L}_\lambda(\theta) = \mathscr{L}(\theta) + \lambda \|\theta\|^2, \qquad (U^\top U + 2 N \lambda I)\, W = U^\top S$$
            The notes say that with a large $\lambda$ many weights are zero or close to it. With the squared norm they become small, and none becomes
            zero; that is what norm 1 does ([E20](/errata#E20)). The gradient of the penalty is $2 \lambda \theta$, so the `weight_decay` of
            PyTorch is $2\lambda$ ([E41](/errata#E41)). Too large a $\lambda$ underfits again.
        """),
        kit.source(polynomial.fit, soft_threshold),
    )
    return case, decay, high, norm, pulled, strength


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Take norm 1 (drawn from $\lambda = 10^{-4}$ on) and raise $\lambda$. How many weights are exactly zero, and when are all of them?",
        r"""At $10^{-4}$ about half of them, at $10^{-2}$ seven of ten, and from 1 on, all of them. With the squared norm none ever is, even at 100, where all of them are tiny.""",
        options=("Both", "Only norm 1", "Neither"),
        right=1,
        predict="Norm 1 or norm 2: which of them makes weights exactly zero?",
    )
    return


@app.cell(hide_code=True)
def _(case, high, norm, pulled):
    _u = torch.linspace(0, 1, 10, dtype=F64)
    _points, decay_refused = kit.taken(torch.stack([_u, noisy_sine(_u, 0.25, case.value)], 1), pulled.value)
    decay_u, decay_s = _points.T
    _test = curve(200, noise=0.25, seed=10_000 + case.value)
    decay_fits = {
        each: polynomial.fit(decay_u, decay_s, high.value, each, norm.value, max_iterations=4000, tolerance=1e-7)
        for each in STRENGTHS.values()
        if norm.value == 2 or each >= SPARSE
    }
    decay_errors = {each: polynomial.error(one, _test.inputs[:, 0], _test.targets) for each, one in decay_fits.items()}
    return decay_errors, decay_fits, decay_refused, decay_s, decay_u


@app.cell(hide_code=True)
def _(case, decay_errors, decay_fits, decay_refused, decay_s, decay_u, high, norm, pulled, strength):
    _known = list(decay_fits)
    _lambda = max(STRENGTHS[strength.value], _known[0])
    _fit = decay_fits[_lambda]
    _scene = kit.chart(
        [
            Series("truth", X.tolist(), TRUTH.tolist(), "line3", "dashed"),
            Series("fit", X.tolist(), _fit.predict(X).tolist(), "line2", size=2.4),
        ],
        [Series("", decay_u.tolist(), decay_s.tolist(), "line3", size=4.0, titles=kit.point_titles(len(decay_u)))],
        x=("$u$", 0, 1),
        y=("", -2, 2),
        size=(350, 290),
    )
    _picture = kit.svg(
        _scene,
        f"Degree {high.value} with a penalty of {_lambda:g}: error {_fit.error:.4f} at its points, {decay_errors[_lambda]:.4f} at unseen ones.",
        hands=kit.data_hands(
            _scene, torch.stack([decay_u, decay_s], 1).tolist(), (0, 1), (-2, 2), into="moved-points-under-a-penalty",
            follow="polynomial" if norm.value == 2 else "", degree=high.value, penalty=_lambda, ends=[0, 1],
        ),
    )  # fmt: skip
    _places = [max(each, 1e-9) for each in _known]
    _errors = kit.plot(
        f"Both errors over the penalty; the one at unseen points is smallest for {min(_known, key=lambda each: decay_errors[each]):g}.",
        [
            Series(
                "at its own points",
                _places,
                [max(decay_fits[each].error, 1e-4) for each in _known],
                "line3",
                size=2.0,
            ),
            Series("at unseen points", _places, [min(decay_errors[each], 10.0) for each in _known], "line1", size=2.0),
        ],
        [Series("", [max(_lambda, 1e-9)], [min(decay_errors[_lambda], 10.0)], "line2", "ring", size=6.0)],
        x=(r"penalty $\lambda$ (far left: 0)", 1e-9, 100),
        y=("error", 1e-4, 10),
        log_x=True,
        log_y=True,
        size=(350, 290),
    )
    _weights = [abs(w) for w in _fit.weight.tolist()]
    _bars = kit.chart(
        bars=[Series("", list(range(len(_weights))), [max(w, 1e-3) if w else 1e-3 for w in _weights], "line2!70")],
        x=("power $j$", -0.6, 9.6),
        y=("size of $W_j$", 1e-3, 1e6),
        log_y=True,
        size=(350, 220),
    )
    _zeros = sum(w == 0 for w in _weights)
    kit.panel(
        kit.controls("Penalty and degree", strength, norm, high, case, pulled, *decay_refused),
        kit.row(_picture, _errors, least=300),
        kit.svg(_bars, f"The sizes of the weights; {_zeros} of {len(_weights)} are exactly zero.", width=520),
        kit.facts(
            error_at_unseen_points=decay_errors[_lambda],
            largest_weight=max(_weights),
            exact_zeros=f"{_zeros} of {len(_weights)}",
        ),
    )
    return


@app.cell(hide_code=True)
def _(decay):
    kit.measured(
        decay,
        "N1.62",
        "The penalty in the loss is PyTorch's `weight_decay` of twice its size: {largest distance to closed form[1]:.0e} from the closed form; AdamW is another penalty, {largest distance to closed form[4]:.2f} away, and norm 1 sets {zeros of 8[5]} of 8 weights to zero.",
        "This is a recorded run; press the button to train again (about ten seconds).",
    )
    return


@app.cell(hide_code=True)
def _():
    few = kit.slider(8, 60, 4, value=20, label="training points")
    width = kit.steps([4, 8, 16, 32, 64], value=64, label="width of two hidden layers")
    trial = kit.slider(0, 9, 1, value=0, label="which data and weights")
    patience = kit.slider(2, 20, 1, value=10, label="patience (checks without improvement)")
    go = kit.play("Train")
    training = kit.train(overfit)
    kit.column(
        kit.section("Stopping early", ids=("N1.44",)),
        kit.prose(r"""
            Training for too long also overfits. A network with thousands of weights first learns the curve and then the errors of the
            points: the loss on the training points keeps falling, while the loss on unseen points starts to rise again. Stopping before
            convergence can therefore help. **Early stopping** watches the loss on validation points and keeps the weights from where it was smallest.
            $$\theta^\ast = \theta^{k^\ast}, \qquad k^\ast = \arg\min_k \; \mathscr{L}_{\text{validation}}(\theta^k)$$
        """),
        kit.source(early_stopping),
    )
    return few, go, patience, training, trial, width


@app.cell(hide_code=True)
def _():
    kit.question(
        "Train with 20 points and width 64, then with 60 points, then with width 4. Where does the loss on unseen points rise again?",
        """Clearly with 20 points and 4,000 weights; much less with 60 points, and hardly with width 4, which is too small to follow every
        point. Early stopping achieves what weight decay, more data or a smaller network would achieve, too.""",
        options=("20 points, width 64", "60 points, width 64", "20 points, width 4"),
        right=0,
        predict="Where does the loss on unseen points rise again most clearly?",
    )
    return


@app.cell(hide_code=True)
def _(few, go, patience, training, trial, width):
    _data = curve(few.value, seed=2 * trial.value)

    def _draw(job):
        rows = job.rows
        controls = [few, width, trial, patience, go]
        points = [Series("training points", _data.inputs[:, 0].tolist(), _data.targets.tolist(), "line3", size=3.6)]
        lines = [Series("truth", X.tolist(), TRUTH.tolist(), "line3", "dashed")]
        places = torch.linspace(0, 1, 121, dtype=F64).tolist()
        if rows:
            best = min(rows, key=lambda row: row["validation"])
            lines += [
                Series("now", places, rows[-1]["curve"], "line2", size=2.2),
                Series("best so far", places, best["curve"], "line1", size=2.0),
            ]
        fits = kit.chart(lines, points, x=("$u$", 0, 1), y=("", -2.2, 2.2), size=(360, 300))
        if not rows:
            words = "Switch training on." if job.state == "idle" else job.words
            return kit.panel(
                kit.controls("Early stopping", *controls),
                kit.svg(fits, "The training points and the truth"),
                kit.note(words),
            )
        (rule,) = rules(Stopping(patience=patience.value))
        history = [{"step": row["step"], "validation_loss": row["validation"]} for row in rows]
        end = next((k for k in range(1, len(rows) + 1) if rule(history[:k]) is not None), None)
        steps = [row["step"] for row in rows]
        stop = [] if end is None else [Series("early stop", [steps[end - 1]] * 2, [1e-5, 2.0], "ink", "dotted")]
        losses = kit.plot(
            f"Losses: on unseen points smallest at step {best['step']}, {best['validation']:.4f}; now {rows[-1]['validation']:.4f}.",
            [
                Series("training", steps, [max(row["training"], 1e-5) for row in rows], "line3", size=2.0),
                Series("unseen", steps, [row["validation"] for row in rows], "line1", size=2.0),
                *stop,
            ],
            [Series("", [best["step"]], [best["validation"]], "line2", "ring", size=6.0)],
            x=("step", 0, 800),
            y=("loss", 1e-4, 2),
            log_y=True,
            size=(340, 300),
        )
        said = "not yet" if end is None else steps[end - 1]
        return kit.panel(
            kit.controls("Early stopping", *controls),
            kit.progress(steps[-1] / 800, f"step {steps[-1]} of 800, {job.words}"),
            kit.row(
                kit.svg(fits, f"What the network draws after {steps[-1]} steps, and at its best step {best['step']}."),
                losses,
                least=300,
            ),
            kit.facts(
                unseen_now=rows[-1]["validation"],
                unseen_at_best=best["validation"],
                best_step=best["step"],
                would_stop_at=said,
            ),
        )

    training.show(_draw, running=go, points=few.value, width=width.value, steps=800, seed=trial.value)
    return


if __name__ == "__main__":
    app.run()
