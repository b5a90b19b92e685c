import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="ResNet18")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import DataError
    from lamina.architectures.resnet import ResNet
    from lamina.data.load import digits
    from lamina.data.preprocess import resized
    from lamina.drawing.blocks import residual_block
    from lamina.drawing.famous import resnet18
    from lamina.experiments.plots import plot
    from lamina.experiments.result import Plot, Result
    from lamina.functional.activations import softmax
    from lamina.inspection import feature_maps, summary
    from lamina.layers.residual_blocks import OriginalBlock, PreActBlock
    from lamina.layers.stages import stage
    from lamina.pages import kit
    from lamina.pages.chapters.ch4.resnet18._drawing import nested_fields
    from lamina.pages.chapters.ch4.resnet18._work import CHOICES, stages, stored
    from lamina.pages.kit._shipped import shipped

    SHOWN = (
        ("conv1", "the first convolution"),
        ("layer1.1", "block B"),
        ("layer2.1", "block C"),
        ("layer3.1", "block D"),
        ("layer4.1", "block E"),
    )
    BLOCKS = {"original": "original", "pre-activation": "preactivation"}
    SIZES = {
        "224 × 224 in color": (3, 224, "imagenet"),
        "32 × 32 in color (CIFAR stem)": (3, 32, "cifar"),
        "28 × 28 gray (CIFAR stem)": (1, 28, "cifar"),
    }


@app.cell(hide_code=True)
def _(block, counting, depth, labels, pictures):
    _channels, _size, _stem = pictures.value
    _chosen = {
        "depth": depth.value,
        "block": block.value,
        "stem": _stem,
        "channels": _channels,
        "size": _size,
        "classes": labels.value,
    }
    _known = _chosen == CHOICES

    def _draw(job):
        found = stored() if _known else job.rows[-1] if job.rows else None
        controls = [depth, block, pictures, labels]
        if found is None:
            return kit.lab(
                kit.controls("Network", *controls),
                kit.note(f"Following one picture through the network: {job.words} …"),
                about="Where the parameters are",
            )
        rows = [
            (
                row["part"],
                row["block"],
                "×".join(map(str, row["output"])),
                f"{row['parameters']:,}",
                f"{row['parameters'] / found['parameters']:.1%}",
                f"{row['flops'] / 1e6:,.0f}",
                "everything" if row["sees"] is None else f"{row['sees']}×{row['sees']}",
            )
            for row in found["rows"]
        ]
        parts = [(row["block"] or row["part"], row["parameters"]) for row in found["rows"] if row["parameters"]]
        names = list(dict.fromkeys(name for name, _ in parts))
        sums = [sum(count for name, count in parts if name == wanted) for wanted in names]
        shown = tuple(zip(names, sums, strict=True))
        bars = plot(
            Result(
                "parameters",
                ("block", "parameters"),
                shown,
                plot=Plot("block", ("parameters",), "bars"),
            )
        )
        return kit.lab(
            kit.controls("Network", *controls),
            kit.facts(parameters=f"{found['parameters']:,}", million_operations=f"{found['flops'] / 1e6:,.0f}"),
            kit.table(
                ("part", "block", "output", "parameters", "share", "million operations", "a unit sees"),
                rows,
                caption=f"{depth.selected_key}: {found['parameters']:,} parameters",
                right=(3, 4, 5),
            ),
            kit.svg(
                bars,
                f"Parameters by block: {', '.join(f'{name} {count:,}' for name, count in zip(names, sums, strict=True))}.",
                caption="A is the first convolution, B to E are groups of residual blocks, fc is the last layer: [Fig. 31](#eighteen-layers).",
            ),
            about="Where the parameters are",
        )

    counting.show(_draw, running=not _known, **_chosen)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Eighteen layers", ids=("N4.30", "N4.31", "N4.32")),
        kit.prose("""
            ResNet18 reads pictures, so its weights are convolutions. Block **A** prepares the picture: a convolution of 7 × 7
            with stride 2, batch normalization, ReLU and pooling. The blocks **B** to **E** hold two residual blocks each; from
            one to the next the maps become half as high and wide, and twice as many. At the end a fully connected layer
            gives one number per class.
        """),
        kit.question(
            "Count them in the drawing.",
            "One convolution in A, sixteen in B to E, and the fully connected layer. Batch normalizations, poolings and the 1 × 1 convolutions of the shortcuts are not counted.",
            options=("All of them, poolings included", "The convolutions of the blocks and the fully connected layer"),
            right=1,
            predict="Which layers are counted when the network is said to have 18?",
        ),
        kit.svg(
            resnet18(),
            "Fig. 31: ResNet18 from the picture of 3 x 224 x 224 through the blocks A to E to 1000 numbers",
            width=1300,
        ),
        kit.formula(
            r"\underbrace{1}_{\text{A}} \; + \; \underbrace{4}_{\text{B to E}} \cdot \underbrace{2}_{\text{residual blocks}} \cdot"
            r"\underbrace{2}_{\text{convolutions}} \; + \; \underbrace{1}_{\text{fully connected}} \; = \; 18"
        ),
        kit.prose(r"""
            The name counts layers with weights, but not all of them: batch normalization has weights too and is left out,
            and so are the three convolutions of $1 \times 1$ on the skip connections where the number of maps doubles. So there
            are 20 convolutions in all. Before the fully connected layer comes a mean over each map, which the notes do
            not mention ([E60](/errata#E60)): flattening $512 \times 7 \times 7$ numbers at once would need a last layer of 25 million weights.
        """),
        kit.source(ResNet, stage),
    )
    return


