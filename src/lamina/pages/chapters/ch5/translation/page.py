import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Translation")

with app.setup:
    from functools import cache

    import marimo as mo

    from lamina._errors import LaminaError
    from lamina.architectures.decoding import beam_search, greedy
    from lamina.architectures.seq2seq import EncoderDecoder
    from lamina.drawing.charts import Series
    from lamina.experiments.translation_toy import PAIRS, VARIANTS
    from lamina.pages import kit
    from lamina.pages.chapters.ch5._shared import cell_grid
    from lamina.pages.chapters.ch5.translation._drawing import conversation
    from lamina.pages.chapters.ch5.translation._translator import follow
    from lamina.pages.chapters.ch5.translation._work import by_heart
    from lamina.pages.kit._shipped import shipped
    from lamina.training.tasks.texts import translate

    EXAMPLES = {
        "of the notes": "The sun is shining today",
        "a question": "Is the sun shining?",
        "several cats": "The cats are sleeping in the garden",
        "why": "Why did the teacher laugh yesterday?",
        "a wish": "She wants to buy a red car tomorrow",
        "a reason": "I am laughing because the sun is shining",
        "not": "The old woman is not reading the book",
    }

    @cache
    def translator():
        """Load the translator that comes with the package; it is only read."""
        return shipped("seq2seq-phrasebook")


@app.cell(hide_code=True)
def _(beams, example, sentence):
    def _translated():
        network, record = translator()
        try:
            found = follow(network, record.preprocess, sentence.value)
            (answer,), worth = translate(network, record.preprocess, [sentence.value], beams=beams.value)
        except LaminaError as error:
            return [kit.note(str(error), "bad")]
        unknown = []
        if found.unknown:
            words = f"Not in its dictionary: {', '.join(found.unknown)}. It reads <unk> there and has to guess."
            unknown = [kit.note(words, "warn")]
        rows = [
            (
                t,
                step.reads,
                step.writes,
                step.best[0][1],
                " · ".join(f"{word} {p:.3f}" for word, p in step.best[1:] if p >= 0.001),
            )
            for t, step in enumerate(found.steps, 1)
        ]
        return [
            *unknown,
            kit.facts(
                German=answer,
                words_read=len(found.words) - 1,
                words_written=len(found.steps) - found.ended,
                ended_by_itself="yes" if found.ended else "no",
                probability_of_a_word=worth[0].exp().item(),
            ),
            kit.svg(
                conversation(found.words, [step.writes for step in found.steps]),
                f"{len(found.words)} inputs, then {len(found.steps)} outputs: {' '.join(found.words)} becomes {' '.join(step.writes for step in found.steps)}",
                width=900,
            ),
            kit.row(
                kit.svg(
                    cell_grid(found.read_states.T.tolist(), found.words, low=-1, high=1, title="states of the encoder, word by word", cell=(330 / len(found.words), 1.1)),
                    f"192 units of the encoder over {len(found.words)} tokens",
                ),
                kit.svg(
                    cell_grid(found.written_states.T.tolist(), [s.writes for s in found.steps], low=-1, high=1, title="states of the decoder, word by word", cell=(330 / len(found.steps), 1.1)),
                    f"192 units of the decoder over {len(found.steps)} tokens",
                ),
                least=300,
            ),
            kit.table(("t", "reads", "writes", "p", "or"), rows, caption="What the decoder does at each step, with the probability p of what it writes", right=[0, 3]),
        ]  # fmt: skip

    kit.lab(kit.controls("Sentence", sentence, beams, example), *_translated(), about="Type English, read German")
    return


@app.cell(hide_code=True)
def _():
    example = kit.dropdown(EXAMPLES, value=next(iter(EXAMPLES)), label="example")
    beams = kit.slider(1, 8, value=1, label="beams")
    kit.column(
        kit.section("Type English, read German", ids=("N5.03", "N5.49")),
        kit.prose(r"""
            Two recurrent networks work together. The **encoder** reads the English sentence to its end, and the state it then
            has, one vector of 192 numbers, is all that is passed on. The **decoder** starts from this vector. At every step it
            reads the word it wrote before and gives a probability to every German word; the most probable one is written,
            until it writes the end token.
            $$h^{<t>} = \mathrm{enc}(u^{<t>}, h^{<t-1>}), \;\; t \le T_{in}; \qquad s^{<0>} = h^{<T_{in}>}, \quad s^{<t>} = \mathrm{dec}(y^{<t-1>}, s^{<t-1>}), \quad y^{<t>} = \mathrm{softmax}(W_{out} s^{<t>})$$
        """),
        kit.source(EncoderDecoder, greedy, beam_search),
    )
    return beams, example


