import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Transfer learning")

with app.setup:
    import marimo as mo

    from lamina._errors import DataError
    from lamina.architectures.adapt import adapt, changed_tensors
    from lamina.drawing.transfer import transfer_learning
    from lamina.experiments.transfer import classes_of
    from lamina.pages import kit
    from lamina.pages.chapters.ch4._shared import race_chart
    from lamina.pages.chapters.ch4.transfer._own_pictures import read_archive
    from lamina.pages.chapters.ch4.transfer._work import AFTER, BATCH, BEFORE, digits_twice, own_pictures
    from lamina.pages.kit._shipped import shipped
    from lamina.training.freezing import freeze

    COLORS = {"with transfer": "line1", "from scratch": "line2"}
    NETWORKS = {"LeNet-5 trained on MNIST": "lenet5-mnist", "ResNet18 trained on digits": "resnet18-digits"}


@app.cell(hide_code=True)
def _(count, frozen, go, sigma, training):
    def _draw(job):
        first = [row["first task"] for row in job.rows if "first task" in row]
        second = [row for row in job.rows if "with transfer" in row]
        until = AFTER * -(-count.value // BATCH)
        if second:
            last = {name: second[-1][name]["validation_accuracy"] for name in COLORS}
            words = f"After {second[-1]['from scratch']['step']} steps {last['with transfer']:.1%} are right with transfer and {last['from scratch']:.1%} from scratch."
        elif first:
            words = f"The first task: {first[-1]['validation_accuracy']:.1%} of the digits 0 to 5 are right after {len(first)} epochs."
        else:
            words = "Nothing has been trained yet."
        scene = race_chart(
            second,
            COLORS,
            "validation_accuracy",
            until=until,
            y_label="correct on other pictures",
            y_range=(0, 1),
            size=kit.ALONE,
        )
        return kit.lab(
            kit.controls("Pictures and network", count, sigma, frozen),
            kit.progress(
                (len(first) + len(second)) / (BEFORE + AFTER),
                f"{'first' if not second else 'second'} task: {job.words}",
            ),
            kit.svg(scene, f"Right answers on the digits 6 to 9 over the steps. {words}"),
            kit.note(words, "bad" if job.state == "failed" else "plain"),
            play=go,
            about="Does it save time?",
        )

    training.show(_draw, running=go, count=count.value, activation=sigma.value, frozen=frozen.value, seed=0)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Borrow a trained network", ids=("N4.35", "N4.42")),
        kit.prose("""
            Somebody has trained a network on a large data set, for the same kind of task as yours, say to tell pictures apart.
            **Transfer learning** takes it over: adjust the first and the last layer where your data require it, keep everything
            else as it was learned, and continue training with your data.
        """),
        kit.question(
            "Choose labels and channels below, and see which tensors change.",
            "Only the last one. With other inputs, such as gray pictures instead of color, the first one is new, too.",
            options=("The first", "The last", "Both"),
            right=1,
            predict="Your pictures are of the same kind, but you have other labels. Which layer is new?",
        ),
        kit.svg(
            transfer_learning(),
            "Fig. 32: data, pretrained model and labels above; my data, the same model and my labels below, adjusted if necessary",
        ),
        kit.formula(
            r"\theta_{\text{start}} = \big(\, \underbrace{W^{[0]}}_{\text{new, if inputs differ}},\;"
            r"\underbrace{W^{[1]}, \ldots, W^{[L-2]}}_{\text{pre-trained}},\; \underbrace{W^{[L-1]}}_{\text{new, if labels differ}} \big)"
        ),
        kit.source(adapt),
    )
    return