@app.cell(hide_code=True)
def _():
    depth = kit.dropdown({"ResNet18": 18, "ResNet34": 34, "ResNet50": 50}, value="ResNet18", label="network")
    block = kit.dropdown(BLOCKS, value="original", label="residual block")
    pictures = kit.dropdown(SIZES, value="224 × 224 in color", label="pictures")
    labels = kit.dropdown({"1000": 1000, "100": 100, "10": 10}, value="1000", label="labels")
    counting = kit.train(stages, keep="last")
    kit.column(
        kit.section("Where the parameters are", ids=("N4.33", "N4.34")),
        kit.prose("""
            Choose another depth, block, picture size or number of labels. Whether an implementation is built from original
            or pre-activation blocks is worth checking in its code; most have the original ones.
        """),
        kit.source(summary),
    )
    return block, counting, depth, labels, pictures


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "resnet18_parameters",
            "The last group of blocks, E, holds {E[0]:,} of {all[0]:,} parameters; 1000 labels instead of 10 enlarge only the dense layer.",
        ),
        kit.row(
            kit.svg(
                residual_block(OriginalBlock(64, 128, stride=2)),
                "The first residual block of C, original, with a projection",
            ),
            kit.svg(
                residual_block(PreActBlock(64, 128, stride=2)), "The first residual block of C, full pre-activation"
            ),
            least=640,
        ),
        kit.question(
            "More than ten million parameters: in which block are most of them, and where are most of the operations?",
            """Block E alone has 8.4 of the 11.7 million, because its kernels join 512 maps with 512 maps. The operations are spread evenly over B to E:
            every time the number of kernels quadruples, the number of places quarters. With 10 labels the total falls to 11,181,642, with the CIFAR stem for small color
            pictures to 11,173,962.""",
            options=("A", "C", "E"),
            right=2,
            predict="In which block are most of the parameters?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    part = kit.dropdown(["A", "B", "C", "D", "E"], value="C", label="block")
    kit.column(
        kit.section("What a unit sees", level=3),
        kit.prose("""
            A unit of block B looks at a patch of the picture, a unit of block E at more than all of it: its field is larger
            than 224 × 224 and reaches into the padding.
        """),
    )
    return (part,)


@app.cell(hide_code=True)
def _(part):
    _last = {row["block"]: row for row in stored()["rows"] if row["block"]}
    _sizes = {name: row["sees"] for name, row in _last.items()}
    _scene = nested_fields(_sizes, stored()["size"], part.value)
    _row = _last[part.value]
    kit.panel(
        [part],
        kit.svg(
            _scene,
            _scene.description,
            width=480,
            caption="The gray square is the picture; a dashed field reaches beyond it.",
        ),
        kit.facts(
            sees=f"{_sizes[part.value]} × {_sizes[part.value]}",
            maps=_row["output"][0],
            size_of_a_map=f"{_row['output'][1]} × {_row['output'][2]}",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    network, record = shipped("resnet18-digits")
    examples = digits()
    number = kit.slider(0, 199, 1, value=7, label="example")
    upload = mo.ui.file(filetypes=[".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"], kind="area", label="your picture")
    kit.column(
        kit.section("What it makes of a picture", level=3),
        kit.prose(f"""
            A ResNet18 that is sixteen times narrower (4, 8, 16 and 32 maps, {sum(p.numel() for p in network.parameters()):,} parameters) comes with this
            page. It has learned the embedded digits, {record.metrics["accuracy"]:.1%} right on the test part, by `{record.command}`. Choose a digit,
            or upload a picture of your own: the network will look for a digit in it.
        """),
        kit.source(feature_maps),
    )
    return examples, network, number, record, upload


@app.cell(hide_code=True)
def _():
    kit.question(
        "Compare the maps of the first convolution with those of block E. What is lost, and what is gained?",
        """The first maps still show the digit, with its strokes and edges stressed differently. In block E a map has four by four places, and nobody
        recognizes a digit in it: the place of a stroke is lost, and what is left says which digit it may be. The mean over each map then keeps a single number.""",
        options=("Yes", "No"),
        right=1,
        predict="Is the digit still recognizable in the maps of block E?",
    )
    return


@app.cell(hide_code=True)
def _(examples, network, number, record, upload):
    _problem, _own = "", None
    if upload.value:
        try:
            _own = kit.read_picture(upload.value[0])
        except DataError as error:
            _problem = str(error)
    _bytes = examples.inputs[number.value][None] if _own is None else (255 * _own).round().to(torch.uint8)[None, None]
    _inputs = record.preprocess.finisher("cpu")(resized(_bytes, record.preprocess.kept[1:], "crop"))
    _maps = feature_maps(network, _inputs)
    with torch.no_grad():
        _p = softmax(network(_inputs))[0].tolist()
    _best = max(range(10), key=_p.__getitem__)
    _bars = plot(
        Result(
            "probabilities",
            ("digit", "probability"),
            tuple((str(digit), round(p, 4)) for digit, p in enumerate(_p)),
            plot=Plot("digit", ("probability",), "bars"),
        ),
        width=360,
    )

    def _pictures(name, words):
        maps = _maps[name].pictures()
        shown = maps[: 16 if maps.shape[1] >= 7 else 32]
        images = [
            kit.picture(m.tolist(), f"map {i + 1} of {words}", size=64 if m.shape[0] > 7 else 40, low=0.0, high=1.0)
            for i, m in enumerate(shown)
        ]
        return kit.card(
            f"{words}: {maps.shape[0]} maps of {maps.shape[1]} × {maps.shape[2]}",
            kit.row(*images, least=70 if maps.shape[1] > 7 else 46),
        )

    _what = "your picture" if _own is not None else f"example {number.value}, a {int(examples.targets[number.value])}"
    kit.panel(
        kit.controls(
            "Picture",
            number,
            upload,
            kit.picture(_inputs[0, 0].tolist(), f"{_what}, as the network gets it", size=140),
            *([kit.note(_problem, "bad")] if _problem else []),
        ),
        kit.svg(_bars, f"The network reads {_what} as {_best} with probability {_p[_best]:.3f}."),
        *(_pictures(name, words) for name, words in SHOWN),
    )
    return


if __name__ == "__main__":
    app.run()
