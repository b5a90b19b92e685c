import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="A network that writes")

with app.setup:
    import math

    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina._markup import tag
    from lamina.architectures.decoding import sample
    from lamina.architectures.recurrent import ManyToMany
    from lamina.data.text.batching import stream_windows
    from lamina.drawing.charts import Note, Series
    from lamina.functional.activations import softmax
    from lamina.pages import kit
    from lamina.pages.chapters.ch5.characters._work import TEMPERATURES, TEXTS, text_of, write, writer

    def written(text):
        """Show a text with its lines; what it says is escaped."""
        look = "white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font-size:.95rem;line-height:1.5;min-height:6em"
        return tag("pre", text, style=look, class_="lamina-written")


@app.cell(hide_code=True)
def _(again, cell, go, hidden, learner, own, paste, prompt, rate, source, temperature, trouble, upload):
    def _draw(job):
        row = job.rows[-1] if job.rows else None
        controls = [source, *([upload, paste] if source.value == "own" else []), cell, hidden, rate]
        if trouble:
            return kit.lab(controls, kit.note(trouble, "warn"), play=go, about="One character after another")
        failed = job.state == "failed"
        controls += [temperature, kit.note(job.words, "bad" if failed else "plain")]
        if row is None:
            return kit.lab(
                controls,
                kit.note("Press Learn: it starts with random weights and writes at once."),
                play=go,
                about="One character after another",
            )
        losses, reach = row["losses"], max(1, row["step"])
        updates = [reach * (i + 0.5) / len(losses) for i in range(len(losses))]
        scene = kit.plot(
            f"The loss per character over the updates, {losses[-1]:.3f} after {row['step']}",
            lines=[
                Series("guessing", [0, row["steps"]], [math.log(row["entries"])] * 2, "muted", "dashed"),
                Series("loss per character", updates, losses, "line1", size=2.2),
            ],
            x=("update", 0, row["steps"]),
            y=("", 0, 5),
            size=(440, 220),
            wide=620,
        )
        at = TEMPERATURES.index(temperature.value)
        stopped = job.state in ("paused", "done")
        mine = []
        if stopped:
            text = write(row["network"], prompt.value[:200], 400, temperature.value, seed=again.value)
            mine = [kit.card("It continues from your beginning", kit.row(prompt, again, least=180), written(text))]
        return kit.lab(
            kit.controls("Text, network and training", *controls),
            kit.shown(
                kit.card(f"After {row['step']:,} updates it writes", written(row["samples"][at].strip("\n"))), wide=True
            ),
            *mine,
            kit.facts(update=row["step"], loss=losses[-1], perplexity=math.exp(losses[-1])),
            scene,
            play=go,
            about="One character after another",
        )

    learner.show(
        _draw,
        running=False if trouble else go,
        source=source.value,
        own=own,
        cell=cell.value,
        hidden=hidden.value,
        learning_rate=rate.value,
    )
    return


@app.cell(hide_code=True)
def _():
    source = kit.dropdown(TEXTS, value="English phrases", label="text")
    cell = kit.dropdown({"GRU": "gru", "LSTM": "lstm", "plain": "rnn"}, value="GRU", label="cell")
    hidden = mo.ui.slider(
        steps=[16, 32, 64, 96, 128, 192, 256], value=96, label="states $n_h$", show_value=True, full_width=True, debounce=True
    )  # fmt: skip
    rate = mo.ui.slider(
        steps=[0.001, 0.003, 0.01, 0.03], value=0.01, label=r"step size $\tau$", show_value=True, full_width=True, debounce=True
    )  # fmt: skip
    upload = mo.ui.file(filetypes=[".txt", ".md", ".py", ".csv"], kind="area", label="your text file")
    paste = mo.ui.text_area(label="or paste a text here", rows=5, full_width=True)
    go = kit.play("Learn")
    temperature = kit.steps(list(TEMPERATURES), value=0.8, label="temperature")
    prompt = mo.ui.text("The ", label="begin the text with", full_width=True)
    again = kit.button("Write again")
    learner = kit.train(writer, keep="last")
    kit.column(
        kit.section("One character after another", ids=("N5.12", "N5.16")),
        kit.prose(r"""
            A character model reads a text letter by letter and says at every step which letter comes next: many to
            many, aligned. The loss is the sum over all steps of $-\log$ of the probability that it gave to the true next
            letter. Nobody tells it about words, grammar or brackets; whatever helps it to guess the next letter it has to discover
            by itself.

            Choose a text: sentences of our phrase book, the Python code of this library's formulas, or a text of your own. Then start it
            and watch it write while it learns. First come random letters, then spaces at plausible distances, then short words, then words in the right order.
            $$p\big(u^{<t+1>} \mid u^{<1>}, \dots, u^{<t>}\big) = \mathrm{softmax}\big(W_{out} h^{<t>}\big), \qquad \mathscr{L} = -\sum_t \log p\big(u^{<t+1>} \mid u^{<1>}, \dots, u^{<t>}\big)$$
        """),
        kit.source(ManyToMany, writer),
    )
    return again, cell, go, hidden, learner, paste, prompt, rate, source, temperature, upload


