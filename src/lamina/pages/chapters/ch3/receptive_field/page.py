import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Receptive field")

with app.setup:
    import marimo as mo

    from lamina._errors import LaminaError
    from lamina.drawing.charts import Series
    from lamina.drawing.windows import receptive_field_nodes
    from lamina.functional.convolution import filter_parameter_count, output_size, receptive_field
    from lamina.functional.dense import parameter_count
    from lamina.inspection.gradient_field import autograd_field, effective_field, field_hull
    from lamina.inspection.receptive_field import HEAD
    from lamina.inspection.receptive_field import receptive_field as fields_of
    from lamina.pages import kit
    from lamina.pages.chapters.ch3.receptive_field._drawing import seen_pixels
    from lamina.pages.chapters.ch3.receptive_field._work import line_stack, square_stack
    from lamina.pages.kit._shipped import shipped


@app.cell(hide_code=True)
def _(
    depth,
    inputs,
    keep,
    kernel,
    line_kernels,
    line_paddings,
    line_sizes,
    line_strides,
    line_trouble,
    node,
    strides,
):
    def _shown():
        if line_trouble:
            return [kit.note(line_trouble, "bad")]
        at = min(node.value, line_sizes[-1])
        scene = receptive_field_nodes(inputs.value, line_kernels, strides=line_strides, paddings=line_paddings, node=at)
        network = line_stack(line_kernels, line_strides, line_paddings)
        seen = autograd_field(network, (1, inputs.value), at - 1).nonzero().flatten() + 1
        rows, jump = [], 1
        for layer, (m, s) in enumerate(zip(line_kernels, line_strides, strict=True), 1):
            field = receptive_field(line_kernels[:layer], line_strides[:layer])
            rows.append((layer, m, s, jump, field, line_sizes[layer]))
            jump *= s
        by_gradient = ", ".join(map(str, seen.tolist()))
        return [
            kit.svg(scene, f"{scene.description} By the gradient: {by_gradient}.", width=620),
            kit.facts(
                receptive_field_r=receptive_field(line_kernels, line_strides), seen_here=len(seen),
                by_gradient=by_gradient or "none",
            ),
            kit.table(("layer", "m", "s", "jump below", "r", "nodes"), rows, caption="The sum, layer by layer"),
        ]  # fmt: skip

    kit.lab(
        kit.controls("A one-dimensional network", inputs, depth, kernel, *strides.elements[: depth.value], keep, node), *_shown(), about="Who sees whom"
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Few weights, used everywhere", ids=("N3.35",)),
        kit.prose(r"""
            The first layer of LeNet-5 reads pictures of $28 \times 28$ pixels with six kernels of $5 \times 5$ and padding 2, so
            that its output has $28 \times 28 \times 6$ numbers. Its parameters are 150 weights and 6 biases. A dense layer
            from 784 pixels to just one map of 784 numbers has 615,440 of them, and to all six maps 3,692,640.
        """),
        kit.row(kit.formula(r"6 \cdot (5^2 + 1) = 156"), kit.formula(r"784 \cdot 784 + 784 = 615\,440"), least=260),
        kit.table(
            ("layer", "parameters"),
            [
                ("convolution, 6 kernels of 5 × 5", f"{filter_parameter_count(6, 5):,}"),
                ("dense, 784 to 784", f"{parameter_count((784, 784)):,}"),
                ("dense, 784 to 4704", f"{parameter_count((784, 4704)):,}"),
            ],
            right=(1,),
        ),
        kit.source(filter_parameter_count),
    )
    return


