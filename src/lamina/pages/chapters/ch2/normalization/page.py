import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Batch normalization")

with app.setup:
    import marimo as mo
    import torch
    from torch import nn

    from lamina._errors import LaminaError
    from lamina.drawing.charts import Series, histogram
    from lamina.experiments.figures_data import batch_norm_example
    from lamina.functional.normalization import (
        batch_norm,
        batch_norm_statistics,
        normalize,
        update_running_statistics,
    )
    from lamina.layers.normalization import FullAffineBatchNorm
    from lamina.pages import kit
    from lamina.pages.chapters.ch2.normalization._work import with_and_without

    F64 = torch.float64
    NODES = ("line1", "line5", "line3")

    def said(mean, variance):
        """Write mean and standard deviation."""
        return f"mean {mean:.2f}, std {variance**0.5:.2f}".replace("-0.00", "0.00").replace("-", "−")

    def counted(values):
        """Count the values of three nodes, each named with its mean and standard deviation."""
        numbers = zip(*(each.tolist() for each in batch_norm_statistics(values)), strict=True)
        return [
            histogram(f"node {i + 1}: {said(*pair)}", values[:, i].tolist(), low=-6, high=6, bins=60, color=color)
            for i, (pair, color) in enumerate(zip(numbers, NODES, strict=True))
        ]


@app.cell(hide_code=True)
def _(batch, beta, bias, gamma, printed):
    _before = batch_norm_example(batch.value)[0] + bias.value
    _gamma, _beta = (torch.full((3,), v.value, dtype=F64) for v in (gamma, beta))
    _mean, _variance = batch_norm_statistics(_before)
    if printed.value:
        _after = normalize(_before, _mean, _variance.sum().expand(3), _gamma, _beta)
    else:
        _after = batch_norm(_before, _gamma, _beta)
    _unmoved = (batch_norm(_before, _gamma, _beta) - batch_norm(_before - bias.value, _gamma, _beta)).abs().max().item()
    _counted = {"before": counted(_before), "after": counted(_after)}
    _tallest = max(max(series.ys) for bars in _counted.values() for series in bars)
    kit.lab(
        kit.controls("Batch, bias, scale and shift", batch, bias, gamma, beta, printed),
        *(
            kit.plot(
                f"The three nodes {when} normalization; {'; '.join(series.name for series in bars)}.",
                bars=bars,
                title=f"{when} normalization",
                x=("value", -6, 6),
                y=("", 0, min(max(0.8, _tallest), 4)),
                size=kit.MAIN,
            )
            for when, bars in _counted.items()
        ),
        kit.facts(largest_change_by_the_bias=_unmoved),
        about="A layer that normalizes",
    )
    return


@app.cell(hide_code=True)
def _():
    batch = kit.steps([2, 5, 10, 50, 200, 1000, 2000], value=1000, label="batch size $b$")
    bias = kit.slider(-3, 3, 0.5, value=0.0, label="a bias before, added to all nodes")
    gamma = kit.slider(0.2, 2, 0.1, value=1.0, label=r"scale $\gamma$")
    beta = kit.slider(-3, 3, 0.5, value=0.0, label=r"shift $\beta$")
    printed = mo.ui.switch(label="variance as printed: one number")
    kit.column(
        kit.section("A layer that normalizes", ids=("N2.37", "N2.38", "N2.39", "N2.40", "N2.41", "N2.45")),
        kit.prose(r"""
            Good initial weights keep signals at a healthy size at the start. **Batch normalization** keeps them there during learning: a layer
            between two others shifts and scales every node so that, over the current batch of $b$ samples, it has mean 0 and variance 1.
            Then it scales and shifts by numbers $\gamma$, $\beta$ that are learned. PyTorch has it as `BatchNorm1d`, `2d`, `3d`, Keras as
            `BatchNormalization`. The idea assumes that a node is roughly normally distributed; the formula does not need it.
        """),
        kit.row(
            kit.formula(
                r"\mu = \frac1b \sum_{j=1}^b y_j, \qquad \sigma^2 = \frac1b \sum_{j=1}^b (y_j - \mu)^{.2}",
                "mean and variance of every node by itself",
            ),
            kit.formula(
                r"\hat y_j = \frac{y_j - \mu}{\sqrt{\sigma^2 + \epsilon}}, \qquad \gamma \odot \hat y_j + \beta",
                r"$\epsilon = 10^{-5}$ avoids a division by zero",
            ),
            least=330,
        ),
        kit.prose(r"""
            Two slips of the notes: they write the variance with a norm, which would give *one* number for the whole layer ([E04](/errata#E04)), and a full
            matrix $W$ in place of $\gamma$, which is batch normalization followed by a dense layer ([E05](/errata#E05)).
        """),
        kit.source(batch_norm_statistics, normalize, batch_norm),
    )
    return batch, beta, bias, gamma, printed


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Move the bias: what happens before normalization, and what after it? And which $\gamma$, $\beta$ would give node 1 back as it was?",
        r"""Before it, all distributions move; after it, nothing does: the mean takes the bias away again. So a layer right before batch normalization
        needs no bias. With $\gamma = \sigma$ and $\beta = \mu$ of a node (0.7 and 3 for the first) normalization is undone: nothing is lost that
        learning could not bring back.""",
        options=("Everything moves", "Nothing", "Only the variance changes"),
        right=1,
        predict="Move the bias in front of a batch normalization. What happens behind it?",
    )
    return