@app.cell(hide_code=True)
def _(paste, source, upload):
    def _given():
        """Give the visitor's text, and what is wrong with it."""
        if source.value != "own":
            return "", ""
        text = paste.value
        try:
            if upload.value:
                text = upload.value[0].contents.decode("utf-8")
            return text_of("own", text), ""
        except UnicodeDecodeError:
            return "", "The file is not a text in UTF-8: save it as plain text."
        except LaminaError as error:
            return "", str(error)

    own, trouble = _given()
    return own, trouble


@app.cell(hide_code=True)
def _():
    kit.question(
        "Let it learn for a minute, then pause it and give it a beginning of your own. When do its words become real words? What changes with a text of your own?",
        """After a few hundred updates, most words of the phrase book are spelled right, because there are few of them; whole sentences follow. From
        your own text it learns whatever repeats: a page is enough for the spelling of frequent words, not for meaning. The perplexity
        says between how many characters it still hesitates: at 2, it is as if it tossed a coin for each one.""",
        options=("Whole words", "Where spaces go", "Grammar"),
        right=1,
        predict="What does the network learn first?",
    )
    return


@app.cell(hide_code=True)
def _():
    tau = kit.slider(0.1, 3, 0.1, value=1.0, label=r"temperature $\vartheta$ for the six letters")
    kit.column(
        kit.section("Temperature"),
        kit.prose(r"""
            The network gives probabilities; somebody has to choose. Always taking the most probable letter (temperature 0) soon runs
            in circles. Drawing with the probabilities themselves (temperature 1) is honest but repeats every slip of
            the network. Between the two, probable letters become more probable; above 1, all letters become more alike.
            $$p_k \;\propto\; \exp\Big(\frac{y_k}{\vartheta}\Big)$$
        """),
        kit.source(sample),
    )
    return (tau,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Which temperature would you take for a program, and which for a poem?",
        "A low one where a single wrong letter breaks everything, a higher one where surprise is welcome. Around 0.7 to 0.8 is a common compromise.",
        options=("Low for the program, higher for the poem", "High for the program, low for the poem", "1 for both"),
        right=0,
    )
    return


@app.cell(hide_code=True)
def _(tau):
    _letters = ("e", "a", "o", "i", "u", "y")
    _y = torch.tensor([2.0, 1.5, 1.0, 0.5, -0.5, -1.5], dtype=torch.float64)
    _p = softmax(_y / tau.value)
    _scene = kit.plot(
        f"Probabilities of six letters; the most probable has {_p[0].item():.3f}",
        bars=[Series("", list(range(1, 7)), _p.tolist(), "line1", "bar", size=0.7)],
        notes=[Note(i, p, letter) for i, (p, letter) in enumerate(zip(_p.tolist(), _letters, strict=True), 1)],
        x=("six letters that could come next", 0.4, 6.6),
        y=("", 0, 1.1),
        size=(420, 220),
        wide=600,
    )
    _entropy = -(_p * _p.log()).sum().item()
    kit.panel(
        [tau],
        _scene,
        kit.facts(most_probable=_p[0].item(), least_probable=_p[-1].item(), hesitates_among=math.exp(_entropy)),
    )
    return


@app.cell(hide_code=True)
def _():
    pieces = kit.slider(1, 4, value=2, label="pieces side by side")
    window = kit.slider(2, 12, value=5, label="letters per window")
    kit.column(
        kit.section("Reading a long text in pieces", ids=("N5.17",)),
        kit.prose(r"""
            A text of a million letters cannot be unrolled as a whole. It is cut into pieces that are read side by side, here sixteen,
            fifty letters at a time. The *state* is carried from one window to the next, so the network remembers; the
            *gradient* stops at the window's beginning. That is truncated backpropagation through time, and the reason why
            dependencies longer than a window are hard to learn, though not impossible to use.
        """),
        kit.source(stream_windows),
    )
    return pieces, window


@app.cell(hide_code=True)
def _():
    kit.question(
        "What should the network say at the last letter of a window, and where does it find the state for the next window?",
        """The first letter of the next window of the same piece: the targets are the inputs shifted by one. The state comes from the same piece in the
        previous window; it is zero only at the beginning of the text.""",
        options=("The same letter", "The first letter of the next window", "The end token"),
        right=1,
        predict="Which letter should the network say at the last letter of a window?",
    )
    return


@app.cell(hide_code=True)
def _(pieces, window):
    _text = "to be or not to be that is the question"
    _windows = stream_windows(torch.arange(len(_text)), pieces.value, window.value)
    _rows = [
        (n, p + 1, "".join(_text[i] for i in read[p]).replace(" ", "␣"), "".join(_text[i] for i in want[p]).replace(" ", "␣"))
        for n, (read, want) in enumerate(_windows, 1)
        for p in range(pieces.value)
    ]  # fmt: skip
    kit.panel(
        [pieces, window],
        kit.table(("window", "piece", "reads", "should say"), _rows[:16], caption=f"{len(_windows)} windows of one text"),
        kit.facts(windows=len(_windows), characters_lost=len(_text) - 1 - sum(r.numel() for r, _ in _windows)),
    )  # fmt: skip
    return


if __name__ == "__main__":
    app.run()