@app.cell(hide_code=True)
def _():
    inputs = kit.slider(4, 13, value=5, label="inputs $n$")
    depth = kit.slider(1, 4, value=2, label="layers $L$")
    kernel = kit.slider(1, 5, value=3, label="kernel size $m$")
    strides = mo.ui.array([kit.slider(1, 3, value=1, label=f"stride $s_{i}$ of layer {i}") for i in range(1, 5)])
    keep = mo.ui.switch(value=True, label="padding $(m-1)/2$")
    kit.column(
        kit.section("Who sees whom", ids=("N3.36", "N3.37")),
        kit.prose(r"""
            The price of small kernels is a narrow view. An output of a dense layer depends on all inputs; an output of a
            convolution only on those in its window, its **receptive field**. With every layer it grows, because a window of
            the second layer sees windows of the first. Strides make it grow faster: after a stride of 2, neighbors are two inputs
            apart.
        """),
        kit.formula(r"r = 1 + \sum_{l} (m_l - 1) \prod_{k < l} s_k", "inputs along one axis that a unit sees, away from the border"),
        kit.prose("""
            Below is a one-dimensional network; each circle is a number. Orange is what the chosen node of the last layer
            depends on. The notes show five nodes, two layers and $m = 3$.
        """),
        kit.source(receptive_field),
    )  # fmt: skip
    return depth, inputs, keep, kernel, strides


