import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="LeNet-5 reads your digit")

with app.setup:
    import marimo as mo

    from lamina._errors import DataError
    from lamina.architectures.lenet import LeNet5
    from lamina.data.handwriting import as_mnist, ink_of
    from lamina.drawing.charts import Series
    from lamina.drawing.famous import lenet5
    from lamina.drawing.panels import picture_grid
    from lamina.drawing.why import heated
    from lamina.functional.activations import probabilities
    from lamina.functional.attribution import occlusion, saliency
    from lamina.inspection.activations import feature_maps, kernels, normalized
    from lamina.inspection.attribution import class_map
    from lamina.pages import kit
    from lamina.pages.chapters.ch3._shared import pixels, shades
    from lamina.pages.chapters.ch3.lenet._maps import clickable, passed
    from lamina.pages.chapters.ch3.lenet._work import STROKES, inked
    from lamina.pages.kit._shipped import shipped
    from lamina.training.explanations import Seen, picture_maps

    LAYERS = {  # name of the module: what it is called here
        "features.0": "convolution 1",
        "features.1": "detector 1",
        "features.2": "pooling 1",
        "features.3": "convolution 2",
        "features.4": "detector 2",
        "features.5": "pooling 2",
    }
    DENSE = {"classifier.2": ("dense layer of 120", 6), "classifier.5": ("dense layer of 84", 6)}


