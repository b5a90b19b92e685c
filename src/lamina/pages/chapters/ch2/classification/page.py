import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Classification")

with app.setup:
    import marimo as mo
    import torch

    from lamina.data.synthetic import WORDS, spam, spam_logit
    from lamina.drawing.charts import Note, Series, histogram
    from lamina.drawing.panels import picture_grid
    from lamina.experiments.figures import FIGURES
    from lamina.experiments.figures_data import shown_digits
    from lamina.functional.activations import probabilities, sigmoid, softmax
    from lamina.functional.encoding import one_hot
    from lamina.functional.losses import (
        bernoulli_likelihood,
        binary_cross_entropy,
        cross_entropy_cases,
        negative_log_likelihood,
    )
    from lamina.functional.metrics import accuracy, calibration, confusion
    from lamina.pages import kit
    from lamina.pages.chapters.ch2.classification._drawing import counted_grid
    from lamina.pages.chapters.ch2.classification._work import SHOWN, learn, parts

    F64 = torch.float64
    MESSAGES = spam(2000, seed=1)
    CHANCES = probabilities(spam_logit(MESSAGES.inputs)[:, None])[:, 1]


@app.cell(hide_code=True)
def _(threshold):
    _labels = MESSAGES.targets
    _guesses = (threshold.value <= CHANCES).long()
    _matrix = confusion(_guesses, _labels, 2)
    (_ham, _lost), (_missed, _caught) = _matrix.tolist()
    _bins = [
        histogram(name, CHANCES[_labels == label].tolist(), low=0, high=1, bins=25, color=color)
        for label, name, color in ((0, "not spam", "line1"), (1, "spam", "line2"))
    ]
    _high = max(max(series.ys) for series in _bins)
    kit.lab(
        kit.controls("Threshold", threshold),
        kit.row(
            kit.plot(
                f"Probabilities of spam and of other messages, threshold {threshold.value:.2f}.",
                [Series("threshold", [threshold.value] * 2, [0.0, _high], "ink", "dashed")],
                bars=_bins,
                x=("probability of spam", 0, 1),
                y=("density", 0, _high),
                size=kit.MAIN,
            ),
            kit.svg(
                counted_grid(_matrix.tolist(), ("other", "spam"), cell=64.0),
                f"Confusion: {_ham} other kept, {_lost} other lost, {_missed} spam missed, {_caught} spam caught.",
                width=260,
            ),
            least=220,
        ),
        kit.facts(
            accuracy=accuracy(_guesses, _labels),
            real_messages_lost=_lost,
            spam_that_comes_through=_missed,
            calibration_error=calibration(CHANCES, _labels).error,
        ),
        about="From probability to decision: spam",
    )
    return


@app.cell(hide_code=True)
def _():
    logit = kit.slider(-40, 40, 0.2, value=1.0, label="$z$, before the last activation")
    kit.column(
        kit.section("One output is a probability", ids=("N2.46", "N2.47", "N2.48", "N2.49", "N2.61")),
        kit.prose(r"""
            Is this message spam? A bare yes or no hides how sure the network is. So let its only output be the **probability** of category 1,
            given the input and the parameters; category 0 has the rest. The last activation is the sigmoid, which maps any number $z = z^{[L]}$
            into $(0, 1)$. (The notes write that the output is the probability of *itself* being 1 ([E30](/errata#E30)), and give the activation of the last layer the
            number of the layer before: it is $\sigma^{[L]}$, [E72](/errata#E72).)
            $$y^{[L]} = \sigma(z) = \frac{1}{1 + e^{-z}} = \frac{e^{z}}{e^{z} + 1}, \qquad P(S = 1 \mid u, \theta) = y^{[L]}, \quad P(S = 0 \mid u, \theta) = 1 - y^{[L]}$$
        """),
        kit.source(sigmoid, probabilities),
    )
    return (logit,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "The sigmoid never reaches 0 or 1, says the formula. From which $z$ on does it reach 1 on this computer?",
        """In float32 from 17.4 on, in float64 from 36.8 on: the nearest number that the computer has then *is* 1 ([E31](/errata#E31)). That is why losses are computed
        from z and not from the probability. And the softmax of (0, z) is the sigmoid of z: one output is two classes.""",
        options=("Never", "From about 17", "From about 100"),
        right=1,
        predict="From which $z$ on is the sigmoid exactly 1 in float32?",
    )
    return