@app.cell(hide_code=True)
def _(depth, inputs, keep, kernel, strides):
    line_kernels = [kernel.value] * depth.value
    line_strides = strides.value[: depth.value]
    line_paddings = [(kernel.value - 1) // 2 if keep.value else 0] * depth.value
    try:
        line_sizes = [inputs.value]
        for _m, _s, _p in zip(line_kernels, line_strides, line_paddings, strict=True):
            line_sizes.append(output_size(line_sizes[-1], _m, _p, _s))
        line_trouble = ""
    except LaminaError as error:
        line_sizes, line_trouble = [1], str(error)
    return line_kernels, line_paddings, line_sizes, line_strides, line_trouble


@app.cell(hide_code=True)
def _(line_sizes):
    _last = line_sizes[-1]
    node = kit.slider(1, max(2, _last), value=(_last + 1) // 2, label="node of the last layer")
    return (node,)


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose(r"""
            "By the gradient" means: set all weights to positive numbers, differentiate the node with respect to the inputs,
            and list those with a derivative that is not zero, $\partial y^{[L]}_i / \partial y^{[0]}_j \ne 0$. It must be the
            same set, and at the border it is smaller than $r$, because the rest of the window lies in the padding.
        """),
        kit.question(
            r"In the picture of the notes the middle node sees all five inputs. What does the first node see? And how many layers of $m = 3$ are needed to see 21 inputs?",
            r"""The first node sees only inputs 1 to 3: the other two places of its window of five lie to the left of the border. Ten layers give
            $r = 1 + 10 \cdot 2 = 21$. With stride 2 in every layer four are enough: $1 + 2 + 4 + 8 + 16 = 31$.""",
            options=("7", "10", "21"),
            right=1,
            predict="How many layers of $m = 3$ does it take to see 21 inputs?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    _layers = list(range(0, 13))
    kit.plot(
        "The receptive field over the number of layers: with m = 3 it is 5 after two layers and 21 after ten; with stride 2 it doubles.",
        lines=[
            Series("$m = 3$", _layers, [receptive_field([3] * n, [1] * n) for n in _layers], "line1"),
            Series("$m = 5$", _layers, [receptive_field([5] * n, [1] * n) for n in _layers], "line3"),
            Series(
                "$m = 3$, stride 2",
                _layers[:8],
                [receptive_field([3] * n, [2] * n) for n in _layers[:8]],
                "line5",
                "dashed",
            ),
        ],
        x=("layers", 0, 12),
        y=("receptive field $r$", 0, 60),
        size=(430, 240),
        wide=640,
    )
    return


@app.cell(hide_code=True)
def _():
    chosen = kit.dropdown(["LeNet-5, trained", "stack of convolutions"], value="LeNet-5, trained", label="network")
    stack_depth = kit.slider(1, 10, value=4, label="convolutions")
    stack_kernel = kit.slider(1, 7, 2, value=3, label="kernel size $m$ in the stack")
    kit.column(
        kit.section("In a picture, and how much it matters", ids=("N3.36",)),
        kit.prose(r"""
            In a picture the field is a square. Here the network is followed operation by operation, with its borders, and
            compared with gradients. The color says how strongly each pixel moves the chosen unit on average. The notes call
            the whole field *effective*; in the literature it is *theoretical*, and the effective one is the smaller region
            that matters ([E49](/errata#E49)): pixels in the middle reach the unit along many more paths.
        """),
        kit.formula(
            r"\text{color}_{ij} = \text{mean of } \Big| \frac{\partial y}{\partial u_{ij}} \Big|",
            "over random inputs $u$, for the chosen unit $y$",
        ),
        kit.source(fields_of, effective_field),
    )
    return chosen, stack_depth, stack_kernel


@app.cell(hide_code=True)
def _():
    kit.question(
        "Find a unit of LeNet-5's second pooling layer that sees fewer than 16 × 16 pixels. Why do the dense layers behind it see everything?",
        """Every unit at the border: the one at (0, 0) sees rows and columns 0 to 13; the other two of its sixteen lie in the padding. A dense unit reads
        all 5 × 5 positions, and their fields together cover the picture.""",
        options=("Yes", "No, those at the border see fewer"),
        right=1,
        predict="Do all units of the second pooling layer see 16 × 16 pixels of the picture?",
    )
    return


@app.cell(hide_code=True)
def _(chosen, stack_depth, stack_kernel):
    if chosen.value == "LeNet-5, trained":
        network = shipped("lenet5-mnist")[0]
        layer_names = {
            "convolution 1": "features.0",
            "pooling 1": "features.2",
            "convolution 2": "features.3",
            "pooling 2": "features.5",
            "first dense layer": "classifier.1",
        }
    else:
        network = square_stack(stack_depth.value, stack_kernel.value)
        layer_names = {f"convolution {n + 1}": f"{2 * n}" for n in range(stack_depth.value)}
    fields = fields_of(network, (1, 28, 28))
    return fields, layer_names, network


@app.cell(hide_code=True)
def _(layer_names):
    which = kit.dropdown(
        layer_names, value="pooling 2" if "pooling 2" in layer_names else list(layer_names)[-1], label="layer"
    )
    return (which,)


@app.cell(hide_code=True)
def _(fields, which):
    _units = fields[which.value].units
    unit_row = kit.slider(0, max(1, (_units[0] or 2) - 1), value=(_units[0] or 1) // 2, label="row of the unit")
    unit_column = kit.slider(0, max(1, (_units[1] or 2) - 1), value=(_units[1] or 1) // 2, label="column of the unit")
    return unit_column, unit_row


@app.cell(hide_code=True)
def _(
    chosen,
    fields,
    layer_names,
    network,
    stack_depth,
    stack_kernel,
    unit_column,
    unit_row,
    which,
):
    _field = fields[which.value]
    _at = (unit_row.value, unit_column.value) if _field.units[0] else None
    (_top, _bottom), (_left, _right) = _field.window(_at)
    _effect = effective_field(network, (1, 28, 28), _at, layer=which.value, draws=24)
    _seen = field_hull(autograd_field(network, (1, 28, 28), _at, layer=which.value, draws=24))
    _scene = seen_pixels(_effect, ((_top, _bottom), (_left, _right)))
    _inside = _effect.flatten().sort(descending=True).values.cumsum(0)
    _half = int((_inside < 0.5).sum()) + 1
    _area = (_bottom - _top + 1) * (_right - _left + 1)
    _tools = [stack_depth, stack_kernel] if chosen.value != "LeNet-5, trained" else []
    kit.panel(
        kit.controls("Network, layer and unit", chosen, *_tools, which, *([unit_row, unit_column] if _at else [])),
        kit.svg(
            _scene,
            f"The unit at {_at} of {which.selected_key} sees rows {_top} to {_bottom} and columns {_left} to {_right} of 28; "
            f"by gradients rows {_seen[0][0]} to {_seen[0][1]}, columns {_seen[1][0]} to {_seen[1][1]}.",
            width=460,
            caption="The frame is what the unit can see; dark is what moves it. Rows and columns count from 0.",
        ),
        kit.facts(
            size_away_from_borders=" × ".join(map(str, _field.size)),
            pixels_seen=_area,
            half_of_the_influence_in=_half,
        ),
        kit.table(
            HEAD[:4],
            [
                (words, *row[1:4])
                for words, row in zip(layer_names, fields.rows(list(layer_names.values())), strict=True)
            ],
            caption="All layers; the jump is how far apart the fields of neighbors are",
        ),
    )
    return


if __name__ == "__main__":
    app.run()
