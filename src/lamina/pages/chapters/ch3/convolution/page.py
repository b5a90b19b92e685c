import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Convolution")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina.drawing.charts import Band, Series
    from lamina.drawing.dice import dice_rows
    from lamina.drawing.panels import picture_grid
    from lamina.drawing.windows import convolution_entry, convolution_windows
    from lamina.experiments.figures_data import landscape_picture
    from lamina.experiments.pixels import place_patterns
    from lamina.functional.convolution import (
        convolution_matrix,
        convolve2d,
        convolve_functions,
        convolve_indexed,
        convolve_on_integers,
        correlate2d,
        dice_sum_distribution,
        filter_parameter_count,
        flatten,
    )
    from lamina.functional.dense import affine, parameter_count
    from lamina.functional.random import as_generator
    from lamina.pages import kit
    from lamina.pages.chapters.ch3._shared import pixels, shades
    from lamina.pages.chapters.ch3.convolution._drawing import matrix_of_convolution, named_grids
    from lamina.pages.kit._matrices import read_matrix

    F64 = torch.float64
    SHAPES = {
        "box": lambda x: ((x + 0.5 >= 0) & (x - 0.5 < 0)).double(),
        "triangle": lambda x: (1 - x.abs()).clamp(min=0),
        "bell": lambda x: torch.exp(-(x**2) / 0.5),
        "decay": lambda x: torch.where(x >= 0, torch.exp(-2 * x.clamp(min=0)), torch.zeros_like(x)),
    }
    KERNELS = {
        "vertical edges": [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]],
        "horizontal edges": [[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]],
        "all edges": [[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]],
        "mean": [[1 / 9] * 3] * 3,
    }
    EXAMPLE = ("1 5 -2 0 2\n3 8 7 1 0\n-1 0 1 2 3\n4 2 1 -1 2", "1 2 3\n4 5 6\n7 8 9")