@app.cell(hide_code=True)
def _(example):
    sentence = mo.ui.text(example.value, label="your sentence in English", full_width=True, debounce=300)
    return (sentence,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Translate Example 5.1. How many words are read and written, and what is different in their order? Then break the network: find a sentence of known words that it gets wrong.",
        """Five words become four, "Heute scheint die Sonne": the last one comes first, and "is shining" becomes one verb. To break it,
        make the sentence long, or use a construction that its grammar does not have, such as "The sun sees the sun sees the sun". Everything
        it knows about the sentence must pass through 192 numbers.""",
        options=("Four", "Five", "Six"),
        right=0,
        predict="*The sun is shining today* has five words. How many does its translation have?",
    )
    return


@app.cell(hide_code=True)
def _():
    _network, _record = translator()
    _words = ", ".join(_record.preprocess.vocabulary.words)
    _metrics = [
        ("exactly right", f"{_record.metrics['exact']:.2%}"),
        ("words right", f"{_record.metrics['token_accuracy']:.2%}"),
        ("BLEU", f"{_record.metrics['bleu']:.1f}"),
        ("parameters", f"{sum(p.numel() for p in _network.parameters()):,}"),
        ("trained with", _record.command),
        ("data", _record.data),
    ]
    kit.column(
        kit.section("Where it comes from", level=3),
        kit.prose("""
            This network came with the package. It learned 8000 pairs of sentences that a small grammar wrote, and was then
            tested once on 2000 others: new combinations of known words, Example 5.1 among them.
        """),
        kit.table(("what", "value"), _metrics, caption="The shipped translator, on 2000 sentences it had never seen"),
        kit.question("Which English words does it know?", _words),
    )
    return


@app.cell(hide_code=True)
def _():
    variant = kit.dropdown(list(VARIANTS), value="gru", label="network")
    start = kit.slider(0, 9, value=0, label="starting point", debounce=True)
    learning = kit.play("Learn")
    learner = kit.train(by_heart)
    kit.column(
        kit.section("Twelve sentences by heart"),
        kit.prose(r"""
            Watch one learn from nothing. Twelve pairs are few enough to be learned by heart in seconds. Every ten updates
            it must translate all of them; first it repeats one word, then it gets sentences mixed up, then it knows them. The last
            choice is the network exactly as the notes draw it: one cell that reads, and continues with zeros as inputs while
            it writes.
        """),
        kit.source(by_heart),
    )
    return learner, learning, start, variant


@app.cell(hide_code=True)
def _(learner, learning, start, variant):
    def _draw(job):
        last = job.rows[-1] if job.rows else {"step": 0, "loss": "–", "right": 0, "said": [""] * len(PAIRS)}
        scene = kit.plot(
            f"Correct sentences over the updates, {last['right']} of 12 after {last['step']}",
            lines=[
                Series("all", [0, 300], [12, 12], "muted", "dashed"),
                Series(
                    "right, of 12", [r["step"] for r in job.rows], [r["right"] for r in job.rows], "line3", size=2.4
                ),
                Series("loss", [r["step"] for r in job.rows], [r["loss"] for r in job.rows], "line5", axis="right"),
            ],
            x=("update", 0, 300),
            y=("", 0, 12.5),
            right_range=(0, 4),
            size=(440, 220),
            wide=620,
        )
        rows = [(english, said) for (english, _), said in zip(PAIRS, last["said"], strict=True)]
        return kit.panel(
            [variant, start, learning, kit.note(job.words, "bad" if job.state == "failed" else "plain")],
            kit.facts(update=last["step"], right=last["right"], loss=last["loss"]),
            scene,
            kit.table(("English", "what it says now"), rows, caption="Twelve sentences"),
        )

    learner.show(_draw, running=learning, network=variant.value, seed=start.value)
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.recorded(
            "learned_by_heart",
            "All four networks translate {right at least[0]} of {of[0]} sentences; Example 5.1 becomes *{the sun is shining today[0]}*.",
        ),
        kit.question(
            "Does the network with zeros as inputs learn the twelve sentences too? Why does nobody build it like that?",
            """It does: twelve sentences are not many. But one cell must both read English and write German, and while it writes it does not see
            its own words: it has to plan the whole sentence before it begins. With two cells, and a decoder that reads what it has written, each job is easier.
            The notes leave open what is read after the last word ([E63](/errata#E63)).""",
            options=("Yes", "No"),
            right=0,
        ),
    )
    return


if __name__ == "__main__":
    app.run()
