import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Residual blocks")

with app.setup:
    import torch

    from lamina.drawing.blocks import SUM, Block, Stage, residual_block
    from lamina.drawing.charts import Series
    from lamina.experiments.block_histories import DEPTH, compute, deep_blocks, stored
    from lamina.experiments.euler import damped_block
    from lamina.experiments.residual import stacked_blocks
    from lamina.layers.dense_blocks import DenseOriginalBlock, DensePreActBlock
    from lamina.layers.residual import SimpleResNetLayer
    from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
    from lamina.pages import kit
    from lamina.pages.chapters.ch4._shared import race_chart
    from lamina.pages.chapters.ch4.blocks._work import STEPS, stacks

    OUTSIDE = Block(
        (Stage("weights", r"$W_1 y + b$"), Stage("activation", r"activation $\sigma$"), Stage("weights", r"$W_2$"), SUM)
    )
    KINDS = {
        "original (ResNet)": "original",
        "full pre-activation (ResNetV2)": "pre-activation",
        "simplified layer": "residual-layer",
        "weight outside the activation": "outside",
        "original, with a projection": "projection",
        "original bottleneck": "original-bottleneck",
        "pre-activation bottleneck": "pre-activation-bottleneck",
    }
    ABOUT = {
        "original": (
            r"y^{[\ell]} = \mathrm{ReLU}\Big(y^{[\ell-1]} + \mathrm{BN}\big(W_2\, \mathrm{ReLU}(\mathrm{BN}(W_1 y^{[\ell-1]}))\big)\Big)",
            "Fig. 28. The block that libraries mean by ResNet. One ReLU comes after the sum: a post-activation, and outputs are never negative.",
        ),
        "pre-activation": (
            r"y^{[\ell]} = y^{[\ell-1]} + W_2\, \mathrm{ReLU}\big(\mathrm{BN}(W_1\, \mathrm{ReLU}(\mathrm{BN}(y^{[\ell-1]})))\big)",
            "Fig. 29. Nothing comes after the sum. TensorFlow calls networks built from this block ResNetV2.",
        ),
        "residual-layer": (
            r"y^{[\ell]} = y^{[\ell-1]} + \sigma(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]})",
            "Fig. 26. The layer of Eq. (9): one weight, one activation, no normalization.",
        ),
        "outside": (
            r"y^{[\ell]} = y^{[\ell-1]} + W_2\, \sigma(W_1 y^{[\ell-1]} + b)",
            "A variant of the simplified layer in the literature: a second weight outside the activation, so that the branch can have any sign and size. With a zero second weight it is the identity.",
        ),
        "projection": (
            r"y^{[\ell]} = \mathrm{ReLU}\big(\mathrm{BN}(W_s\, y^{[\ell-1]}) + \mathrm{BN}(W_2\, \mathrm{ReLU}(\mathrm{BN}(W_1 y^{[\ell-1]})))\big)",
            "Where the number of maps doubles and their size halves, the skip connection needs weights of its own: a convolution of 1 × 1 with stride 2.",
        ),
        "original-bottleneck": (
            r"y^{[\ell]} = \mathrm{ReLU}\big(y^{[\ell-1]} + \mathrm{BN}(W_3\, \mathrm{ReLU}(\mathrm{BN}(W_2\, \mathrm{ReLU}(\mathrm{BN}(W_1 y^{[\ell-1]}))))))\big)",
            "Three weights: 1 × 1 to fewer maps, 3 × 3, 1 × 1 back. ResNet50 and deeper ones are built from it.",
        ),
        "pre-activation-bottleneck": (
            r"y^{[\ell]} = y^{[\ell-1]} + W_3\, \mathrm{ReLU}(\mathrm{BN}(W_2\, \mathrm{ReLU}(\mathrm{BN}(W_1\, \mathrm{ReLU}(\mathrm{BN}(y^{[\ell-1]}))))))",
            "The same three weights in the other order: what ResNet-1001 of Fig. 30 is really built from.",
        ),
    }
    CLASSES = {
        "original": DenseOriginalBlock,
        "pre-activation": DensePreActBlock,
        "residual-layer": SimpleResNetLayer,
        "outside": SimpleResNetLayer,
        "projection": OriginalBlock,
        "original-bottleneck": OriginalBlock,
        "pre-activation-bottleneck": PreActBlock,
    }