@app.cell(hide_code=True)
def _(logit):
    _x = torch.linspace(-5, 5, 201, dtype=F64)
    _z = torch.tensor([[logit.value]], dtype=F64)
    _both = probabilities(_z)[0]
    _pair = softmax(torch.tensor([0.0, logit.value], dtype=F64))
    _short = sigmoid(torch.tensor(logit.value, dtype=torch.float32)).item()
    kit.panel(
        kit.controls("Output before the sigmoid", logit),
        kit.plot(
            f"The sigmoid: at z = {logit.value:.1f} the probability of category 1 is {_both[1].item():.4f}.",
            [Series("", _x.tolist(), sigmoid(_x).tolist(), "activation")],
            [Series("", [min(5.0, max(-5.0, logit.value))], [_both[1].item()], "activation")],
            x=("$z$", -5, 5),
            y=(r"$\sigma(z)$", -0.25, 1.25),
            size=(430, 240),
            wide=600,
        ),
        kit.facts(category_1=_both[1].item(), category_0=_both[0].item(), sum=_both.sum().item()),
        kit.table(
            ("computed as", "probability of category 1", "exactly 1?"),
            [
                ("sigmoid of z, float64", _both[1].item(), "yes" if _both[1].item() == 1 else "no"),
                ("sigmoid of z, float32", _short, "yes" if _short == 1 else "no"),
                ("softmax of (0, z), float64", _pair[1].item(), "yes" if _pair[1].item() == 1 else "no"),
            ],
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    predicted = kit.slider(0.01, 0.99, 0.01, value=0.9, label="predicted $y$")
    ones = kit.slider(0, 10, value=7, label="of 10 labels are 1")
    wrong = kit.steps(
        [1.0, 5.0, 10.0, 20.0, 40.0, 80.0, 100.0, 150.0, 200.0], value=20.0, label="$z$, though the label is 0"
    )
    kit.column(
        kit.section(
            "The loss: how likely were the labels?", ids=("N2.50", "N2.51", "N2.52", "N2.53", "N2.54", "N2.55")
        ),
        kit.prose(r"""
            The network thinks that label $S$ has the probability $P = y^S (1 - y)^{1 - S}$: $y$ if $S = 1$, $1 - y$ if $S = 0$. Good parameters
            make the labels that we have *likely*. Maximize the likelihood, which is the same as maximizing its logarithm, which is the same as
            minimizing the negative logarithm; over all samples we take its mean:
        """),
        kit.formula(
            r"\begin{aligned} & \max_\theta\; y^S (1 - y)^{1 - S} \\ \Leftrightarrow\;\; & \max_\theta\; \log\big(y^S (1 - y)^{1 - S}\big) \\ \Leftrightarrow\;\; & \max_\theta\; S \log y + (1 - S) \log(1 - y) \\ \Leftrightarrow\;\; & \min_\theta\; {-S} \log y - (1 - S) \log(1 - y) \end{aligned}",
            "binary cross entropy, step by step",
        ),
        kit.formula(
            r"\mathscr{L} = \frac1N \sum_{i=1}^N \begin{cases} -\log y^{(i)} & \text{if } S(u^{(i)}) = 1 \\ -\log\big(1 - y^{(i)}\big) & \text{if } S(u^{(i)}) = 0 \end{cases}",
            "the same, case by case, as a mean over the samples",
        ),
        kit.source(bernoulli_likelihood, cross_entropy_cases, binary_cross_entropy),
    )
    return ones, predicted, wrong


@app.cell(hide_code=True)
def _():
    kit.question(
        r"What does a wrong answer cost at $y = 0.9$, at $0.99$? And which constant $y$ is best if 7 of 10 labels are 1?",
        r"""$-\log 0.1 = 2.303$ and $-\log 0.01 = 4.605$: every additional nine costs another 2.3. The best constant is the share of ones, 0.7: maximum
        likelihood and minimum cross entropy are at the same place. The two curves are mirror images, and the loss of a right answer goes to 0.""",
        options=("2.5", "4.6", "23"),
        right=1,
        predict="A wrong answer at $y = 0.9$ costs 2.3. What does it cost at 0.99?",
    )
    return


@app.cell(hide_code=True)
def _(ones, predicted):
    _y = torch.linspace(0.005, 0.995, 199, dtype=F64)
    _now = torch.tensor(predicted.value, dtype=F64)
    _cases = [cross_entropy_cases(_now, torch.tensor(label)).item() for label in (1, 0)]
    _curves = [
        kit.chart(
            [Series("", _y.tolist(), cross_entropy_cases(_y, torch.full_like(_y, label)).tolist(), color)],
            [Series("", [predicted.value], [loss], color)],
            title=f"label $S = {label}$",
            x=("$y$", 0, 1),
            y=("loss", 0, 5),
            size=(250, 210),
        )
        for label, loss, color in ((1, _cases[0], "line1"), (0, _cases[1], "line2"))
    ]
    _labels = torch.tensor([1.0] * ones.value + [0.0] * (10 - ones.value), dtype=F64)
    _likely = bernoulli_likelihood(_y[:, None], _labels).prod(1)
    _mean = binary_cross_entropy(_y.logit()[:, None].expand(-1, 10), _labels.expand(199, -1), "none").mean(1)
    _best = _y[_mean.argmin()].item()
    kit.panel(
        kit.controls("Prediction and labels", predicted, ones),
        kit.row(
            *(
                kit.svg(scene, f"Cross entropy for label {label}: {loss:.4f} at y = {predicted.value:.2f}.")
                for scene, label, loss in zip(_curves, (1, 0), _cases, strict=True)
            ),
            kit.plot(
                f"Likelihood and cross entropy of ten labels: the best y is {_best:.2f}.",
                [
                    Series("likelihood, its maximum as 1", _y.tolist(), (_likely / _likely.max()).tolist(), "line3"),
                    Series("cross entropy", _y.tolist(), _mean.tolist(), "line4", "dashed"),
                ],
                notes=[Note(_best, 1.0, f"{_best:.2f}")],
                title=f"{ones.value} of 10 labels are 1",
                x=("one $y$ for all", 0, 1),
                y=("", 0, 2),
                size=(250, 210),
            ),
            least=230,
        ),
        kit.facts(loss_if_1=_cases[0], loss_if_0=_cases[1], best_y_for_ten_labels=_best),
    )
    return


@app.cell(hide_code=True)
def _(wrong):
    _z, _s = torch.tensor([wrong.value]), torch.tensor([0.0])
    _p = sigmoid(_z)
    _literal = cross_entropy_cases(_p, _s)[0].item()
    kit.panel(
        kit.controls(
            "A wrong answer",
            r"Confidently wrong: the loss grows without bound. Which formula still knows how wrong the answer is?",
            wrong,
        ),
        kit.table(
            ("in float32", "loss"),
            [
                ("−log(1 − σ(z)), as written", _literal if _literal != float("inf") else "infinite"),
                ("torch.nn.BCELoss, cut off at 100", torch.nn.functional.binary_cross_entropy(_p, _s).item()),
                ("binary_cross_entropy, from z", binary_cross_entropy(_z, _s).item()),
            ],
            caption="The loss of a wrong answer",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    threshold = kit.slider(0.02, 0.98, 0.02, value=0.5, label="threshold $t$")
    message = mo.ui.text(value="you are a winner click for a free prize", label="your message", full_width=True)
    kit.column(
        kit.section("From probability to decision: spam", ids=("N2.46", "N2.64")),
        kit.prose(r"""
            A probability leaves the decision to you: how sure must the filter be before a message is thrown away? Here are 2000 made-up messages,
            judged by the counts of their words. Their exact probability of being spam is known, so no filter can do better. Move the threshold: losing a real
            message and reading one more spam message are not equally bad.
            $$\text{decide for 1 if } \; P(S = 1 \mid u, \theta) \ge t$$
        """),
        kit.source(spam, confusion),
    )
    return message, threshold


@app.cell(hide_code=True)
def _(message, threshold):
    _typed = message.value.lower().split()
    _counts = torch.tensor([[float(_typed.count(word)) for word in WORDS]])
    _chance = probabilities(spam_logit(_counts)[:, None])[0, 1].item()
    _verdict = "thrown away" if _chance >= threshold.value else "kept"
    kit.panel(
        kit.controls("Your message", message),
        kit.facts(probability_of_spam=_chance, words_it_knows=int(_counts.sum()), verdict=_verdict),
        kit.prose("It counts these words: " + ", ".join(WORDS) + "."),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "Choose the threshold so that at most five real messages of the 2000 are lost. How much spam gets through then? Is accuracy the right thing to look at?",
            """At 0.98 only two are lost, but a good third of the spam gets through. Accuracy is best near 0.5; it counts both kinds of mistakes alike.
            That choice is yours, and only a probability gives it to you.""",
            options=("Almost none", "A good third", "Almost all"),
            right=1,
            predict="At most five of the real messages may be lost. How much spam gets through then?",
        ),
        kit.recorded(
            "spam_filter",
            "One neuron gets {accuracy[1]:.1%} right, a hidden layer {accuracy[2]:.1%}, the exact probabilities {accuracy[3]:.1%}: here one neuron is enough.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    outputs = mo.ui.array(
        [kit.slider(-5, 5, 0.1, value=v, label=f"$z_{i}$") for i, v in enumerate((2.0, 0.5, -1.0, 0.0))]
    )
    shift = kit.slider(-1000, 1000, 50, value=0, label="added to all of them")
    label = kit.dropdown({f"class {i}": i for i in range(4)}, value="class 0", label="the right one is")
    kit.column(
        kit.section("Many classes: softmax", ids=("N2.56", "N2.60", "N2.61", "N2.62")),
        kit.prose(r"""
            With three categories or more the network has one output for each, and **softmax** turns them into probabilities that sum to 1. It
            acts on $z^{[L]} \in \mathbb R^{n_L}$, so the layer before may have any width. The label is a class number, counted from 0 here and in
            PyTorch (from 1 in the notes, [E43](/errata#E43)), or a one-hot vector; the loss is the negative logarithm of the probability of the right class.
        """),
        kit.row(
            kit.formula(r"\mathrm{softmax}(z)_i = \frac{\exp(z_i)}{\sum_{j} \exp(z_j)} \in (0, 1)"),
            kit.formula(
                r"\mathscr{L} = \frac1N \sum_{i=1}^N -\log\big(\mathrm{softmax}(z^{(i)})_{S(u^{(i)})}\big)",
                "negative log-likelihood; the notes print 1 = 1 under the sum ([E07](/errata#E07))",
            ),
            kit.formula(
                r"\frac{\partial \mathscr{L}}{\partial z} = \tfrac1N (p - \text{one-hot})",
                "its gradient is as simple as it can be",
            ),
            least=280,
        ),
        kit.source(softmax, negative_log_likelihood),
    )
    return label, outputs, shift


@app.cell(hide_code=True)
def _(label, outputs, shift):
    _z = torch.tensor(outputs.value, dtype=F64) + shift.value
    _p = softmax(_z)
    _leaf = _z[None].clone().requires_grad_()
    _loss = negative_log_likelihood(_leaf, torch.tensor([label.value]))
    _gradient = torch.autograd.grad(_loss, _leaf)[0][0]
    _hot = one_hot(torch.tensor([label.value]), 4)[0]
    _naive = _z.exp() / _z.exp().sum()
    kit.panel(
        kit.controls("Outputs and label", *outputs.elements, shift, label),
        kit.plot(
            f"Probabilities {', '.join(f'{v:.3f}' for v in _p.tolist())}; the loss is {_loss.item():.4f}.",
            bars=[
                Series("probability", [float(i) for i in range(4)], _p.tolist(), "output"),
            ],
            points=[Series("one-hot label", [float(i) for i in range(4)], _hot.tolist(), "ink", "ring", size=5.0)],
            x=("class", -0.6, 3.6),
            y=("", -0.1, 1.1),
            size=(430, 230),
            wide=600,
        ),
        kit.facts(
            loss=_loss.item(), sum=_p.sum().item(), as_written="not a number" if _naive.isnan().any() else "fine"
        ),
        kit.table(
            ("class", "z", "probability", "one-hot", "gradient with respect to z"),
            [(i, _z[i].item(), _p[i].item(), _hot[i].item(), _gradient[i].item()) for i in range(4)],
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "Add 1000 to all outputs. Do the probabilities change? Why does the formula *as written* fail? What is the loss if all outputs are equal?",
            r"""They do not: a common factor cancels. But $e^{1000}$ is infinite in floating point, and infinity divided by infinity is not a number. Subtracting the
            largest output first cures it, and that is what the library does. Equal outputs give $\frac14$ each and the loss $\log 4 = 1.386$.""",
            options=("All become 1", "Nothing", "They become equal"),
            right=1,
            predict="Add 1000 to all outputs. What happens to the probabilities of the softmax?",
        ),
        kit.recorded(
            "several_classes",
            "Iris and wine have {classes[0]} classes, the digits {classes[2]}, with labels from {first label[2]} to {last label[2]}.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Handwritten digits", ids=("N2.57", "N2.58", "N2.59", "N2.63")),
        kit.prose(r"""
            **MNIST** is the classic: 60,000 + 10,000 pictures of handwritten digits, 28 x 28 *gray* values in $[0, 1]$ (the notes say black and
            white, [E77](/errata#E77)), so 784 inputs and 10 classes. This page has the 1,797 smaller digits that come with the package, 8 x 8, enlarged to 28 x 28; they
            need no download. With MNIST on your disk, the figure shows it, and `lamina train fnn --data mnist` takes all of it.
            $$\mathcal F: [0, 1]^{784} \to [0, 1]^{10}, \qquad n_0 = 784, \; n_L = 10$$
        """),
    )
    return


@app.cell(hide_code=True)
def _():
    _source, _seven, _grid = shown_digits()
    _of = "MNIST" if _source == "mnist" else "the digits of the package"

    def _ink(picture):
        return (255 - picture.int()).tolist()

    widths = kit.dropdown(
        {"none": (), "32": (32,), "128-64": (128, 64), "128-64-32": (128, 64, 32)},
        value="128-64",
        label="hidden layers",
    )
    sigma = kit.dropdown({"ReLU": "relu", "tanh": "tanh", "sigmoid": "sigmoid"}, value="ReLU", label="activation")
    rate = kit.steps([0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03], value=0.001, label=r"learning rate $\tau$")
    size = kit.steps([8, 16, 32, 64, 128], value=32, label="batch size")
    go = kit.play("Learn the digits")
    training = kit.train(learn, keep="last")
    kit.row(
        kit.svg(
            picture_grid([_ink(_seven)], 1, cell=200, title="the digit 7"),
            "One handwritten 7",
            caption=f"Fig. 14, left: one sample of {_of}",
            width=210,
        ),
        kit.svg(
            picture_grid([_ink(picture) for picture in _grid], 10, cell=22, gap=2, title="all digits"),
            "A hundred handwritten digits, ten of each class",
            caption=f"Fig. 14, right: ten of each class of {_of}",
            width=300,
        ),
        kit.svg(
            FIGURES["15"].make(),
            "A network with 784 inputs, three hidden layers and 10 outputs",
            caption="Fig. 15: the hidden widths are yours to choose",
            width=430,
        ),
        least=230,
    )
    return go, rate, sigma, size, training, widths


@app.cell(hide_code=True)
def _(rate, sigma, size, widths):
    kit.row(widths, sigma, rate, size, least=200)
    return


@app.cell(hide_code=True)
def _(go, rate, sigma, size, training, widths):
    _split = parts()
    _pictures, _labels = _split.validation.take(torch.arange(len(_split.validation)))

    def _card(index, words, label):
        return kit.column(kit.picture(_pictures[index, 0].tolist(), label, size=64), words)

    def _draw(job):
        if not job.rows:
            said = (
                kit.note(job.words, "bad")
                if job.state == "failed"
                else kit.note("Press the button: 15 passes take a few seconds.")
            )
            shown = kit.row(
                *(_card(i, f"a {int(_labels[i])}", f"a digit, {int(_labels[i])}") for i in range(SHOWN)), least=80
            )
            return kit.column(go, said, shown)
        row = job.rows[-1]
        at, losses, scores = zip(*row["history"], strict=True)
        cards = []
        for i, share in enumerate(row["shares"]):
            best = max(range(10), key=share.__getitem__)
            mark = "✓" if best == int(_labels[i]) else "✗"
            cards.append(
                _card(
                    i,
                    f"{mark} {best} {share[best]:.0%}",
                    f"a {int(_labels[i])}, read as {best} with probability {share[best]:.2f}",
                )
            )
        mistakes = [
            _card(i, f"{true} read as {guess}, {p:.0%}", f"a {true} read as {guess}")
            for i, true, guess, p in row["wrong"]
        ]
        words = f"validation accuracy {scores[-1]:.3f} after {round(row['epoch'], 1):g} epochs"
        return kit.column(
            go,
            kit.facts(
                epoch=f"{round(row['epoch'], 1):g} of 15",
                training_loss=losses[-1],
                validation_accuracy=scores[-1],
                parameters=row["parameters"],
            ),
            kit.progress(row["epoch"] / 15, job.words),
            kit.row(
                kit.plot(
                    f"Loss and accuracy: {words}",
                    [
                        Series("training loss", at, losses, "line1"),
                        Series("validation accuracy", at, scores, "line3", axis="right"),
                    ],
                    x=("epoch", 0, 15),
                    y=("", 0, 2.5),
                    right_range=(0, 1),
                    size=(420, 280),
                ),
                kit.svg(
                    counted_grid(row["confusion"], [str(d) for d in range(10)]),
                    f"The confusion matrix of the validation pictures: {words}",
                    width=460,
                ),
                least=300,
            ),
            kit.row(*cards, least=80),
            *([kit.card("Still wrong", kit.row(*mistakes, least=110))] if mistakes else []),
        )

    training.show(
        _draw, running=go, hidden=widths.value, activation=sigma.value, rate=rate.value, batch_size=size.value
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.question(
            "How far does the network without hidden layers get? Which digits are mixed up most?",
            """About 96% of these digits: a single layer already compares with ten weighted templates. Hidden layers add two percentage points. Eights are
            taken for ones, nines for threes: look at the pictures; you would argue about some of them.""",
            options=("About 50%", "About 80%", "About 96%"),
            right=2,
            predict="How many of the digits does a network without hidden layers read?",
        ),
        kit.row(
            kit.recorded(
                "fnn_on_digits",
                "Of all digits {right[10]:.1%} are read correctly; the zeros are easiest, {right[0]:.0%}, the nines hardest, {right[9]:.0%}.",
                columns=("digit", "right", "spread"),
            ),
            kit.recorded(
                "digit_pictures",
                "There are {pictures[0]:,} pictures of 8 × 8 pixels with {gray values[0]} gray values, at least {in the rarest class[0]} of each digit.",
            ),
            least=340,
        ),
    )
    return


if __name__ == "__main__":
    app.run()