@app.cell(hide_code=True)
def _(matrix_k, matrix_y, operation, result_shape, step, trouble, typed_k, typed_y):
    _i, _j = divmod(step.value - 1, result_shape[1])
    _scene = convolution_entry(matrix_y.tolist(), matrix_k.tolist(), (_i + 1, _j + 1), flip=operation.value)
    _laid = matrix_k.flip(0, 1) if operation.value else matrix_k
    _hands = {
        **kit.matrix_hands("Y", matrix_y.tolist(), "matrix-y"),
        **kit.matrix_hands("K", _laid.tolist(), "kernel-k", turned=operation.value),
        **kit.window_hands(result_shape, tuple(matrix_k.shape)),
    }
    _both = [("convolution", convolve2d(matrix_y, matrix_k)), ("cross-correlation", correlate2d(matrix_y, matrix_k))]
    _differ = (_both[0][1] - _both[1][1]).abs().max().item()
    kit.lab(
        kit.controls(
            "Operation, matrix and kernel", operation, typed_y, typed_k, *([kit.note(trouble, "bad")] if trouble else [])
        ),
        kit.svg(
            _scene,
            f"{operation.selected_key.capitalize()}. {_scene.description}",
            width=1100,
            caption="Point at a result to see its sum; click a number of $Y$ or $K$ to change it.",
            hands=_hands,
        ),
        kit.note(_scene.description),
        kit.svg(
            named_grids([(name, values.tolist(), [(_i, _j)]) for name, values in _both], title="both results", gap=70),
            f"Both results; at ({_i + 1},{_j + 1}) the convolution is {_both[0][1][_i, _j]:g}, "
            f"the cross-correlation {_both[1][1][_i, _j]:g}.",
            width=440,
        ),
        kit.facts(
            size=f"{result_shape[0]} × {result_shape[1]}", entry=_scene.description.split(" = ")[-1].rstrip("."),
            largest_difference=_differ,
        ),
        play=step,
        about="A kernel steps over a matrix",
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    shuffled = kit.slider(0, 100, 5, value=100, label="share of pixels that change places, %")
    order_seed = kit.slider(0, 9, value=0, label="which order")
    kit.column(
        kit.section("What a vector forgets", ids=("N3.02", "N3.03")),
        kit.prose(r"""
            A feedforward network takes a vector. A picture of $n_{0,1} \times n_{0,2}$ pixels must first be written as
            one, row after row: a digit of $28 \times 28$ pixels becomes 784 numbers. Nothing is lost, since the rows can
            be put back, but the network no longer knows which pixels are neighbors. It would learn just as well, or just
            as badly, if somebody had shuffled all pixels in the same way: give its initial weights the same new order, and its
            answers stay the same.
        """),
        kit.formula(r"W_{:,P}\; u_P = W u", "for every order $P$ of the pixels"),
        kit.source(flatten),
    )
    return order_seed, shuffled


@app.cell(hide_code=True)
def _(order_seed, shuffled):
    _picture = landscape_picture(28).mean(0).double()
    _u = flatten(_picture[None])[0]
    _g = as_generator(order_seed.value)
    _chosen = torch.randperm(784, generator=_g)[: 784 * shuffled.value // 100]
    _order = torch.arange(784)
    _order[_chosen.sort().values] = _chosen
    _W, _b = torch.randn(10, 784, generator=_g, dtype=F64), torch.zeros(10, dtype=F64)
    _answer, _other = affine(_u, _W, _b), affine(_u[_order], _W[:, _order], _b)
    _apart = (_answer - _other).abs().max().item()
    kit.panel(
        [shuffled, order_seed],
        kit.svg(
            picture_grid([pixels(_picture), pixels(_u[_order].reshape(28, 28))], 2, cell=130, gap=14),
            f"A picture of 28 x 28 pixels, and the same picture with {len(_chosen)} pixels in other places.",
            caption="To a dense layer both are the same 784 numbers.",
        ),
        kit.facts(inputs=784, moved_pixels=len(_chosen), answers_differ_by="0" if _apart < 1e-10 else f"{_apart:.3g}"),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("""
            A convolutional network is different: it reads neighbors, and a shuffle leaves it none. Eight patterns of
            5 × 5 pixels, anywhere in a picture of 16 × 16, had to be told apart:
        """),
        kit.recorded(
            "pixel_permutation",
            "The convolutional network falls from {accuracy[0]:.1%} to {accuracy[1]:.1%} when the pixels are shuffled; the dense network reads {accuracy[2]:.1%} either way.",
            ("network", "pixels", "accuracy", "least", "largest"),
        ),
        kit.question(
            "Why does the dense network do badly even with the pixels in their places?",
            """A pattern can lie in 144 places. For the dense network each place is a different set of inputs, and it must learn
            the pattern anew from the few pictures that happen to show it there. The convolution learns it once.""",
            options=("As well as the convolution", "Much worse"),
            right=1,
            predict="Pixels in their places: does the dense network read the patterns?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    side = mo.ui.slider(
        steps=[8, 16, 28, 64, 100, 224, 500, 1000], value=1000, label="height and width of the picture",
        show_value=True, full_width=True,
    )  # fmt: skip
    units = kit.steps([10, 30, 100, 300, 1000, 3000], value=1000, label="dense units $n_1$")
    filters = kit.slider(1, 128, value=96, label="kernels $M$")
    kernel_side = kit.slider(1, 11, 2, value=5, label="kernel size $m$")
    kit.column(
        kit.section("How many weights", ids=("N3.04",)),
        kit.prose(r"""
            The second reason is size. A first dense layer has $n_1 \cdot n_0$ weights, and $n_0$ is the number of pixels:
            with $1000 \times 1000$ of them, $n_0 = 10^6$, and a modest $n_1 = 1000$ asks for a billion. A convolutional
            layer has as many weights as its kernels have entries, whatever the size of the picture.
            $$\underbrace{n_1 \, n_{0,1} \, n_{0,2} + n_1}_{\text{dense}} \qquad \underbrace{M (m^2 + 1)}_{\text{convolutional}}$$
        """),
        kit.question(
            "Move the side of the picture and watch both curves.",
            "None: their number does not depend on the picture. The dense layer gets almost four times as many, since it has one weight for each pixel and unit.",
            options=("None", "Twice as many", "Four times as many"),
            right=0,
            predict="The picture gets twice as high and twice as wide. How many more weights does a convolution need?",
        ),
        kit.source(parameter_count, filter_parameter_count),
    )
    return filters, kernel_side, side, units


@app.cell(hide_code=True)
def _(filters, kernel_side, side, units):
    _sides = [8, 16, 28, 64, 100, 224, 500, 1000]
    _dense = [parameter_count((n * n, units.value)) for n in _sides]
    _conv = filter_parameter_count(filters.value, kernel_side.value)
    _now = parameter_count((side.value**2, units.value))
    _scene = kit.plot(
        f"Parameters over the side of the picture: at {side.value} dense {_now:,}, convolutional {_conv:,}.",
        lines=[
            Series("dense", _sides, _dense, "hidden"),
            Series("convolutional", _sides, [_conv] * len(_sides), "line5"),
        ],
        points=[
            Series("", [side.value], [_now], "hidden", size=5),
            Series("", [side.value], [_conv], "line5", size=5),
        ],
        x="height and width of the picture",
        y=("parameters", 1, 1e10),
        log_x=True,
        log_y=True,
        size=(430, 270),
    )
    kit.panel(
        [side, units, filters, kernel_side],
        _scene,
        kit.facts(pixels=f"{side.value**2:,}", dense=f"{_now:,}", convolutional=f"{_conv:,}"),
    )
    return


@app.cell(hide_code=True)
def _():
    down = kit.slider(1, 11, value=6, label="rows from the top")
    right = kit.slider(1, 11, value=6, label="columns from the left")
    look_for = kit.dropdown(list(KERNELS), value="vertical edges", label="kernel")
    kit.column(
        kit.section("The same feature, anywhere", ids=("N3.05",)),
        kit.prose("""
            A convolutional network leaves the picture as a matrix. It looks through a small window, the **kernel**, moves it
            over the whole picture and records how well each place fits: the **feature map**. What it has learned in
            one place it finds in any other. Move the little picture: the map moves with it, and nothing else changes.
        """),
        kit.source(correlate2d),
    )
    return down, look_for, right


@app.cell(hide_code=True)
def _():
    kit.question(
        "The picture cannot be moved to the very border here. What would happen to the difference if it could?",
        """At the border a part of the window hangs over the edge and sees the zeros of the padding, so that the map is cut off
        there. Moving and convolving can be exchanged exactly only away from the border.""",
        options=("Yes", "No"),
        right=1,
        predict="Do moving and convolving exchange exactly at the border too?",
    )
    return


@app.cell(hide_code=True)
def _(down, look_for, right):
    def _map_at(row, column):
        picture = place_patterns(_small, torch.tensor([0]), torch.tensor([[row, column]]), 24)[0, 0]
        return picture, correlate2d(picture, _K, padding=1)

    _small = landscape_picture(12).mean(0).double()[None]
    _K = torch.tensor(KERNELS[look_for.value], dtype=F64)
    _picture, _map = _map_at(down.value, right.value)
    _first = _map_at(1, 1)[1]
    _apart = (_map - _first.roll((down.value - 1, right.value - 1), (0, 1))).abs().max().item()
    _scene = picture_grid(
        [pixels(_picture[..., None].repeat(1, 1, 3).movedim(-1, 0)), shades(_map)], 2, cell=150, gap=14
    )
    kit.panel(
        [look_for, down, right],
        kit.svg(
            _scene,
            f"A picture at row {down.value}, column {right.value}, and its feature map for {look_for.value}.",
            caption="Left: the picture; right: the feature map: red means a good fit, blue the opposite.",
        ),
        kit.facts(
            moved_by=f"{down.value - 1}, {right.value - 1}", map_differs_from_the_moved_map_by=kit.number(_apart, 1)
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    shape_f = kit.dropdown(list(SHAPES), value="box", label="input $f$")
    shape_g = kit.dropdown(list(SHAPES), value="decay", label="kernel $g$")
    time = kit.slider(-3, 3, 0.05, value=0.5, label="shift $t$")
    kit.column(
        kit.section("Convolution of functions", ids=("N3.12",)),
        kit.prose(r"""
            The word comes from analysis. Take two integrable functions, the **input** $f$ and the **kernel** $g$. Reverse
            the kernel, shift it by $t$, multiply it by the input and measure the area: that is the **feature map** at
            $t$. For integrable functions the integral exists for almost every $t$ (the notes say every, [E48](/errata#E48)).
            $$(f * g)(t) = \int_{\mathbb{R}^n} f(x)\, g(t - x)\, dx$$
        """),
        kit.source(convolve_functions),
    )
    return shape_f, shape_g, time


@app.cell(hide_code=True)
def _():
    kit.question(
        "Convolve the box with itself, then the bell with itself. What comes out? And does it matter which one is the kernel?",
        r"""Box with box gives the triangle: the overlap grows and shrinks linearly. A bell with a bell is a wider bell; the
        variances add. Exchanging $f$ and $g$ changes nothing, and the area of the result is always the product of both areas.""",
        options=("A wider box", "A triangle", "A bell"),
        right=1,
        predict="What does a box convolved with itself give?",
    )
    return


@app.cell(hide_code=True)
def _(shape_f, shape_g, time):
    _f, _g = SHAPES[shape_f.value], SHAPES[shape_g.value]
    _x = torch.linspace(-4, 4, 401, dtype=F64)
    _t = torch.linspace(-4, 4, 401, dtype=F64)
    _curve = convolve_functions(_f, _g, _t, -4, 4, 1600)
    _now = convolve_functions(_f, _g, torch.tensor(time.value, dtype=F64), -4, 4, 1600).item()
    _moved = _g(time.value - _x)
    _product = _f(_x) * _moved
    _upper = kit.plot(
        f"The input {shape_f.value} and the kernel {shape_g.value}, reversed and shifted.",
        lines=[
            Series("$f(x)$", _x.tolist(), _f(_x).tolist(), "input"),
            Series("$g(t - x)$", _x.tolist(), _moved.tolist(), "hidden", "dashed"),
        ],
        bands=[Band("product", _x.tolist(), [0.0] * len(_x), _product.tolist(), "line5", 0.4)],
        x=("$x$", -4, 4),
        y=("", -0.1, 1.2),
        size=(430, 210),
    )
    _lower = kit.plot(
        f"Their convolution; at t = {time.value:.2f} it is {_now:.3f}.",
        lines=[Series("$(f * g)(t)$", _t.tolist(), _curve.tolist(), "line5")],
        points=[Series("", [time.value], [_now], "line5", size=5)],
        x=("$t$", -4, 4),
        y=("", -0.1, 1.4),
        size=(430, 190),
    )
    _whole = lambda h: convolve_functions(h, torch.ones_like, torch.zeros((), dtype=F64), -4, 4, 1600).item()  # noqa: E731
    _area = torch.trapezoid(_curve, _t).item()
    kit.panel(
        kit.controls("Two functions and a shift", shape_f, shape_g, time),
        _upper,
        _lower,
        kit.facts(
            value=_now, area_f=f"{_whole(_f):.3f}", area_g=f"{_whole(_g):.3f}", area_of_the_result=f"{_area:.3f}"
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    total = kit.slider(2, 12, value=9, label="sum of two dice $t$")
    dice = kit.slider(1, 8, value=2, label="number of dice below")
    kit.column(
        kit.section("On whole numbers: two dice", ids=("N3.13", "N3.14", "N3.15", "N3.16", "N3.17")),
        kit.prose(r"""
            On $\mathbb{Z}^n$ the integral becomes a sum (for summable functions; finite ones are enough for us). A vector is such a
            function: of its index, and zero elsewhere. The outcomes of a die are the vector of six entries $1/6$ at the
            places $1, \dots, 6$, and the distribution of the sum of two dice is the convolution of both, which begins at
            place $1 + 1 = 2$.
        """),
        kit.row(
            kit.formula(r"(f * g)(t) = \sum_{x \in \mathbb{Z}^n} f(x)\, g(t - x)"),
            kit.formula(r"P(X + Y = 9) = \sum_{x} f(x)\, f(9 - x) = 4 \cdot \tfrac{1}{36} = \tfrac{1}{9}"),
            least=330,
        ),
        kit.source(convolve_on_integers, convolve_indexed, dice_sum_distribution),
    )
    return dice, total


@app.cell(hide_code=True)
def _():
    kit.question(
        "Why does the second row of the drawing run backwards?",
        r"""Because of the minus sign in $g(t - x)$: when $x$ grows by one, $t - x$ falls by one. With the second row turned around,
        the pairs with the same sum stand above each other, and a different sum only shifts the row.""",
        options=("The minus in $g(t - x)$", "The sum over $x$"),
        right=0,
        predict="Which sign in the formula makes the second row run backwards?",
    )
    return


@app.cell(hide_code=True)
def _(dice, total):
    _chance = dice_sum_distribution()[total.value]
    _all = dice_sum_distribution(dice.value)
    _bars = kit.plot(
        f"The distribution of the sum of {dice.value} dice, from {min(_all)} to {max(_all)}.",
        bars=[
            Series("", list(_all), [float(p) for p in _all.values()], "line1"),
            *(
                [Series(f"sum {total.value}", [total.value], [float(_all[total.value])], "line5", size=0.8)]
                if total.value in _all
                else []
            ),
        ],
        x="sum",
        y=("probability", 0, 0.2),
        size=(430, 210),
        caption="One die is flat, two make a triangle, many make a bell: every additional die is one more convolution.",
    )
    _rows = dice_rows(total.value, result=False)
    kit.panel(
        [total, dice],
        kit.row(
            kit.svg(_rows, f"Two dice that add to {total.value}. {_rows.description}"),
            kit.svg(
                dice_rows(total.value, probabilities=True),
                f"The same with probabilities: {_chance.numerator}/{_chance.denominator}.",
            ),
            least=300,
        ),
        _bars,
        kit.facts(pairs=int(36 * _chance), probability=f"{_chance}"),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    typed_y = mo.ui.text_area(value=EXAMPLE[0], label="matrix Y", rows=4, full_width=True)
    typed_k = mo.ui.text_area(value=EXAMPLE[1], label="kernel K", rows=3, full_width=True)
    operation = kit.dropdown({"convolution": True, "cross-correlation": False}, value="convolution", label="operation")
    kit.column(
        kit.section(
            "A kernel steps over a matrix", ids=("N3.18", "N3.19", "N3.20", "N3.21", "N3.22", "N3.23", "N3.24")
        ),
        kit.prose(r"""
            A gray picture is a matrix $Y$ of $n_1 \times n_2$ numbers, the kernel a smaller one, $K$, of $m_1 \times m_2$.
            Only places where the kernel fits are computed. The **convolution** lays the kernel on the picture turned around in
            rows and columns; the **cross-correlation** leaves it as it is. Libraries, ours and PyTorch's `conv2d` included,
            compute the second and call it by the name of the first ([E47](/errata#E47)).
        """),
        kit.row(
            kit.formula(
                r"[Y * K]_{ij} = \sum_{k=1}^{m_1} \sum_{l=1}^{m_2} K_{kl}\, Y_{i + m_1 - k,\; j + m_2 - l}",
                "convolution",
            ),
            kit.formula(
                r"[Y \circledast K]_{ij} = \sum_{k=1}^{m_1} \sum_{l=1}^{m_2} K_{kl}\, Y_{i - 1 + k,\; j - 1 + l}",
                "cross-correlation",
            ),
            least=330,
        ),
        kit.source(convolve2d, correlate2d),
        kit.prose("""
            At first you see the example of the notes. Type other numbers: one row per line, with spaces between them.
        """),
    )
    return operation, typed_k, typed_y


@app.cell(hide_code=True)
def _(typed_k, typed_y):
    try:
        matrix_y = torch.tensor(read_matrix(typed_y.value, "the matrix Y"), dtype=F64)
        matrix_k = torch.tensor(read_matrix(typed_k.value, "the kernel K"), dtype=F64)
        trouble, result_shape = "", tuple(convolve2d(matrix_y, matrix_k).shape)
    except LaminaError as error:
        matrix_y, matrix_k = (torch.tensor(read_matrix(text), dtype=F64) for text in EXAMPLE)
        trouble, result_shape = f"{error} The example of the notes is shown instead.", (2, 3)
    return matrix_k, matrix_y, result_shape, trouble


@app.cell(hide_code=True)
def _(result_shape):
    step = kit.walk(1, result_shape[0] * result_shape[1], value=1, label="step")
    return (step,)


@app.cell(hide_code=True)
def _():
    _figure = convolution_windows()
    kit.column(
        kit.row(
            kit.svg(_figure, f"The path of the kernel with stride 1: {_figure.description}", width=400),
            kit.prose(r"""
                The kernel begins at the top left, moves one column to the right (from black to red), and at the end of a
                row starts the next one (green). A matrix of $4 \times 5$ has six places for a kernel of $3 \times 3$.

                Which of the two operations a network computes does not matter when the kernel is **learned**: training
                finds the mirrored one instead. Starting from mirrored kernels, the losses are the same in every step:
            """),
            least=300,
        ),
        kit.recorded("mirrored_kernels", "Both networks end at the same loss, {convolution[0]:.3f} with the first seed, and the kernels that they learn are mirror images of each other.", ("seed", "first loss", "convolution", "correlation", "losses apart", "from mirrored")),
        kit.question(
            "Type a kernel for which both operations give the same result, whatever the matrix is.",
            """Any kernel that looks the same after a half turn, such as `1 2 1; 2 4 2; 1 2 1`. With a kernel of one row,
            `1 0 -1`, the results differ by their sign.""", options=("Those that are mirror images of themselves", "Those that look the same after a half turn", "All"), right=1, predict="For which kernels are convolution and cross-correlation the same?",
        ),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("The same thing as one matrix", ids=("N3.05",)),
        kit.prose(r"""
            A convolution is linear in $Y$, so it is a matrix $A$ on the flattened picture. It is a dense layer with two
            restrictions: most entries are zero (each output sees its window only), and the others repeat from row to row,
            shifted by one place (every window is treated in the same way). Such matrices are called **Toeplitz** matrices. The
            framed row belongs to the step above.
            $$\operatorname{vec}(Y * K) = A \, \operatorname{vec}(Y)$$
        """),
        kit.source(convolution_matrix),
    )
    return


@app.cell(hide_code=True)
def _(matrix_k, matrix_y, operation, step):
    _A = convolution_matrix(matrix_k, *matrix_y.shape, flip=operation.value)
    _scene = matrix_of_convolution(_A, step.value - 1)
    _direct = (convolve2d if operation.value else correlate2d)(matrix_y, matrix_k).flatten()
    _apart = (_A @ matrix_y.flatten() - _direct).abs().max().item()
    kit.column(
        kit.svg(_scene, f"The matrix of the {operation.selected_key}: {_scene.description}", width=1000),
        kit.facts(
            entries=_A.numel(), not_zero=int(_A.ne(0).sum()), free_numbers=matrix_k.numel(),
            differs_from_the_sum_by=kit.number(_apart, 1),
        ),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.question(
        "How many numbers would a dense layer from 20 pixels to 6 outputs learn, and how many does this one?",
        "120 against 9. For pictures of ordinary size the dense matrix does not fit into memory, and the kernel still has 9 entries.",
        options=("The same", "Twice as many", "120 against 9"),
        right=2,
    )
    return


if __name__ == "__main__":
    app.run()