@app.cell(hide_code=True)
def _(depth, go, training):
    def _draw(job):
        colors = {"plain": "line2", "original": "line1", "preactivation": "line3"}
        last = job.rows[-1] if job.rows else None
        words = (
            f"After {last['plain']['step']} steps the training loss is {last['plain']['loss']:.2f} plain, {last['original']['loss']:.2f} original, {last['preactivation']['loss']:.2f} pre-activation."
            if last
            else "Nothing has been trained yet."
        )
        loss = race_chart(
            job.rows,
            colors,
            "loss",
            until=STEPS,
            y_label="training loss",
            y_range=(0.05, 10),
            log_y=True,
            size=kit.MAIN,
        )
        right = race_chart(
            job.rows,
            colors,
            "validation_accuracy",
            until=STEPS,
            y_label="correct on other digits",
            y_range=(0, 1),
            size=kit.BESIDE,
        )
        return kit.lab(
            kit.controls("Depth", depth),
            kit.row(
                kit.svg(loss, f"The training loss of three stacks of {depth.value} layers. {words}"),
                kit.svg(
                    right, "The share of right answers on digits that were not trained with, for the three stacks."
                ),
                least=300,
            ),
            kit.progress((last["plain"]["step"] / STEPS) if last else 0, job.words),
            kit.note(words),
            play=go,
            about="Stack them",
        )

    training.show(_draw, running=go, depth=depth.value, seed=0)
    return


@app.cell(hide_code=True)
def _():
    kind = kit.dropdown(list(KINDS), value="original (ResNet)", label="block")
    kit.column(
        kit.section(
            "The same boxes in another order",
            ids=("N4.18", "N4.19", "N4.20", "N4.22", "N4.23", "N4.24", "N4.25", "N4.26"),
        ),
        kit.prose("""
            The networks of the original papers are stacks of **residual blocks**. A block holds two layers of weights (dense
            or convolutional), each with batch normalization (BN) and ReLU, and one skip connection around all of it. The
            versions differ in what comes before the sum and what comes after it.
        """),
    )
    return (kind,)


