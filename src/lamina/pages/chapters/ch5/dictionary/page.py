import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Dictionary and one-hot")

with app.setup:
    import marimo as mo
    import torch

    from lamina._errors import LaminaError
    from lamina.data.text.vocabulary import SPECIAL, Vocabulary, Wording
    from lamina.drawing.charts import Series
    from lamina.functional.encoding import embedding, one_hot
    from lamina.functional.losses import negative_log_likelihood
    from lamina.pages import kit
    from lamina.pages.chapters.ch5._shared import cell_grid
    from lamina.pages.chapters.ch5.dictionary._drawing import numbered

    TEXT = "The sun is shining today. Is the sun shining? The cat, which we saw in the garden, was asleep."
    LEVELS = {"words": "word", "characters": "character", "parts of words": "subword"}
    MARKS = {"tokens": "token", "ignored": "drop", "as written": "written"}
    SHOWN, TOKENS = 60, 70


@app.cell(hide_code=True)
def _(fold, least, level, marks, text, trouble, words):
    _shown = [(repr(word)[1:-1], number) for word, number in list(words.index.items())[:SHOWN]]
    _third = -(-len(_shown) // 3) or 1
    _tables = [
        kit.table(("word", "number"), _shown[i : i + _third], caption="" if i else f"{len(words.words)} words, sorted")
        for i in range(0, len(_shown), _third)
    ]
    _more = [kit.note(f"and {len(words.words) - SHOWN} more")] if len(words.words) > SHOWN else []
    _tokens = words.split(text.value[:5000])[:TOKENS]
    _numbers = words.encode(text.value[:5000]).tolist()[: len(_tokens)]
    kit.lab(
        kit.controls("Text and decisions", text, level, fold, *([marks] if level.value == "word" else []), least),
        kit.svg(
            numbered(_tokens, _numbers),
            f"The first {len(_tokens)} tokens of the text with their numbers: {' '.join(map(str, _numbers[:8]))} …",
            caption="The text as the network gets it: one number per token.",
        )
        if _tokens
        else kit.note("No word is left.", "warn"),
        *([kit.note(trouble, "bad")] if trouble else []),
        kit.table(("token", "number"), list(zip(SPECIAL, range(4), strict=True)), caption="Special tokens come first"),
        kit.row(*_tables, least=130) if _tables else kit.note("No word is left.", "warn"),
        *_more,
        kit.facts(entries=len(words), words=len(words.words), unknown_here=words.unknown_share([text.value])),
        about="A dictionary",
    )
    return


@app.cell(hide_code=True)
def _():
    text = mo.ui.text_area(TEXT, label="a text to make the dictionary from", rows=5, full_width=True)
    level = kit.dropdown(LEVELS, value="words", label="tokens are")
    fold = mo.ui.switch(value=True, label="lowercase only")
    marks = kit.dropdown(MARKS, value="tokens", label="punctuation")
    least = kit.slider(1, 5, value=1, label="least number of occurrences")
    kit.column(
        kit.section("A dictionary", ids=("N5.43", "N5.47")),
        kit.prose(r"""
            A network computes with numbers, so words must first become numbers. Collect all words of the texts to learn from, sort
            them alphabetically and count: that is a **dictionary**. For English it easily has more than 10,000 entries. It is made
            from the training texts alone, or the test texts would leak into it.

            Some small decisions follow: is "The" the same as "the"? Are punctuation marks dropped, or do they get numbers as well?
            Are rare words worth an entry? Type a text of your own and try.
            $$\text{word} \;\longleftrightarrow\; k \in \{1, \dots, n\}, \qquad \text{sorted alphabetically}$$
        """),
        kit.source(Wording, Vocabulary),
    )
    return fold, least, level, marks, text


@app.cell(hide_code=True)
def _(fold, least, level, marks, text):
    try:
        words = Vocabulary.fit(
            [text.value[:5000]],
            Wording(level.value, fold.value, marks.value if level.value == "word" else "token", min_count=least.value),
        )
        trouble = ""
    except LaminaError as error:
        words, trouble = Vocabulary.fit([TEXT]), str(error)
    return trouble, words


@app.cell(hide_code=True)
def _():
    kit.question(
        "Switch lowercase off. What happens to *The* and *the*? And to *is* and *Is*?",
        """Each gets an entry of its own, although it is one word; the first word of a sentence would often be unknown. That is why we fold
        words to lowercase, and bring capitals back only when a text is shown. German nouns lose their capital in the network
        and get it back from their most frequent form.""",
        options=("One", "Two"),
        right=1,
        predict="Lowercase off: how many entries do *The* and *the* get?",
    )
    return


@app.cell(hide_code=True)
def _():
    sentence = mo.ui.text("The sun is shining on the dog", label="a sentence to encode", full_width=True)
    with_end = mo.ui.switch(value=True, label="with the end of the sentence")
    kit.column(
        kit.section("One-hot", ids=("N5.44",)),
        kit.prose(r"""
            A number like 8367 says nothing about a word except which one it is. So the network does not get the number but
            the unit vector $e_{8367}$: zeros, and a single one at place 8367. Programs count from 0, so the 1 is at
            index 8366; the notes count from 1. Also, their sentence begins with "The", which is that word only after folding ([E71](/errata#E71)).

            A matrix times a unit vector is a column of the matrix. Nobody multiplies by all those zeros: the column is
            looked up, and that is what an *embedding* is.
            $$u^{<1>} = e_{8367} = (0, \dots, 0, 1, 0, \dots, 0)^\top, \qquad W e_k = W_{\cdot k}$$
        """),
        kit.source(one_hot, embedding),
    )  # fmt: skip
    return sentence, with_end


@app.cell(hide_code=True)
def _():
    kit.question(
        'The notes make "the" the 8367th word of the dictionary. At which index does `one_hot` put the 1, and how many of the 10,000 numbers are zero?',
        "At index 8366, because programs count from 0. All others, 9,999 of 10,000, are zero: looking up a column instead of multiplying saves almost all the work.",
        options=("8366", "8367", "8368"),
        right=0,
        predict="At which index does `one_hot` put the 1 for the 8367th word?",
    )
    return


@app.cell(hide_code=True)
def _(sentence, with_end, words):
    tokens = words.encode(sentence.value[:200], end=with_end.value)[:16]
    names = [words.tokens[i] for i in tokens.tolist()]
    _g = torch.Generator().manual_seed(0)
    _W = torch.randn(3, len(words), generator=_g)
    if len(tokens):
        _unit = words.one_hot(tokens)
        _apart = (_unit @ _W.T - embedding(tokens, _W)).abs().max().item()
        _seen = _unit[:, :40].T.tolist() if len(words) > 40 else _unit.T.tolist()
        _tall = max(4.0, min(11.0, 200 / len(_seen)))
        _out = [
            kit.svg(
                cell_grid(_seen, names, title="one column per word, one row per entry of the dictionary", unit="entry", cell=(56.0, _tall)),
                f"The unit vectors of {len(names)} tokens: {', '.join(map(str, tokens.tolist()))}",
                width=720,
            ),
            kit.table(
                ("token", "number", "column of W, by product", "by looking it up"),
                [
                    (name, int(k), kit.numbers(unit @ _W.T, 2), kit.numbers(row, 2))
                    for name, k, unit, row in zip(names, tokens, _unit, embedding(tokens, _W), strict=True)
                ],
                caption="A random matrix W with three rows",
            ),
            kit.facts(ones=int(_unit.sum()), numbers=_unit.numel(), largest_difference=_apart),
        ]  # fmt: skip
    else:
        _out = [kit.note("Type at least one word.", "warn")]
    kit.panel([sentence, with_end], *_out)
    return (tokens,)


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Unknown words, the end, and the way back", ids=("N5.45", "N5.46", "N5.48")),
        kit.prose(r"""
            Three things are not words but still need numbers: a word that is **not in the dictionary**, the **end of a
            sentence**, and the padding behind it. A network that writes stops when it writes the end; without it, nobody could say
            where one sentence ends and the next begins. The dictionary works both ways, so that the numbers a network writes
            become words again.
            $$\operatorname{decode}(\operatorname{encode}(s)) = s \quad \text{for known words}$$
        """),
        kit.source(Vocabulary.decode, Vocabulary.sentences),
    )
    return