@app.cell(hide_code=True)
def _():
    nodes = kit.slider(1, 64, value=5, label="nodes $n$")
    kit.column(
        kit.section("It is learned", ids=("N2.40", "N2.42")),
        kit.prose(r"""
            $\gamma$ and $\beta$ are trainable, two numbers per node. With the full matrix of the notes it would be many more: for ResNet18 as
            a whole 13.4 million parameters instead of 11.7.
            $$\text{batch normalization of } n \text{ nodes: } 2n \text{ parameters}, \qquad \text{as printed: } n_{l+1} n_l + n_{l+1}$$
        """),
        kit.question(
            "Move the width and compare the two numbers.",
            r"200: one $\gamma$ and one $\beta$ for each node. As printed it would be $100 \cdot 100 + 100 = 10\,100$.",
            options=("100", "200", "10,100"),
            right=1,
            predict="How many parameters does batch normalization of 100 nodes have?",
        ),
        kit.source(FullAffineBatchNorm),
    )
    return (nodes,)


@app.cell(hide_code=True)
def _(nodes):
    _own, _full = nn.BatchNorm1d(nodes.value), FullAffineBatchNorm(nodes.value, nodes.value)
    _g = torch.Generator().manual_seed(0)
    _y = torch.randn(32, nodes.value, generator=_g)
    _goal = torch.randn(32, nodes.value, generator=_g)
    _loss = ((_own(_y) - _goal) ** 2).mean()
    _gradients = torch.autograd.grad(_loss, [_own.weight, _own.bias])
    kit.panel(
        kit.controls("Width", nodes),
        kit.facts(
            parameters=sum(p.numel() for p in _own.parameters()),
            as_printed=sum(p.numel() for p in _full.parameters()),
            gradient_of_gamma=_gradients[0].norm().item(),
            gradient_of_beta=_gradients[1].norm().item(),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    momentum = kit.slider(0.01, 0.5, 0.01, value=0.1, label=r"momentum $\rho$")
    seen = kit.slider(0, 60, value=30, label="batches seen")
    size = kit.steps([1, 2, 5, 10, 50], value=10, label="batch size $b$")
    value = kit.slider(-6, 6, 0.5, value=3.0, label="one sample in use: node 1 is")
    kit.column(
        kit.section("In training and in use", ids=("N2.44",)),
        kit.prose(r"""
            The notes stop here, but one question is open ([E06](/errata#E06)): what do you average over when a single sample comes in? A variance of one number
            does not exist. So during training the layer keeps **running averages** of mean and variance, and in use (`model.eval()`) it normalizes by
            them. The averaged variance is the unbiased one, with $b - 1$; the momentum is 0.1 in PyTorch.
            $$\bar\mu \leftarrow (1 - \rho)\, \bar\mu + \rho\, \mu, \qquad \bar\sigma^2 \leftarrow (1 - \rho)\, \bar\sigma^2 + \rho\, \tfrac{b}{b-1} \sigma^2$$
        """),
        kit.source(update_running_statistics),
    )
    return momentum, seen, size, value


@app.cell(hide_code=True)
def _():
    kit.question(
        "How many batches does it take until the running mean is within 5% of the truth, with momentum 0.1? And what does a batch of one do?",
        r"""About 29: the start at 0 fades like $0.9^k$, and $0.9^{29} < 0.05$. A larger momentum is faster but jumps with every batch. A batch of
        one value has no variance: training refuses it, with the sentence you see.""",
        options=("3", "About 30", "About 300"),
        right=1,
        predict="With momentum 0.1, how many batches does it take until the running mean is within 5% of the truth?",
    )
    return


@app.cell(hide_code=True)
def _(momentum, seen, size, value):
    _mean, _variance = torch.zeros(3, dtype=F64), torch.ones(3, dtype=F64)
    _means, _stds, _trouble = [0.0], [1.0], ""
    for _k in range(seen.value):
        try:
            _mean, _variance = update_running_statistics(
                batch_norm_example(size.value, seed=_k)[0] if size.value > 1 else batch_norm_example(2, seed=_k)[0][:1],
                _mean, _variance, momentum.value,
            )  # fmt: skip
        except LaminaError as error:
            _trouble = str(error)
            break
        _means.append(_mean[0].item())
        _stds.append(_variance[0].item() ** 0.5)
    _used = normalize(torch.tensor([[value.value, 0.0, 0.0]], dtype=F64), _mean, _variance)[0, 0].item()
    _x = list(range(len(_means)))
    kit.panel(
        kit.controls("Running averages", momentum, seen, size, value),
        kit.plot(
            f"After {len(_means) - 1} batches the running mean of node 1 is {_means[-1]:.3f} and its standard deviation {_stds[-1]:.3f}.",
            [
                Series("running mean of node 1", _x, _means, "line1"),
                Series("running standard deviation", _x, _stds, "line5"),
                Series("the truth: 3 and 0.7", [0, 60], [3.0, 3.0], "line6", "dotted"),
                Series("", [0, 60], [0.7, 0.7], "line6", "dotted"),
            ],
            x=("batches", 0, 60),
            y=("", 0, 4),
            size=(430, 230),
            wide=600,
        ),
        kit.facts(running_mean=_means[-1], running_std=_stds[-1], one_sample_becomes=_used),
        *([kit.note(_trouble, "bad")] if _trouble else []),
    )
    return


@app.cell(hide_code=True)
def _():
    std = kit.steps([0.01, 0.03, 0.1, 0.15, 0.2, 0.3], value=0.01, label="std of the initial weights")
    depth = kit.slider(3, 15, value=10, label="depth $L$")
    method = kit.dropdown({"mini batches": False, "Adam": True}, value="mini batches", label="method")
    rate = kit.steps([0.001, 0.01, 0.03, 0.1, 0.3], value=0.1, label=r"learning rate $\tau$")
    go = kit.play("Learn with and without")
    learning = kit.train(with_and_without, keep="last")
    kit.column(
        kit.section("What it does for learning", ids=("N2.43",)),
        kit.prose(r"""
            Batch normalization makes the size of the weights before it irrelevant, so it rescues deep ReLU networks from bad initial weights. Below,
            two networks that differ in nothing else learn two moons: start them and watch. With small weights the plain one stalls at chance, with large ones
            plain gradient descent diverges within a few steps.
            $$\mathrm{BN}(c\, W y) = \mathrm{BN}(W y) \quad \text{for every } c > 0 \text{ (up to } \epsilon)$$
        """),
    )
    return depth, go, learning, method, rate, std


@app.cell(hide_code=True)
def _(depth, method, rate, std):
    kit.row(std, depth, method, rate, least=220)
    return


@app.cell(hide_code=True)
def _(depth, go, learning, method, rate, std):
    def _draw(job):
        row = job.rows[-1] if job.rows else {"epoch": 0, "loss": [[], []], "score": [[], []], "bad": [None, None]}
        names, colors = ("without", "with batch normalization"), ("line2", "line3")
        ends = [f"{own[-1]:.3f}" if own else "–" for own in row["score"]]
        words = f"epoch {row['epoch']}, accuracy {ends[0]} without, {ends[1]} with"

        def lines(part):
            return [
                Series(name, [float(i + 1) for i in range(len(own))], own, color)
                for name, own, color in zip(names, row[part], colors, strict=True)
            ]

        said = [
            kit.note(f"{name}: the loss has not been a number since step {step}.", "bad")
            for name, step in zip(("Without", "With"), row["bad"], strict=True)
            if step is not None
        ]
        blank = {"x": ("epoch", 0, 60), "size": (400, 240)}
        return kit.column(
            go,
            kit.progress(row["epoch"] / 60, job.words),
            kit.row(
                kit.plot(
                    f"Training losses: {words}",
                    lines("loss") if row["epoch"] else [Series("", [0.0], [None])],
                    y=("training loss", 0, 1),
                    **blank,
                ),
                kit.plot(
                    f"Validation accuracy: {words}",
                    lines("score") if row["epoch"] else [Series("", [0.0], [None])],
                    y=("validation accuracy", 0.3, 1.02),
                    **blank,
                ),
                least=300,
            ),
            kit.facts(without=ends[0], with_batch_normalization=ends[1]),
            *said,
        )

    learning.show(_draw, running=go, std=std.value, depth=depth.value, width=100, rate=rate.value, adam=method.value)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "batch_norm_training",
            "Without batch normalization gradient descent stays at {accuracy[0]:.0%} from small weights and diverges from large ones, in {diverged[2]} of 3 runs; with it both starts end at {accuracy[1]:.0%}.",
        ),
        kit.question(
            "Is there a standard deviation at which the plain network learns as well? Why that one?",
            r"""Near He's $\sqrt{2/100} \approx 0.14$: signals keep their size without help. Batch normalization does not make networks better
            here, it makes them insensitive to how they start.""",
            options=("No", "Yes, from the right standard deviation"),
            right=1,
            predict="Can the plain network learn as well as the one with batch normalization?",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