@app.cell(hide_code=True)
def _(chances, digit, example, maps, own, pad, picture_file, said, said_kind, source):
    _best = int(chances.argmax())
    _reads = "reads" if own else f"reads our {example.value}"
    _three = [int(k) for k in chances.topk(3).indices]
    _bars = kit.plot(
        f"LeNet-5 reads a {_best}, with probability {kit.share(chances[_best].item())}.",
        bars=[
            Series("", list(range(10)), chances.tolist(), "stage", size=0.7),
            Series("", [_best], [chances[_best].item()], "output", size=0.7),
        ],
        y=("probability", 0, 1),
        x=("digit", -0.6, 9.6),
        size=(330, 230),
    )
    kit.lab(
        kit.controls("Draw, choose or upload", source, example, picture_file),
        kit.shown(pad),
        _bars,
        kit.picture(digit.tolist(), "The digit with 28 x 28 pixels, as the network gets it", size=196, low=0, high=1,
                    caption=said if said_kind == "plain" else "An example of ours, as the network gets it."),
        kit.svg(
            passed({words: maps[name].values[0].double() for name, words in LAYERS.items() if "detector" in words}),
            "The maps of both detectors: 6 of 28 x 28 and 16 of 10 x 10.",
            caption="Two of its layers. [All maps](#every-feature-map-on-the-way) are further down; click them there.",
        ),
        *([] if said_kind == "plain" else [kit.note(said, said_kind)]),
        kit.facts(**{place: f"{k}: {kit.share(chances[k].item())}" for place, k in zip((_reads, "or", "or even"), _three, strict=True)}),
        about="Draw a digit",
        answers=True,
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    network, record = shipped("lenet5-mnist")
    pad = kit.digit_pad("Draw a digit from 0 to 9")
    picture_file = mo.ui.file(filetypes=[".png", ".jpg", ".jpeg", ".bmp", ".webp"], kind="area", label="or a picture of one digit")  # fmt: skip
    source = kit.dropdown(["my drawing", "my picture", "an example"], value="my drawing", label="read")
    example = kit.slider(0, 9, value=7, label="example")
    kit.column(
        kit.section("Draw a digit", ids=("N3.07", "N3.58")),
        kit.prose(r"""
            Draw one digit into the black square, with the mouse, a finger or a pen. It is brought into the form of MNIST: cut
            out, scaled so that its longer side has 20 pixels, and placed with its center of mass in the middle of
            $28 \times 28$. Then LeNet-5, trained on 50,000 digits of MNIST, reads it: the softmax turns its ten outputs into
            probabilities.
            $$p_i = \frac{e^{z_i}}{\sum_{j=0}^{9} e^{z_j}}, \qquad z = \mathcal{F}(u)$$
        """),
    )
    return example, network, pad, picture_file, record, source


@app.cell(hide_code=True)
def _(example, pad, picture_file, source):
    digit, said, said_kind = None, "", "plain"
    _drawn = kit.strokes(pad.value)
    try:
        if source.value == "my drawing" and _drawn is not None:
            digit, said = as_mnist(_drawn), "This is your drawing, as the network gets it."
        elif picture_file.value and source.value != "an example":
            digit = as_mnist(ink_of(kit.read_picture(picture_file.value[0])))
            said = "This is your picture, as the network gets it."
        elif source.value == "my picture":
            said = "Choose a file with one dark digit on light paper, or the other way round. Until then, you see an example."
    except DataError as error:
        said, said_kind = f"{error} Until then, you see an example.", "bad"
    own = digit is not None
    if not own:
        said = said or f"Nothing drawn yet: this is a {example.value} of ours."
        digit = as_mnist(inked(STROKES[example.value], side=84))
    return digit, own, said, said_kind


@app.cell(hide_code=True)
def _(digit, network, record):
    prepared = record.preprocess.apply((255 * digit).round().byte()[None, None])
    maps = feature_maps(network, prepared)
    chances = probabilities(maps["classifier.7"].values)[0].double()
    return chances, maps


@app.cell(hide_code=True)
def _(record):
    kit.column(
        kit.question(
            "Draw a 1 with a long foot, a 7 with a bar, a 4 that is closed at the top. Which of your ways of writing does it misread? And how sure is it then?",
            """The network knows 50,000 digits written by Americans around 1990. It has never seen what they did not write, and it is often sure of its wrong answer:
            the softmax compares ten digits and has no way to say "none of these". Draw a letter or a face and look at the probability.""",
            options=("About 10%, it cannot decide", "Often quite sure"),
            right=1,
            predict="When LeNet-5 misreads your digit, how sure is it?",
        ),
        kit.prose(f"""
            The weights come with the package: {record.metrics["accuracy"]:.2%} of the {record.metrics["examples"]:,} test digits
            of MNIST are read correctly. They were trained, on {record.device}, with

            `{record.command}`
        """),
        kit.source(as_mnist, LeNet5),
    )
    return


@app.cell(hide_code=True)
def _():
    asked = kit.dropdown(["what it reads", *map(str, range(10))], value="what it reads", label="why")
    kit.column(
        kit.section("Why does it read this?", ids=("N3.07",)),
        kit.prose(r"""
            Three answers to the same question, for the output $z_k$ of one digit. **Grad-CAM** weighs the maps $A_c$ of the second
            convolution by their mean gradient, $\alpha_c = \frac{1}{HW} \sum_{ij} \partial z_k / \partial A_{cij}$, and keeps what speaks for
            the digit. **Saliency** is the gradient itself, $|\partial z_k / \partial u_{ij}|$: where a small change would matter most.
            **Occlusion** covers a square and measures how much $z_k$ falls: red where the digit needs what is there, blue where the
            network would be surer without it. `lamina explain RUN picture.png -o why.png` does the same for a network of yours.
        """),
        kit.source(class_map, saliency, occlusion),
    )
    return (asked,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Draw a 3 and ask why it is not an 8. Where does occlusion turn red for the 8, and what would have to be there?",
        """The open left side speaks against an 8: cover the right strokes, which both digits share, and the output of the 8 falls. Close
        the two arcs on the left, and the answer changes. None of the three maps shows what is missing; they only see what is there.""",
        options=("Yes", "No, only what is there"),
        right=1,
        predict="Can the three maps show what is missing in a picture?",
    )
    return


@app.cell(hide_code=True)
def _(asked, chances, digit, network, record):
    _best = int(chances.argmax())
    _k = _best if asked.value == "what it reads" else int(asked.value)
    _seen = Seen("digit", record.preprocess.apply((255 * digit).round().byte()[None, None]), digit[None].float())
    _maps = picture_maps(network, _seen, lambda outputs: outputs[:, _k], occluded=True)
    _ink = (255 * digit).tolist()
    kit.panel(
        kit.controls("The output of which digit?", asked),
        kit.row(
            *(
                kit.svg(
                    picture_grid([heated(_ink, heat.tolist())], 1, cell=180),
                    f"{name} for the output of {_k}: strongest at row {divmod(int(heat.argmax()), 28)[0] + 1}, column {divmod(int(heat.argmax()), 28)[1] + 1}.",
                    width=210,
                    caption=name,
                )
                for name, heat in _maps.items()
            ),
            least=190,
        ),
        kit.facts(output_of=_k, probability=kit.share(chances[_k].item())),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    which = kit.slider(1, 16, value=1, label="map")
    closer = kit.dropdown({words: name for name, words in LAYERS.items()}, value="detector 1", label="layer")
    kit.column(
        kit.section("Every feature map on the way", ids=("N3.07",)),
        kit.prose("""
            This is what each layer makes of the digit above, from the picture to the answer; click a map to see its kernel below. The convolutions answer with both signs, red
            above zero and blue below; the detector (ReLU) keeps what is positive, bright is large; pooling halves height and
            width. In the first maps you still see the digit, with its edges in different directions; in the last ones, 5 × 5 pixels
            each, only whether something is there.
        """),
        kit.source(feature_maps),
    )
    return closer, which


@app.cell(hide_code=True)
def _():
    kit.question(
        "Find the first-layer kernel that responds to horizontal strokes. How do you recognize it?",
        """Its weights are positive along rows and negative above or below, and its map is bright where a 7 has its bar and dark along its stem. Draw a cross
        to see each kernel take its part.""",
        options=("Along rows", "Along columns", "Everywhere"),
        right=0,
        predict="A kernel that responds to horizontal strokes: where are its weights positive?",
    )
    return


@app.cell(hide_code=True)
def _(maps):
    def _layer(name, words):
        values = maps[name].values[0].double()
        count, height, width = values.shape
        signed = "convolution" in words
        pictures = [shades(one) for one in values] if signed else [pixels(one) for one in normalized(values)]
        columns, cell = (6, 74) if count == 6 else (8, 54)
        label = f"{words}: {count} maps of {height} × {width}"
        drawn, hands = clickable(picture_grid(pictures, columns, cell=cell, gap=6, caption=label, title=words), words)
        return kit.svg(
            drawn,
            f"{words}: {count} maps of {height} x {width}, from {values.min():.2f} to {values.max():.2f}.",
            width=640,
            hands=hands,
        )

    def _strip(name, words, rows):
        values = maps[name].values[0].double()
        alive = int((values > 0).sum())
        return kit.svg(
            picture_grid([pixels(normalized(values.reshape(rows, -1)))], 1, cell=300, caption=words, title=words),
            f"{words}: {alive} of {len(values)} units are active.",
            width=460,
            caption=f"{alive} of {len(values)} units are active",
        )

    kit.column(
        kit.row(*(_layer(name, words) for name, words in LAYERS.items()), least=420),
        kit.row(*(_strip(name, words, rows) for name, (words, rows) in DENSE.items()), least=300),
    )
    return


@app.cell(hide_code=True)
def _(closer, digit, maps, network, which):
    _maps = maps[closer.value].values[0]
    _at = min(which.value, len(_maps))  # the first three layers have 6 maps, the others 16
    _values = _maps[_at - 1].double()
    _kernel = kernels(network)[0 if closer.value in list(LAYERS)[:3] else 1].weights[_at - 1].double()
    _shown = shades(_values) if "convolution" in LAYERS[closer.value] else pixels(normalized(_values[None])[0])
    _parts = [shades(sheet, _kernel.abs().max().item()) for sheet in _kernel]
    kit.panel(
        kit.controls("One map", closer, which),
        kit.row(
            kit.column(kit.picture(digit.tolist(), "The digit", size=170, low=0, high=1), "the digit"),
            kit.svg(
                picture_grid(_parts, 3 if len(_parts) > 1 else 1, cell=100 if len(_parts) == 1 else 54, gap=5),
                f"The kernel of map {_at}: {len(_kernel)} sheets of 5 x 5 weights from {_kernel.min():.2f} to {_kernel.max():.2f}.",
                width=200,
                caption="its kernel" if len(_parts) == 1 else "its kernel, one sheet for each of six maps",
            ),
            kit.svg(
                picture_grid([_shown], 1, cell=100),
                f"Map {_at} of {closer.selected_key}, from {_values.min():.2f} to {_values.max():.2f}.",
                width=200,
                caption=f"map {_at} of {closer.selected_key}",
            ),
            least=190,
        ),
        kit.facts(smallest=_values.min().item(), largest=_values.max().item(), zero=f"{(_values == 0).double().mean():.0%}"),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _(maps, network):
    _scene = lenet5()
    _rows = [("picture", "1 × 28 × 28", 0)]
    for _name, _words in (
        *LAYERS.items(), ("classifier.1", "dense layer"), ("classifier.4", "dense layer"), ("classifier.7", "dense layer, output"),
    ):  # fmt: skip
        _shape = " × ".join(map(str, maps[_name].values.shape[1:]))
        _rows.append((_words, _shape, sum(p.numel() for p in network.get_submodule(_name).parameters())))
    kit.column(
        kit.section("The plan of LeNet-5", ids=("N3.06", "N3.07")),
        kit.prose("""
            Convolution, detector and pooling come twice; then the maps are flattened into one vector for a small feedforward network:
            400 – 120 – 84 – 10. Yellow marks convolution, violet the detector, orange pooling, and bright yellow the fully connected layers. The notes
            use the sigmoid as the detector; the weights here were trained with ReLU and max pooling.
        """),
        kit.svg(_scene, f"LeNet-5: {_scene.description}", width=720),
        kit.table(("layer", "output", "parameters"), [(a, b, f"{c:,}") for a, b, c in _rows], right=(2,),
                  caption=f"Together {sum(row[2] for row in _rows):,} parameters"),
        kit.prose("""
            This is the form that is common today ([E37](/errata#E37)). The network of 1998 read 32 × 32 pixels, had a scaled tanh, pooling with
            parameters of its own and a table of which maps feed which; `lamina train lenet5-1998` trains that one.
        """),
        kit.question(
            "Which layer has most of the parameters, and why is it not a convolution?",
            "The first dense layer: 400 · 120 + 120 = 48,120 of 61,706. A convolution uses its few weights at every place; a dense layer has one for each pair of input and output.", options=("The second convolution", "The first dense layer", "The last layer"), right=1,
        ),
    )  # fmt: skip
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Is it better than a dense network?", ids=("N3.56",)),
        kit.prose("""
            On MNIST, five epochs and three seeds, LeNet-5 with ReLU and max pooling reads 98.6% of the test digits, the form with
            sigmoids and averages 97.1%, and a feedforward network 784-128-64-10 97.5% with almost twice as many parameters. On the 1,797 small
            digits that come with the package the three are close to each other:
        """),
        kit.recorded(
            "lenet_against_fnn",
            "LeNet-5 with ReLU reads {accuracy[1]:.1%} of the small digits with {parameters[1]:,} parameters, the dense network {accuracy[0]:.1%} with {parameters[0]:,}; the difference is within the spread of two seeds.",
            ("network", "parameters", "accuracy", "least", "largest"),
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Where it comes from", ids=("N3.01",)),
        kit.prose("""
            - **1980, the neocognitron** of Kunihiko Fukushima: layers of cells with small receptive fields, in turn looking for
              features and tolerating shifts, following what was known about the visual cortex of cats.
            - **1989 to 1998, LeNet** of Yann LeCun and colleagues: the same architecture trained by backpropagation; LeNet-5 read
              amounts on bank checks.
            - **2012, AlexNet** of Alex Krizhevsky, Ilya Sutskever and Geoffrey Hinton: the same plan, with ReLU, dropout, a
              million pictures and graphics cards. See the previous page.
        """),
    )
    return


if __name__ == "__main__":
    app.run()