@app.cell(hide_code=True)
def _():
    which = kit.dropdown(list(NETWORKS), value="LeNet-5 trained on MNIST", label="network")
    channels = kit.dropdown({"1, gray": 1, "3, color": 3}, value="1, gray", label="channels of my pictures")
    classes = kit.slider(2, 20, 1, value=4, label="my labels")
    kit.column(
        kit.section("What has to change", ids=("N4.36", "N4.37", "N4.38", "N4.39", "N4.41")),
        kit.prose("""
            (i) Your inputs have a different structure, such as color instead of gray: the first layer is new. (ii) You have other
            labels: the last layer is new. If both are as before there is nothing to transfer: use the network as it is. A
            new layer is initialized as in any network; all others start from the trained weights, which is most likely a good
            starting point, and then **everything** is trained. Try it on two trained
            networks that come with this page, both for gray pictures and 10 labels.
        """),
    )
    return channels, classes, which


@app.cell(hide_code=True)
def _(channels, classes, which):
    _before, _ = shipped(NETWORKS[which.value])
    _after = adapt(_before, channels=channels.value, classes=classes.value, seed=1)
    _changed = changed_tensors(_before, _after)
    _old, _new = _before.state_dict(), _after.state_dict()
    _total = sum(t.numel() for t in _new.values())
    _fresh = sum(_new[name].numel() for name in _changed)
    _rows = [
        (name, " × ".join(map(str, _old[name].shape)), " × ".join(map(str, _new[name].shape))) for name in _changed
    ]
    kit.panel(
        kit.controls("Network, channels and labels", which, channels, classes),
        kit.facts(tensors=len(_new), new_ones=len(_changed), share_of_new_numbers=f"{_fresh / _total:.2%}"),
        kit.table(("new tensor", "before", "now"), _rows, caption=f"{len(_changed)} of {len(_new)} tensors are new")
        if _rows
        else kit.note("0 tensors are new: the same inputs and as many labels, so just use the network.", "good"),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.prose("One function does it for any architecture, as long as the network has been trained before:"),
        kit.recorded(
            "any_architecture",
            "Only the last layer is new: {share of all numbers[0]:.1%} of all numbers for the feedforward network, {share of all numbers[4]:.2%} for ResNet18.",
        ),
        kit.source(changed_tensors),
        kit.question(
            "ResNet18 for 1000 labels and color has 11,689,512 parameters. How many are new for gray pictures and 10 labels?",
            r"""The first convolution has $64 \cdot 1 \cdot 7 \cdot 7 = 3136$ weights instead of 9408, and the last layer $512 \cdot 10 + 10 = 5130$
            instead of 513,000: 8266 new numbers in a network of 11,175,370, less than a thousandth.""",
            options=("8,266", "About a million", "11,175,370"),
            right=0,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    count = kit.slider(40, 400, 40, value=200, label="pictures of the new digits", debounce=True)
    sigma = kit.dropdown({"sigmoid": "sigmoid", "tanh": "tanh", "ReLU": "relu"}, value="sigmoid", label="activation")
    frozen = mo.ui.checkbox(label="train only the new layer")
    go = kit.play("Train")
    training = kit.train(digits_twice)
    kit.column(
        kit.section("Does it save time?", ids=("N4.40",)),
        kit.prose(f"""
            LeNet-5 first learns the embedded digits 0 to 5 from 800 pictures, in {BEFORE} epochs. Then it gets a new last layer for the digits 6 to 9 and
            learns them from few pictures (blue), beside a network that starts from random weights (red). Right answers
            are counted on other pictures of the digits 6 to 9.
        """),
        kit.source(classes_of, freeze),
    )
    return count, frozen, go, sigma, training


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "transfer_steps",
            "With transfer the network needs {transfer[0]}, {transfer[1]} and {transfer[2]} steps to 80%; from scratch it needs {from scratch[0]}, {from scratch[1]} and {from scratch[2]}.",
        ),
        kit.question(
            "Take ReLU instead of the sigmoid, then train only the new layer. Does transfer always win?",
            """No. With the sigmoid, the random network makes no progress for a hundred steps, and transfer saves most of the time. With ReLU or tanh this small task is so easy that
            the random network learns it just as fast. Training only the new layer (freezing the others is an extension, not in the notes) is cheaper per step but ends lower:
            what helps to tell 0 to 5 apart is not all that 6 to 9 need. Transfer pays where training is long and data are few.""",
            options=("Yes", "No"),
            right=1,
            predict="Does transfer always save time?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    _network, _record = shipped("resnet18-digits")
    upload = mo.ui.file(filetypes=[".zip"], kind="area", label="your pictures")
    own_frozen = mo.ui.checkbox(label="train only the new layers at the end")
    own_go = kit.play("Train on my pictures")
    own_training = kit.train(own_pictures)
    kit.column(
        kit.section("Your own pictures", level=3),
        kit.prose(f"""
            Pack a **.zip** file with one folder of pictures per class (two or more classes, at least four pictures each, at most 20 MB). They are cut to squares of 28 × 28 pixels.
            The network that is transferred is a narrow ResNet18 that has learned the embedded digits ({_record.metrics["accuracy"]:.1%} right); nothing leaves this computer.
        """),
    )
    return own_frozen, own_go, own_training, upload


@app.cell(hide_code=True)
def _():
    kit.question(
        "What would you expect from a network that knows digits when it gets photographs of cats and dogs?",
        """Little more than edges and strokes: the task should be of the same kind, and the closer the data, the more is saved. For photographs take a network that was
        trained on photographs: `lamina train resnet18 --data FOLDER --weights FILE` starts from the weights of any ResNet18 file, including those of other libraries.""",
        options=("It recognizes cats", "Little more than edges and strokes", "Nothing at all"),
        right=1,
    )
    return


@app.cell(hide_code=True)
def _(upload):
    own_data, own_problem = None, ""
    if upload.value:
        try:
            own_data = read_archive(upload.value[0].contents, upload.value[0].name)
        except DataError as error:
            own_problem = str(error)
    return own_data, own_problem


@app.cell(hide_code=True)
def _(own_data, own_frozen, own_go, own_problem, own_training, upload):
    _data = own_data

    def _shown():
        if _data is None:
            return [kit.note(own_problem, "bad")] if own_problem else [kit.note("No pictures yet.")]
        pictures = [
            kit.picture(
                _data.inputs[index].float().mean(0).tolist(), f"a picture of {_data.spec.classes[label]}", size=56
            )
            for label in range(min(6, _data.spec.outputs))
            for index in (_data.targets == label).nonzero().flatten()[:2].tolist()
        ]
        words = f"{len(_data)} pictures of {_data.spec.outputs} classes: {', '.join(_data.spec.classes)}."
        return [kit.note(words, "good"), kit.row(*pictures, least=60)]

    def _draw(job):
        rows = job.rows
        words = "Nothing has been trained yet."
        until = 1
        if rows:
            last = {name: rows[-1][name]["validation_accuracy"] for name in COLORS}
            until = rows[-1]["from scratch"]["step"] * AFTER // rows[-1]["epoch"]
            words = f"After {rows[-1]['epoch']} of {AFTER} epochs {last['with transfer']:.1%} are right with transfer and {last['from scratch']:.1%} from scratch."
        scene = race_chart(
            rows, COLORS, "validation_accuracy", until=until, y_label="correct on other pictures", y_range=(0, 1)
        )
        return kit.panel(
            kit.controls("Your pictures", upload, own_frozen, own_go),
            *_shown(),
            kit.progress(len(rows) / AFTER, job.words),
            kit.svg(scene, f"Right answers on your pictures over the steps. {words}"),
            kit.note(words, "bad" if job.state == "failed" else "plain"),
        )

    own_training.show(
        _draw,
        running=own_go if _data is not None else False,
        archive=upload.value[0].contents if _data is not None else b"",
        frozen=own_frozen.value,
        seed=0,
    )
    return


if __name__ == "__main__":
    app.run()
