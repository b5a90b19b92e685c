import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Padding, stride, pooling")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina.drawing.charts import Series
    from lamina.drawing.panels import picture_grid
    from lamina.drawing.views import two_views
    from lamina.drawing.windows import convolution_windows
    from lamina.experiments.convolutional import bars_and_disk, blur, shift_sensitivity
    from lamina.experiments.figures_data import landscape_picture
    from lamina.functional.activations import get_activation
    from lamina.functional.convolution import correlate2d, filter_parameter_count, output_size, pad, windows
    from lamina.functional.pooling import average_pool, max_pool
    from lamina.layers.detector import Detector
    from lamina.pages import kit
    from lamina.pages.chapters.ch3._shared import pixels, shades
    from lamina.pages.chapters.ch3.pooling._drawing import pooling_entry
    from lamina.pages.kit._matrices import read_matrix

    F64 = torch.float64
    EXAMPLE = [[1, 5, -2, 0, 2], [3, 8, 7, 1, 0], [-1, 0, 1, 2, 3], [4, 2, 1, -1, 2]]
    POOLED = "1 3 0 -7\n-2 4 1 -1\n0 1 8 -3\n2 0 4 5"
    EDGES = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]], dtype=F64)
    NAMES = {"ReLU": "relu", "sigmoid": "sigmoid", "tanh": "tanh", "leaky ReLU": "leaky_relu", "identity": "identity"}


@app.cell(hide_code=True)
def _(kind, m_pool, p_pool, pool_step, pool_trouble, pooled, s_pool, to_pool, typed):
    def _shown():
        if to_pool is None:
            return [kit.note(pool_trouble, "bad")]
        row, column = divmod(min(pool_step.value, pooled.numel()) - 1, pooled.shape[1])
        scene = pooling_entry(
            to_pool.tolist(), (row + 1, column + 1), kind=kind.value, kernel_size=m_pool.value, stride=s_pool.value,
            padding=p_pool.value,
        )  # fmt: skip
        values = "; ".join(" ".join(f"{v:g}" for v in line) for line in pooled.tolist())
        return [
            kit.svg(scene, f"{kind.value} pooling gives {values}. {scene.description}"),
            kit.note(scene.description),
            kit.facts(result=f"{pooled.shape[0]} × {pooled.shape[1]}", parameters=0),
        ]

    kit.lab(kit.controls("Pooling", kind, m_pool, s_pool, p_pool, typed), *_shown(), play=pool_step, about="Pooling")
    return


@app.cell(hide_code=True)
def _():
    height = kit.slider(3, 10, value=7, label="rows $n_1$")
    width = kit.slider(3, 10, value=7, label="columns $n_2$")
    size = kit.slider(1, 5, value=3, label="kernel size $m$")
    padding = kit.slider(0, 2, value=0, label="padding $p$")
    stride = kit.slider(1, 4, value=2, label="stride $s$")
    kit.column(
        kit.section("How large the result is", ids=("N3.24", "N3.25", "N3.26", "N3.27", "N3.28", "N3.29", "N3.31")),
        kit.prose(r"""
            Four numbers decide where a kernel goes. Its **size** $m$ (kernels are usually square, $m \times m$) is a
            hyperparameter. With nothing else, an axis of $n$ pixels has $n - m + 1$ places for it, so every layer shrinks the
            picture. **Padding** lays $p$ rings of zeros around the picture, which makes it
            $(n_1 + 2p) \times (n_2 + 2p)$. The **stride** $s$ is how far the kernel moves from one place to the next.
        """),
        kit.formula(
            r"\left\lfloor \frac{n + 2p - m}{s} \right\rfloor + 1",
            r"places along an axis of $n$ pixels; a layer of $M$ kernels gives a tensor with that many rows and columns, and $M$ channels",
        ),
        kit.prose(r"""
            The notes print it without the brackets $\lfloor \cdot \rfloor$ ([E08](/errata#E08)). They are needed: with $n = 28$, $m = 3$, $s = 2$
            the fraction says 13.5, and there are 13 places. With $s = 1$ the size is kept exactly if $p = (m - 1)/2$, so $m$
            must be odd.
        """),
        kit.source(output_size, pad, windows),
    )
    return height, padding, size, stride, width


