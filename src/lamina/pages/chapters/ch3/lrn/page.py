import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="AlexNet and its normalization")

with app.setup:
    import torch

    from lamina.drawing.charts import Series
    from lamina.drawing.cubes import neighborhood, response_norm, rgb_convolution, rgb_numbers
    from lamina.drawing.famous import alexnet
    from lamina.experiments.convolutional import response_sizes
    from lamina.functional.convolution import correlation, filter_parameter_count, output_size
    from lamina.functional.dense import parameter_count
    from lamina.functional.normalization import local_response_norm, local_response_norm_within
    from lamina.functional.random import dropout
    from lamina.pages import kit
    from lamina.pages.chapters.ch3.lrn._drawing import thinned_network
    from lamina.pages.chapters.ch3.lrn._work import dropout_race

    F64 = torch.float64
    PLAN = (  # channels, kernel size, padding, stride, pooled
        (96, 11, 0, 4, True), (256, 5, 2, 1, True), (384, 3, 1, 1, False), (384, 3, 1, 1, False), (256, 3, 1, 1, True),
    )  # fmt: skip


@app.cell(hide_code=True)
def _(beta, gamma, kappa, others, peak, reach):
    _y = torch.full((9, 1, 1), float(others.value), dtype=F64)
    _y[4] = float(peak.value)
    _options = {"size": reach.value, "kappa": kappa.value, "gamma": gamma.value, "beta": beta.value}
    _after = local_response_norm(_y, **_options)
    _k = list(range(1, 10))
    _bars = kit.plot(
        f"Nine channels before and after: channel 5 goes from {peak.value} to {_after[4].item():.3f}.",
        bars=[
            Series("before", [k - 0.2 for k in _k], _y.flatten().tolist(), "stage", size=0.38),
            Series("after", [k + 0.2 for k in _k], _after.flatten().tolist(), "norm", size=0.38),
        ],
        x=("channel", 0.4, 9.6),
        y=("activity", 0, 100),
        size=kit.MAIN,
    )
    _sizes = [10 ** (e / 20) for e in range(0, 61)]
    _found = response_sizes(tuple(_sizes))
    _alone = [local_response_norm(torch.tensor([[[v]]], dtype=F64), **_options).item() for v in _sizes]
    _curve = kit.plot(
        f"A single active channel of 1 to 1000: 1000 becomes {_alone[-1]:.3g}.",
        lines=[
            Series("alone, your constants", _sizes, _alone, "norm"),
            Series("alone, AlexNet's", _sizes, _found.column("after"), "line1", "dashed"),
            Series("no normalization", _sizes, _sizes, "stage", "dotted"),
        ],
        x=("activity before", 1, 1000),
        y=("after", 0.01, 1000),
        log_x=True,
        log_y=True,
        size=kit.BESIDE,
    )
    kit.lab(
        kit.controls("Activities and constants", peak, others, kappa, gamma, beta, reach),
        kit.row(_bars, _curve, least=300),
        kit.facts(
            channel_5=_after[4].item(),
            a_neighbor=_after[5].item(),
            **{"channel 1, at the edge": _after[0].item()},
            trainable_parameters=0,
        ), about="Local response normalization"
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    rgb_row = kit.slider(1, 3, value=1, label="row $i$ of the entry")
    rgb_column = kit.slider(1, 3, value=1, label="column $j$ of the entry")
    rgb_flip = kit.dropdown(
        {"cross-correlation": False, "convolution": True}, value="cross-correlation", label="operation"
    )
    rgb_seed = kit.slider(0, 9, value=0, label="other numbers")
    kit.column(
        kit.section("Colors: kernels with depth", ids=("N3.33", "N3.34", "N3.58")),
        kit.prose(r"""
            A color picture is a tensor $n_1 \times n_2 \times 3$: red, green and blue. A kernel for it has three sheets too,
            $m \times m \times 3$. It moves over rows and columns but not along the channels, where it covers everything at
            once; so there is neither stride nor padding in that direction, and one kernel still gives one **matrix**. $M$
            kernels give $M$ matrices, a tensor again, and the next layer has kernels of depth $M$.
        """),
        kit.formula(
            r"[Y \circledast K]_{ij} = \sum_{c=1}^{n_3} \sum_{k,l=1}^{m} K_{klc}\, Y_{i-1+k,\; j-1+l,\; c}",
            "the sum over channels of matrix correlations",
        ),
        kit.source(correlation),
    )
    return rgb_column, rgb_flip, rgb_row, rgb_seed


@app.cell(hide_code=True)
def _():
    kit.question(
        "A layer reads 96 channels and has 256 kernels of 5 × 5. How many numbers does one kernel hold, and how many matrices come out?",
        r"""One kernel holds $5 \cdot 5 \cdot 96 = 2400$ numbers, and 256 matrices come out. With biases the layer has
        $256 \cdot 2401 = 614{,}656$ parameters: the second layer of AlexNet.""",
        options=("25", "2400", "614,656"),
        right=1,
        predict="A layer reads 96 channels and has 256 kernels of 5 × 5. How many numbers does one kernel hold?",
    )
    return


@app.cell(hide_code=True)
def _(rgb_column, rgb_flip, rgb_row, rgb_seed):
    _g = torch.Generator().manual_seed(rgb_seed.value)
    _picture = torch.randint(0, 10, (3, 4, 4), generator=_g).tolist()
    _kernel = torch.randint(-1, 2, (3, 2, 2), generator=_g).tolist()
    _place = (rgb_row.value, rgb_column.value)
    _cube = rgb_convolution(6, 3, place=(rgb_row.value, rgb_column.value))
    _numbers = rgb_numbers(_picture, _kernel, place=_place, flip=rgb_flip.value)
    kit.panel(
        kit.controls("Place and numbers", rgb_row, rgb_column, rgb_flip, rgb_seed),
        kit.svg(_cube, f"{_cube.title}. {_cube.description}", width=640),
        kit.svg(_numbers, f"{_numbers.title}. {_numbers.description}", width=640),
        kit.note(_numbers.description),
    )
    return


@app.cell(hide_code=True)
def _():
    _scene = alexnet()
    image = kit.slider(67, 260, value=227, label="height and width of the picture")
    classes = kit.steps([2, 10, 100, 1000], value=1000, label="classes")
    kit.column(
        kit.section("AlexNet", ids=("N3.49", "N3.50", "N3.58")),
        kit.prose(r"""
            AlexNet won the ImageNet contest of 2012: color pictures, 1000 classes, over a million examples. It is LeNet's plan
            made large: five convolutions, three dense layers, ReLU where LeNet-5 had sigmoids, max pooling with overlapping
            windows ($m = 3$, $s = 2$), a normalization after the first two layers, and dropout in the dense part. A first kernel
            of $11 \times 11$ with stride 4 needs pictures of $227 \times 227$ pixels; with 224, as often written, a padding of 2 ([E52](/errata#E52)).
        """),
        kit.svg(_scene, f"AlexNet, layer by layer: {_scene.description}", width=1120),
    )
    return classes, image


@app.cell(hide_code=True)
def _():
    kit.question(
        "Where are AlexNet's parameters? And what happens to the first layer when a picture has 228 instead of 227 pixels?",
        """94% of the 62,378,344 are in the three dense layers. (The network of 2012 ran on two cards, with half of the channels on each: 60,965,224.)
        With 228 pixels the first map stays 55 × 55, since a further place would need four more pixels: the last column is never read.""",
        options=("6%", "50%", "94%"),
        right=2,
        predict="What share of AlexNet's parameters lies in its three dense layers?",
    )
    return


@app.cell(hide_code=True)
def _(classes, image):
    _rows, _size, _channels = [("input", f"{image.value} × {image.value} × 3", 0)], image.value, 3
    for _number, (_maps, _m, _p, _s, _pooled) in enumerate(PLAN, 1):
        _size = output_size(_size, _m, _p, _s)
        _words = f"convolution {_number}, {_m} × {_m}" + (f", stride {_s}" if _s > 1 else "")
        _count = filter_parameter_count(_maps, _m, _channels)
        _rows.append((_words, f"{_size} × {_size} × {_maps}", _count))
        if _pooled:
            _size = output_size(_size, 3, 0, 2)
            _norm = "LRN and pooling" if _number < 3 else "pooling"
            _rows.append((f"{_norm}, 3 × 3, stride 2", f"{_size} × {_size} × {_maps}", 0))
        _channels = _maps
    for _a, _b in ((_size**2 * 256, 4096), (4096, 4096), (4096, classes.value)):
        _rows.append(("dense", str(_b), parameter_count((_a, _b))))
    _total = sum(row[2] for row in _rows)
    _dense = sum(row[2] for row in _rows[-3:])
    kit.panel(
        [image, classes],
        kit.table(
            ("layer", "output", "parameters"),
            [(a, b, f"{c:,}") for a, b, c in _rows],
            caption="AlexNet in one column, ReLU after every layer but the last",
            right=(2,),
        ),
        kit.facts(parameters=f"{_total:,}", dense_part=f"{_dense / _total:.0%}", last_maps=f"{_size} × {_size}"),
    )
    return


@app.cell(hide_code=True)
def _():
    norm_kind = kit.dropdown({"across channels": "channels", "within a channel": "pixels"}, value="across channels", label="neighbors")  # fmt: skip
    norm_n = kit.slider(1, 7, value=2, label="neighbors $n$")
    norm_row = kit.slider(1, 4, value=1, label="row $i$")
    norm_column = kit.slider(1, 4, value=1, label="column $j$")
    norm_channel = kit.slider(1, 4, value=2, label="channel $k$")
    peak = kit.slider(0, 100, value=60, label="activity of channel 5")
    others = kit.slider(0, 100, value=20, label="activity of the other channels")
    kappa = kit.slider(0.5, 4, 0.5, value=2.0, label=r"$\kappa$")
    gamma = kit.steps([1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0], value=1e-3, label=r"$\gamma$")
    beta = kit.slider(0.25, 1.5, 0.25, value=0.75, label=r"$\beta$")
    reach = kit.slider(1, 9, value=5, label="neighbors $n$ in the sum")
    kit.column(
        kit.section(
            "Local response normalization",
            ids=("N3.48", "N3.51", "N3.52", "N3.53", "N3.54", "N3.55"),
        ),
        kit.prose(r"""
            ReLU has no upper bound. AlexNet therefore divides every activity by a power of the squared activities around it, so
            that neighbors quiet each other: once **across channels**, at the same pixel, and in another variant **within a
            channel**, over the surrounding pixels. $\kappa$ keeps the denominator away from zero, $\gamma$ and $\beta$ set the strength,
            $n$ the number of neighbors. AlexNet took $\kappa = 2$, $\gamma = 10^{-4}$, $\beta = 0.75$ and, which the notes do not
            say, $n = 5$. None of it is trained.
        """),
        kit.formula(
            r"\hat Y_{ijk} = \frac{Y_{ijk}}{\Big( \kappa + \gamma \sum_{m = \max(1,\, k - \lfloor n/2 \rfloor)}^{\min(M,\, k + \lfloor n/2 \rfloor)} Y_{ijm}^2 \Big)^{\beta}}",
            "across channels",
        ),
        kit.formula(
            r"\hat Y_{ijk} = \frac{Y_{ijk}}{\Big( \kappa + \gamma \sum_{p = i - \lfloor n/2 \rfloor}^{i + \lfloor n/2 \rfloor} \sum_{q = j - \lfloor n/2 \rfloor}^{j + \lfloor n/2 \rfloor} Y_{pqk}^2 \Big)^{\beta}}",
            "within a channel; places outside the picture are left out",
        ),
        kit.source(local_response_norm, local_response_norm_within),
    )
    return beta, gamma, kappa, norm_channel, norm_column, norm_kind, norm_n, norm_row, others, peak, reach


@app.cell(hide_code=True)
def _(norm_channel, norm_column, norm_kind, norm_n, norm_row):
    _at = (norm_row.value, norm_column.value, norm_channel.value)
    _scene = response_norm(_at, size=norm_n.value, kind=norm_kind.value)
    _near = neighborhood(_at, (4, 4, 4), norm_n.value, within=norm_kind.value == "pixels")
    kit.panel(
        kit.controls("Position and neighborhood", norm_kind, norm_n, norm_row, norm_column, norm_channel),
        kit.svg(_scene, f"Four channels of 4 x 4 pixels. {_scene.description}", width=520,
                caption="Red: the activity; orange: the ones whose squares are added to its own. One sheet is one channel."),
        kit.facts(activities_in_the_sum=len(_near)),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    _found = response_sizes()
    kit.column(
        kit.prose("""
            The notes say that LRN, like batch normalization, steadies training with unbounded activations. With AlexNet's
            constants it hardly bounds anything: an activity of 10 becomes 5.92 and one of 100 still 43.9. Its authors report better
            generalization, not steadier training ([E51](/errata#E51)); later networks do without it.
        """),
        kit.finding(
            _found,
            "With AlexNet's constants an activity of 10 becomes {after[1]:.2f}, one of 100 becomes {after[2]:.1f}, and one of 1,000 falls to {after[3]:.1f}.",
        ),
        kit.question(
            r"For even $n$: how many channels are in the sum for $n = 2$? And what do you have to pass to PyTorch's `LocalResponseNorm` for the same result?",
            r"""$\lfloor n/2 \rfloor = 1$ on either side and the channel itself: three. PyTorch divides $\gamma$ by its window: for a window of
            $w = 2 \lfloor n/2 \rfloor + 1$ channels, `LocalResponseNorm(w, alpha=gamma*w, beta=beta, k=kappa)` is the same ([E53](/errata#E53)).""",
            options=("2", "3", "5"),
            right=1,
            predict="How many channels are in the sum for $n = 2$?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    rate = kit.slider(0, 0.9, 0.1, value=0.5, label="probability $p$ of dropping")
    call = kit.slider(1, 50, value=1, label="step of training")
    p_train = kit.slider(0.1, 0.8, 0.1, value=0.5, label="dropout $p$ of the second network")
    wrong = kit.slider(0, 0.4, 0.1, value=0.2, label="share of wrong labels")
    race_seed = kit.slider(0, 9, value=0, label="seed")
    go = kit.play("Train")
    race = kit.train(dropout_race, keep="all")
    kit.column(
        kit.section("Dropout", ids=("N3.08", "N3.57")),
        kit.prose(r"""
            AlexNet's dense layers have almost 59 million parameters, enough to learn pictures by heart. **Dropout** works against this:
            in every step of training each hidden unit is removed with probability $p$, with all its connections, so that no
            unit can rely on a particular other one. Those that stay are scaled up by $1/(1 - p)$, so that sums keep their mean;
            after training, nothing is dropped and nothing has to be changed ([E46](/errata#E46)).
            $$\hat y_i = \frac{d_i}{1 - p}\, y_i, \qquad d_i \in \{0, 1\}, \quad P(d_i = 0) = p$$
        """),
        kit.source(dropout),
    )
    return call, go, p_train, race, race_seed, rate, wrong


@app.cell(hide_code=True)
def _(call, rate):
    _masks = [dropout(torch.ones(6, dtype=F64), rate.value, 0, stream, call.value) for stream in (1, 2)]
    _kept = [[True] * 4, *[mask.ne(0).tolist() for mask in _masks], [True] * 3]
    _many = dropout(torch.ones(10_000, dtype=F64), rate.value, 0, 3, call.value)
    _scene = thinned_network(_kept)
    kit.panel(
        [rate, call],
        kit.svg(_scene, f"A network 4-6-6-3 in one step of training. {_scene.description}", width=560),
        kit.facts(
            factor_of_those_that_stay=1 / (1 - rate.value),
            dropped_of_10000=int((_many == 0).sum()),
            mean_of_10000_ones=_many.mean().item(),
        ),
    )
    return


@app.cell(hide_code=True)
def _(go, p_train, race, race_seed, wrong):
    def _draw(job):
        rows = job.rows
        epochs = [0, *(row["epoch"] for row in rows)]
        names = ("without dropout", f"dropout {p_train.value:g}")
        lines = [
            Series(f"{name}, {part}", epochs, [0.1, *(row[key][i] for row in rows)], color, style)
            for i, (name, color) in enumerate(zip(names, ("line2", "line1"), strict=True))
            for part, key, style in (("seen", "seen", "dotted"), ("unseen", "unseen", "solid"))
        ]
        last = rows[-1] if rows else {"epoch": 0, "epochs": 60, "seen": [0, 0], "unseen": [0, 0]}
        scene = kit.plot(
            f"Epoch {last['epoch']}: unseen digits {last['unseen'][0]:.3f} without and {last['unseen'][1]:.3f} with dropout.",
            lines=lines,
            x=("epoch", 0, 60),
            y=("accuracy", 0, 1),
            size=(430, 280),
        )
        return kit.panel(
            kit.controls("Training with dropout", p_train, wrong, race_seed, go),
            scene,
            kit.progress(last["epoch"] / 60, f"epoch {last['epoch']} of 60" if job.state == "running" else job.words),
            kit.facts(
                gap_without=last["seen"][0] - last["unseen"][0],
                gap_with=last["seen"][1] - last["unseen"][1],
                unseen_without=last["unseen"][0],
                unseen_with=last["unseen"][1],
            ),
        )

    race.show(_draw, running=go, rate=p_train.value, wrong=wrong.value, seed=race_seed.value)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("""
            The same over three seeds, to the end: where labels are wrong, dropout keeps the network from learning them. With right labels
            there is little to gain on these easy pictures.
        """),
        kit.recorded(
            "dropout_gap",
            "With a fifth of the labels wrong, dropout raises the accuracy on unseen digits from {unseen[0]:.1%} to {unseen[1]:.1%}; with right labels it changes little, {unseen[2]:.1%} and {unseen[3]:.1%}.",
            ("wrong labels", "dropout", "seen", "unseen", "gap", "loss on unseen"),
        ),
        kit.question(
            "Why does the network with dropout do worse on the pictures it has seen?",
            """Because it is judged by the labels it was given, and some of them are wrong. The network without dropout has learned the wrong ones too,
            which takes units that serve one picture each; with dropout such units are missing half of the time.""",
            options=("The one with dropout", "The one without"),
            right=1,
            predict="Some labels are wrong. Which network agrees with more of the labels it was given?",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