@app.cell(hide_code=True)
def _(kind):
    _name = KINDS[kind.value]
    _scene = residual_block(OUTSIDE if _name == "outside" else _name)
    _formula, _words = ABOUT[_name]
    kit.column(
        kit.panel(
            kit.controls(
                "Kind of block", kind, kit.prose("Yellow: weights. Brown: normalization. Violet: activation.")
            ),
            kit.svg(_scene, f"The block {kind.value}. {_scene.description}", width=1100),
            kit.formula(_formula),
            kit.prose(_words),
        ),
        kit.source(CLASSES[_name]),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose(r"""
            **About the name.** The notes call a block *pre*-activation because every activation comes before the sum; then the
            simplified layer is one, too. In the paper that coined it, the word says that normalization and ReLU come before
            the *weights*; in that sense $\sigma(Wy + b)$ is a post-activation of its weight. Both readings agree on what
            counts here ([E58](/errata#E58)): nothing blocks the path of the skip connection.
        """),
        kit.question(
            "A library offers you a network called ResNet. Which block is it built from?",
            """Almost always the original one of Fig. 28, both in PyTorch and in TensorFlow; the pre-activation version goes by the name ResNetV2.
            To be sure, look into the code for a ReLU after the sum.""",
            options=("The original block", "The pre-activation block"),
            right=0,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    tau = kit.slider(0, 1, 0.05, value=0.3, label=r"factor $\tau$ on the branch")
    kit.column(
        kit.section("Turn the branch off", ids=("N4.21",)),
        kit.prose(r"""
            Multiply the branch by a factor $\tau$ and make it small. A step in time of a differential equation,
            $y + \tau f(y)$, then tends to $y$. Below are all components of 64 vectors before and after a block with dense weights; each
            vector has 16 components.
            $$F_\tau(y) = y + \tau f(y) \quad\Longrightarrow\quad \frac{F_\tau(y) - y}{\tau} = f(y) \;\text{ for every } \tau$$
        """),
        kit.source(damped_block),
    )
    return (tau,)


@app.cell(hide_code=True)
def _(tau):
    _y = torch.randn(64, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _scenes, _least = [], {}
    for _kind, _title, _color in (("original", "original", "line1"), ("preactivation", "pre-activation", "line3")):
        _out = damped_block(_kind, _y, tau.value)
        _least[_kind] = _out.min().item()
        _scenes.append(
            kit.chart(
                lines=[Series("", [-3, 3], [-3, 3], "muted", "dashed")],
                points=[Series("", _y.flatten()[:400].tolist(), _out.flatten()[:400].tolist(), _color, size=1.8)],
                title=_title,
                x=("before", -3, 3),
                y=("after", -3, 3),
                size=(300, 280),
            )
        )
    kit.panel(
        [tau],
        kit.row(
            *(
                kit.svg(scene, f"Numbers before and after the {name} block; the least one after it is {least:.2f}.")
                for scene, (name, least) in zip(_scenes, _least.items(), strict=True)
            )
        ),
        kit.facts(least_of_original=_least["original"], least_of_pre_activation=_least["preactivation"]),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose(r"""
            At $\tau = 0$ the pre-activation block is exactly the identity. The original block is ReLU: for negative numbers its
            difference quotient is $-y/\tau$ and grows without bound, so it is no step of any differential equation. Measured:
        """),
        kit.recorded(
            "blocks_as_steps",
            r"As $\tau$ shrinks, the quotient of the pre-activation block stays at {pre-activation[0]:.2f}, while that of the original block grows to {original[3]:.0f} at $\tau = 0.001$.",
        ),
        kit.question(
            "Stack 100 blocks of each kind with branches that do nothing. What comes out?",
            """From the pre-activation blocks, the input. From the original ones, the input with its negative numbers set to zero, already after the
            first block. Forward and backward the free path through all blocks exists only in the first stack.""",
            options=("The input", "The input without its negative numbers", "Zero"),
            right=1,
            predict="Stack 100 original blocks whose branches do nothing. What comes out?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    depth = kit.slider(4, 110, 2, value=50, label="layers with weights", debounce=True)
    go = kit.play("Train")
    training = kit.train(stacks)
    kit.column(
        kit.section("Stack them", ids=("N4.28",)),
        kit.prose("""
            Blocks of two dense layers, stacked between a first and a last layer, learn the embedded digits: without skip
            connections (plain), with original blocks, with pre-activation blocks. All three start from the same matrices.
        """),
        kit.source(stacked_blocks),
    )
    return depth, go, training


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "training_error_by_depth",
            "At 28 layers the plain stack has a training loss of {training loss[2]:.2f}, with original blocks it is {training loss[5]:.2f}, with pre-activation {training loss[8]:.2f}.",
            ("block", "depth", "training loss", "spread", "training error"),
        ),
        kit.recorded(
            "both_blocks",
            "At 110 layers pre-activation is ahead with every seed: with the first one the training loss ends at {training loss[3]:.2f} instead of {training loss[0]:.2f}.",
        ),
        kit.question(
            "All three stacks have batch normalization after every weight, so their gradients do not vanish at the start. Why does the plain one still fail?",
            """Its *training* loss grows with the depth, which a deeper network could avoid by letting the extra layers be the identity. It cannot
            find this identity: every layer has to rebuild all information that it passes on. This degradation, not a vanishing number, is what the residual papers report ([E75](/errata#E75)).""",
            options=("Yes, as well as the others", "No"),
            right=1,
            predict="Gradients do not vanish at the start, thanks to batch normalization. Does the deep plain stack learn?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    _original, _better = stored()
    kit.column(
        kit.section("Fig. 30, scaled down", ids=("N4.27", "N4.29")),
        kit.prose(rf"""
            The notes show ResNet-1001 on **CIFAR-10**, pictures of $32 \times 32$ pixels in three colors and ten classes:
            training loss (dashed, left axis) and test error (solid, right axis) over the iterations, original blocks in blue,
            pre-activation blocks in green. Below is the same plot for what fits into a minute: {DEPTH} convolutional layers on the embedded digits.
        """),
        kit.svg(
            deep_blocks(),
            f"Fig. 30 for {DEPTH} layers: the training loss ends at {_original.losses[-1]:.3f} with original and {_better.losses[-1]:.3f} with pre-activation blocks, the test error at {_original.errors[-1]:.1f} and {_better.errors[-1]:.1f} percent.",
        ),
        kit.table(
            ("block", "training loss at the end", "test error at the end in %"),
            [
                ("original", _original.losses[-1], _original.errors[-1]),
                ("pre-activation", _better.losses[-1], _better.errors[-1]),
            ],
            caption="Recreate it with python -m lamina.experiments.block_histories",
        ),
        kit.prose(r"""
            A network of the drawn blocks with two weights has $6n + 2$ layers in three stages, and 1001 is not one of these numbers:
            $1001 = 9 \cdot 111 + 2$, so the network of the figure has bottleneck blocks with three weights ([E59](/errata#E59)). With CIFAR-10 on disk,
            `lamina train cifar-resnet --data cifar10 --set block=preactivation --set depth=110` trains the real thing.
        """),
        kit.source(compute),
        kit.question(
            "Is the original block worse for every depth?",
            "No. In the chart above, with 4 and with 12 layers, the original block has the smaller training loss; with 28 the order has turned, and with 110 the difference is large. The advantage comes with the depth, which is what the notes claim.",
            options=("Yes", "No, only from some depth on"),
            right=1,
        ),
    )
    return


if __name__ == "__main__":
    app.run()