@app.cell(hide_code=True)
def _(height, padding, size, stride, width):
    def _shown():
        n1, n2, m, p, s = height.value, width.value, size.value, padding.value, stride.value
        try:
            rows, columns = output_size(n1, m, p, s), output_size(n2, m, p, s)
        except LaminaError as error:
            return [kit.note(str(error), "bad")]
        places = [(i, j) for i, j in ((1, 1), (1, 2), (2, 1)) if i <= rows and j <= columns]
        scene = convolution_windows(n1, n2, kernel_size=m, stride=s, padding=p, places=places)
        printed = [(n + 2 * p - m) / s + 1 for n in (n1, n2)]
        kept = (rows, columns) == (n1, n2)
        return [
            kit.svg(scene, f"Windows of a kernel. {scene.description}", width=560),
            kit.facts(
                result=f"{rows} × {columns}",
                places=rows * columns,
                without_floor=" × ".join(f"{value:g}" for value in printed),
                size_kept="yes" if kept else "no",
            ),
            *(
                [
                    kit.note(
                        "The last places do not fit, so some pixels at the right or lower border are never read.",
                        "warn",
                    )
                ]
                if any(value != int(value) for value in printed)
                else []
            ),
        ]

    kit.panel(kit.controls("Sizes", height, width, size, padding, stride), *_shown())  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    _padded = convolution_windows(padding=1, numbers=EXAMPLE, places=[(1, 1), (1, 2), (2, 1)])
    kit.column(
        kit.row(
            kit.svg(_padded, f"The matrix of the example with padding 1, 6 x 7 numbers. {_padded.description}", width=470),
            kit.prose(r"""
                The $4 \times 5$ matrix of the example with $p = 1$: a ring of zeros makes it $6 \times 7$, a kernel with
                $m = 3$ has $4 \times 5$ places on it, and the result is as large as the matrix was.
            """),
            least=320,
        ),
        kit.question(
            r"A picture of 28 × 28 pixels should keep its size under a kernel of 5 × 5. Which padding? And under one of 2 × 2?",
            r"""$p = (5 - 1)/2 = 2$, as in the first layer of LeNet-5. For $m = 2$ no padding does it: $p = 0$ gives 27, $p = 1$ gives 29.
            Try it above with the smaller matrix.""", options=("1", "2", "5"), right=1, predict="Which padding keeps 28 × 28 under a kernel of 5 × 5?",
        ),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    side = kit.slider(8, 227, value=28, label="height and width")
    channels = kit.slider(1, 64, value=1, label="input channels $n_3$")
    filters = kit.slider(1, 128, value=6, label="filters $M$")
    m_layer = kit.slider(1, 11, value=5, label="kernel size $m$ of the layer")
    p_layer = kit.slider(0, 5, value=2, label="padding $p$ of the layer")
    s_layer = kit.slider(1, 4, value=1, label="stride $s$ of the layer")
    kit.column(
        kit.section("Many kernels make a layer", ids=("N3.30", "N3.32")),
        kit.prose(r"""
            One kernel finds one feature. A convolutional layer has $M$ of them, all with the same $m$, $p$ and $s$ but each with
            its own numbers and its own bias; their results are stacked like sheets of paper, a tensor with $M$ **channels**.
            The notes count $M m^2$ parameters: that is for one input channel and without biases ([E38](/errata#E38)).
        """),
        kit.formula(r"M \,(m^2 n_3 + 1) \text{ parameters}", r"$n_3$ input channels, $M$ filters with bias"),
        kit.source(filter_parameter_count),
    )
    return channels, filters, m_layer, p_layer, s_layer, side


@app.cell(hide_code=True)
def _(channels, filters, m_layer, p_layer, s_layer, side):
    def _counted():
        try:
            rows = output_size(side.value, m_layer.value, p_layer.value, s_layer.value)
        except LaminaError as error:
            return [kit.note(str(error), "bad")]
        count = filter_parameter_count(filters.value, m_layer.value, channels.value)
        return [
            kit.table(
                ("", "height", "width", "channels", "numbers"),
                [
                    ("input", side.value, side.value, channels.value, f"{side.value**2 * channels.value:,}"),
                    ("output", rows, rows, filters.value, f"{rows**2 * filters.value:,}"),
                ],
                right=(1, 2, 3, 4),
                caption="From layer to layer",
            ),
            kit.facts(
                parameters=f"{count:,}",
                as_the_notes_count=f"{filter_parameter_count(filters.value, m_layer.value, bias=False):,}",
                output=f"{rows} × {rows} × {filters.value}",
            ),
        ]

    kit.panel(kit.controls("A convolutional layer", side, channels, filters, m_layer, p_layer, s_layer), *_counted())
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("""
            While height and width shrink, the number of channels usually grows, often in powers of two. That is a habit, not
            a rule: it holds for ResNet18 but neither for LeNet-5 nor for AlexNet, to which the notes point ([E39](/errata#E39)). (The notes call
            the number of channels *depth*; elsewhere depth is the number of layers. Other letters and words have several meanings too, [E73](/errata#E73).)
        """),
        kit.recorded(
            "channel_growth",
            "Only ResNet18 has growing powers of two, {maps[2]}; LeNet-5 has {maps[0]} maps, AlexNet {maps[1]}.",
        ),
        kit.question(
            "How many parameters do 8 filters of size 5 × 5 have on a color picture?",
            r"$8 \cdot (25 \cdot 3 + 1) = 608$; counted for one channel and without bias it would be 200.",
            options=("200", "208", "608"),
            right=2,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    detects = kit.dropdown(NAMES, value="ReLU", label="detector")
    kit.column(
        kit.section("Detector: one layer or three", ids=("N3.09", "N3.10", "N3.11", "N3.38")),
        kit.prose(r"""
            A convolution is linear, so an activation function must follow; applied to every entry of the tensor by itself it
            is called the **detector** layer. Convolution, detector and pooling are three layers for the notes and for our
            code. Other authors call the three together one convolutional layer with three stages. Both describe the same
            network.
            $$\hat Y_{ijk} = \sigma(Y_{ijk})$$
            From here on the data are matrices or tensors $Y$, and we drop the index of the layer. The notes order the axes
            height × width × channel and count from 1; PyTorch orders batch × channel × height × width and counts from 0 ([E47](/errata#E47)).
        """),
        kit.source(Detector),
    )
    return (detects,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Which activation keeps both kinds of edges, and which one keeps the sizes of the answers?",
        """Tanh keeps both signs but presses large answers together; leaky ReLU keeps a tenth of the negative ones. ReLU keeps the sizes
        and half of the answers: a second kernel with the opposite signs would find the other half.""",
        options=("ReLU", "tanh", "Neither"),
        right=1,
        predict="Which activation keeps both kinds of edges?",
    )
    return


@app.cell(hide_code=True)
def _(detects):
    _picture = landscape_picture(40).mean(0).double()
    _map = correlate2d(_picture, EDGES)
    _after = get_activation(detects.value)(_map)
    _size = _map.abs().max().item()
    _scene = picture_grid(
        [
            pixels(torch.stack([_picture[1:-1, 1:-1]] * 3)),
            shades(_map, _size),
            shades(_after, min(_size, max(1.0, _after.abs().max().item()))),
        ],
        3, cell=132, gap=12, labels=["picture", "convolution", f"detector: {detects.selected_key}"],
    )  # fmt: skip
    _view = two_views()
    kit.panel(
        [detects],
        kit.svg(
            _scene,
            f"A picture, its map of vertical edges from {_map.min():.2f} to {_map.max():.2f}, and the map after "
            f"{detects.selected_key}, from {_after.min():.2f} to {_after.max():.2f}.",
            caption="The kernel answers dark-to-light with red and light-to-dark with blue.",
        ),
        kit.facts(
            negative_before=f"{(_map < 0).double().mean():.0%}", negative_after=f"{(_after < 0).double().mean():.0%}",
            largest=_after.max().item(),
        ),
        kit.svg(_view, f"{_view.title}. {_view.description}", width=520),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    typed = mo.ui.text_area(value=POOLED, label="matrix", rows=4, full_width=True)
    kind = kit.dropdown({"max": "max", "average": "average"}, value="max", label="pooling")
    m_pool = kit.slider(1, 4, value=2, label="window $m$")
    s_pool = kit.slider(1, 4, value=2, label="stride $s$ of the pooling")
    p_pool = kit.slider(0, 2, value=0, label="padding $p$ of the pooling")
    kit.column(
        kit.section("Pooling", ids=("N3.39", "N3.40", "N3.41", "N3.42", "N3.45")),
        kit.prose(r"""
            A **pooling layer** makes height and width smaller. It has windows too, with size $m$, stride $s$ and padding $p$
            (almost always 0), and most often $m = s = 2$, which halves both axes. Each channel is treated by itself, so the
            number of channels stays. There is nothing to learn in it: no parameters.
        """),
        kit.row(
            kit.formula(r"\hat Y_{ij} = \max_{0 \le k, l < m} Y_{s i + k,\; s j + l}", "max pooling"),
            kit.formula(
                r"\hat Y_{ij} = \frac{1}{m^2} \sum_{0 \le k, l < m} Y_{s i + k,\; s j + l}",
                "average pooling: a convolution with the fixed kernel $1/m^2$",
            ),
            least=300,
        ),
        kit.prose(r"""
            Sizes follow the rule above; the notes print $n_1$ twice there ([E10](/errata#E10)), but an image of $4 \times 6$ becomes $2 \times 3$.
        """),
        kit.source(max_pool, average_pool),
    )
    return kind, m_pool, p_pool, s_pool, typed


@app.cell(hide_code=True)
def _(kind, m_pool, p_pool, s_pool, typed):
    try:
        to_pool = torch.tensor(read_matrix(typed.value), dtype=F64)
        _pool = max_pool if kind.value == "max" else average_pool
        pooled = _pool(to_pool[None], m_pool.value, s_pool.value, p_pool.value)[0]
        pool_trouble = ""
    except LaminaError as error:
        to_pool, pooled, pool_trouble = None, torch.zeros(1, 1), str(error)
    return pool_trouble, pooled, to_pool


@app.cell(hide_code=True)
def _(pooled):
    pool_step = kit.walk(1, max(2, pooled.numel()), value=1, label="entry")
    return (pool_step,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Choose padding 1 and window 3, first max, then average. What lies outside the matrix in each case, and why is it not the same?",
        r"""For the average it is 0, for the maximum $-\infty$: a zero would win against negative numbers, and a map of $-1$ everywhere
        would get a border of zeros. The notes do not say ([E50](/errata#E50)); PyTorch and we do it this way, and we refuse a padding larger than $m/2$.""",
        options=("0", r"$-\infty$", "The nearest number"),
        right=1,
        predict="What lies outside the matrix for max pooling?",
    )
    return


@app.cell(hide_code=True)
def _():
    m_blur = kit.slider(1, 15, 2, value=5, label="window $m$ of the blur")
    s_blur = kit.slider(1, 6, value=1, label="stride $s$ of the blur")
    zeros = mo.ui.switch(value=True, label="count the zeros of the padding")
    subject = kit.dropdown(["landscape", "bars and disk", "noise"], value="landscape", label="picture")
    kit.column(
        kit.section("Averages blur", ids=("N3.43", "N3.44")),
        kit.prose(r"""
            With stride 1 average pooling is a blur: every pixel becomes the mean of itself and its $m^2 - 1$ neighbors. With
            $p = (m - 1)/2$ the picture keeps its size. Near the border the neighbors are zeros of the padding, which leaves a
            dark frame ([E50](/errata#E50)), unless one divides by the number of real pixels.
        """),
        kit.formula(r"\hat Y = Y * K, \qquad K_{kl} = \frac{1}{m^2}", r"with $s = 1$ and $p = (m - 1)/2$"),
        kit.source(blur),
    )
    return m_blur, s_blur, subject, zeros


@app.cell(hide_code=True)
def _(m_blur, s_blur, subject, zeros):
    _noise = torch.rand(1, 64, 64, generator=torch.Generator().manual_seed(0), dtype=F64)
    _picture = {"landscape": landscape_picture().double(), "bars and disk": bars_and_disk()[0], "noise": _noise}[
        subject.value
    ]
    _options = {"stride": s_blur.value, "padding": m_blur.value // 2, "count_include_pad": zeros.value}
    _blurred = average_pool(_picture, m_blur.value, **_options)
    _ones = average_pool(torch.ones(1, 64, 64, dtype=F64), m_blur.value, **_options)[0]
    _inner = average_pool(_picture, m_blur.value, 1)
    _left = (_inner.var() / _picture.var()).item()
    _scene = [
        picture_grid([pixels(u if len(u) == 3 else u.expand(3, -1, -1))], 1, cell=190, caption=words, title=words)
        for words, u in (("picture", _picture), (f"{m_blur.value} × {m_blur.value} mean", _blurred))
    ]
    kit.panel(
        [subject, m_blur, s_blur, zeros],
        kit.row(
            kit.svg(_scene[0], "A picture of 64 x 64 pixels", width=320),
            kit.svg(
                _scene[1], f"Its blur with windows of {m_blur.value}: {_blurred.shape[1]} x {_blurred.shape[2]} pixels",
                width=320,
            ),
            least=200,
        ),
        kit.facts(
            size=f"{_blurred.shape[1]} × {_blurred.shape[2]}", white_corner=round(_ones[0, 0].item(), 4),
            white_edge=round(_ones[0, _ones.shape[1] // 2].item(), 4), variance_left=_left,
        ),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    _found = blur()
    kit.column(
        kit.finding(
            _found,
            "Windows of 3 × 3 pixels leave {variance left[1]:.0%} of the variance of noise, those of 5 × 5 pixels {variance left[2]:.0%}: one part in as many as the window has pixels.",
        ),
        kit.question(
            r"""Take the noise. How much of its variance is left with $m = 5$? And what does "white corner" mean?""",
            r"""About $1/25$: the mean of 25 independent numbers has one 25th of their variance. "White corner" is what the corner of an all-white
            picture becomes: $9/25 = 0.36$ for $m = 5$, at the edges $15/25 = 0.6$. Without counting the zeros both are 1.""",
            options=("A fifth", "A 25th", "None"),
            right=1,
            predict="How much of the variance of noise is left after averaging 5 × 5 pixels?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    shift = kit.slider(1, 6, value=1, label="shift in pixels", debounce=True)
    kit.column(
        kit.section("What a CNN takes for granted", ids=("N3.46", "N3.47")),
        kit.prose("""
            Convolution and pooling build in two assumptions about pictures. Pixels far from each other need not be considered
            together, at least not early; and it does not matter if something is moved a little. Move a picture by one pixel
            and see how much its feature map changes, before pooling (window 1) and after:
        """),
        kit.formula(r"\frac{\sum |\hat Y' - \hat Y|}{\sum |\hat Y|}", "relative change after a shift"),
        kit.source(shift_sensitivity),
    )
    return (shift,)


@app.cell(hide_code=True)
def _(shift):
    _found = shift_sensitivity(shift=shift.value)
    _m, _change = _found.column("m"), _found.column("change")
    _scene = kit.plot(
        f"After a shift by {shift.value} features change by {_change[0]:.3f}, pooled in windows of 4 by {_change[2]:.3f}, "
        f"with one window for all by {_change[-1]:.3f}.",
        lines=[Series("change, mean of 20 pictures", _m, _change, "line1")],
        points=[Series("", _m, _change, "line1", size=4)],
        x="window $m$ of max pooling",
        y=("relative change", 0, 1),
        log_x=True,
        size=(430, 240),
    )
    kit.panel(
        [shift],
        _scene,
        kit.facts(before_pooling=_change[0], window_4=_change[2], one_window_for_all=_change[-1]),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("""
            Where the assumptions are wrong, a CNN underfits, however long it trains. Two such tasks: do two pixels in opposite
            corners differ, and in which half of the picture is the cross?
        """),
        kit.recorded(
            "assumptions",
            "Two pixels that no kernel sees together are a coin toss for the CNN, {accuracy[1]:.0%}, and so is left or right after a mean over all places, {accuracy[3]:.0%}; a dense network solves both, {accuracy[2]:.0%}.",
            ("task", "network", "accuracy", "least", "largest"),
        ),
        kit.question(
            "Name a task with pictures in which the place of a thing matters.",
            """Reading a clock, a chess position, or the needle of an instrument. A CNN can still be used there if it does not pool over all
            places, or if it gets the coordinates of the pixels as further channels.""",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