@app.cell(hide_code=True)
def _(sentence, tokens, words):
    _numbers = tokens.tolist()
    _again = words.decode(_numbers)
    _stream = [*words.encode(sentence.value, end=True).tolist(), *words.encode("the sun is shining", end=True).tolist()]
    kit.column(
        kit.table(
            ("what", "result"),
            [
                ("the sentence", sentence.value),
                ("encoded", " ".join(map(str, _numbers))),
                ("decoded", _again),
                ("decoded for readers", words.decode(_numbers, display=True)),
                ("two sentences in one stream", " ".join(map(str, _stream))),
                ("cut at every end", " | ".join(words.sentences(_stream))),
            ],
            caption="There and back, with the dictionary and the sentence from above",
        ),
        kit.facts(unknown_words=sum(k == 1 for k in _numbers), ends=sum(k == 3 for k in _numbers)),
    )
    return


@app.cell(hide_code=True)
def _():
    certainty = kit.slider(0.01, 0.99, 0.01, value=0.6, label="probability $p_k$ of the right word")
    kit.prose(r"""
        A unit vector is also an easy measure of correctness. The network answers with probabilities $p$ for all words; the
        cross entropy with the unit vector of the right word $k$ keeps a single number, $-\log p_k$. Give the right word a higher
        or lower probability and see what it costs.
    """)
    return (certainty,)


@app.cell(hide_code=True)
def _():
    kit.question(
        "Put a word into the sentence that is not in the text, such as *moon*. What does it become, and does it come back?",
        """It becomes `<unk>`, number 1, and comes back as `<unk>`: which word it was is lost. A translator can get around this by copying the
        word from the input. With characters or parts of words as tokens hardly anything is unknown.""",
        options=("Yes", "No, it comes back as unknown"),
        right=1,
        predict="A word that the dictionary does not have: does it come back from its number?",
    )
    return


@app.cell(hide_code=True)
def _(certainty):
    _n = 10
    _p = torch.full((_n,), (1 - certainty.value) / (_n - 1), dtype=torch.float64)
    _p[6] = certainty.value
    _right = torch.tensor(6)
    _loss = negative_log_likelihood(_p.log()[None], _right[None]).item()
    _whole = -(one_hot(_right, _n, torch.float64) * _p.log()).sum().item()
    _scene = kit.plot(
        f"Probabilities of ten words, the seventh is right; the loss is {_loss:.4f}",
        bars=[
            Series("answer $p$", list(range(1, _n + 1)), _p.tolist(), "line1", "bar", size=0.7),
            Series("right word $e_7$", [7], [1.0], "line3", "area", size=0.9),
        ],
        x=("word $k$", 0.4, 10.6),
        y=("", 0, 1.05),
        size=(420, 220),
        wide=600,
    )
    kit.panel([certainty], _scene, kit.facts(loss=_loss, sum_over_all_words=_whole))
    return


if __name__ == "__main__":
    app.run()
