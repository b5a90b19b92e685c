import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Search")

with app.setup:
    import marimo as mo

    from lamina.data.splits import split
    from lamina.experiments.selection import coin_flips
    from lamina.pages import kit
    from lamina.pages.chapters.tools._shared import command, duration
    from lamina.pages.chapters.tools.search._drawing import cell_map, in_full
    from lamina.pages.chapters.tools.search._work import (
        AXES,
        FIVE,
        Board,
        Plan,
        five_space,
        means,
        one_at_a_time,
        population,
        thousand,
    )
    from lamina.populations.population import train_population
    from lamina.studies.samplers import Grid, OneAtATime
    from lamina.studies.space import Space

    NAMES = {
        "learning rate": "learning_rate",
        "penalty (L2)": "penalty",
        "momentum of Adam, beta1": "beta1",
        "dropout": "dropout",
        "scale of the initial weights": "scale",
        "share of wrong labels": "label_noise",
        "width (several shapes)": "width",
        "depth (several shapes)": "depth",
    }
    WORDS = {value: name.partition(" (")[0].partition(",")[0] for name, value in NAMES.items()}


@app.cell(hide_code=True)
def _(across, epochs, first, go, hidden, practice, searching, seed, up):
    _plan = Plan(across.value, up.value, hidden.value, epochs.value, seed.value)
    _controls = [across, up, hidden, epochs, seed, practice, *(first.elements if practice.value else ())]

    def _draw(job, plan=_plan, controls=_controls, walk=practice.value, start=tuple(first.value)):
        rows, columns = plan.shape
        row = job.rows[-1] if job.rows else None
        board = Board(row["accuracies"], row["losses"]) if row else Board.empty(rows * columns)
        cells = [board.accuracies[i * columns : (i + 1) * columns] for i in range(rows)]
        best, tried, moves, said = board.best, [], [], []
        if walk and row:
            begin = {plan.up: AXES[plan.up][start[1] - 1], plan.across: AXES[plan.across][start[0] - 1]}
            places, path = one_at_a_time(plan.space, begin, board)
            tried, moves = [divmod(place, columns) for place in places], [divmod(place, columns) for place in path]
            missed = board.error(path[-1])[0] - board.error(best)[0] if best is not None else 0.0
            said.append(
                kit.note(
                    f"One at a time: {len(places)} networks instead of {rows * columns}; it ends at "
                    f"{1 - board.error(path[-1])[0]:.1%}, {100 * missed:.1f} percentage points below the best of the grid."
                )
            )
        words = (
            "not started" if best is None else f"the best of {rows * columns} networks has {board.accuracies[best]:.1%}"
        )
        drawn = kit.svg(
            cell_map(
                cells,
                [in_full(value) for value in AXES[plan.across]],
                [in_full(value) for value in AXES[plan.up]],
                x_label=WORDS[plan.across],
                y_label=WORDS[plan.up],
                best=None if best is None else divmod(best, columns),
                tried=tried,
                moves=moves,
            ),
            f"Validation accuracy over {WORDS[plan.across]} and {WORDS[plan.up]}: {words}"
            + (f", epoch {row['epoch']}" if row else "")
            + (f"; one at a time tries {len(tried)}" if tried else ""),
        )
        facts = {}
        if row and best is not None:
            facts = {
                "best_validation": f"{board.accuracies[best]:.1%}",
                WORDS[plan.across]: in_full(AXES[plan.across][best % columns]),
                WORDS[plan.up]: in_full(AXES[plan.up][best // columns]),
                "seconds": f"{row['seconds']:.1f}",
            }
            if "test" in row:
                facts[f"test_of_the_best, {row['tested']}_examples"] = f"{row['test']:.1%}"
        if row and row.get("alone"):
            alone = row["alone"] * rows * columns
            said.append(
                kit.note(
                    f"A single network takes {row['alone']:.2f} s, so {rows * columns} one after another would take about "
                    f"{duration(alone)}; together they took {row['seconds']:.1f} s, {alone / row['seconds']:.0f} times less. "
                    + ("(Recorded on another machine.)" if job.state == "idle" else "(Measured just now, here.)"),
                    "good",
                )
            )
        elif row and row.get("shapes", 1) > 1:
            said.append(
                kit.note(f"These networks have {row['shapes']} shapes; only those of one shape could train together.")
            )
        share = row["share"] if row else 0.0
        bar = kit.progress(share, f"epoch {row['epoch']} of {row['epochs']}" if row and share < 1 else job.words)
        if job.state == "failed":
            said.append(kit.note(job.words, "bad"))
        return kit.lab(
            kit.controls("The grid", *controls),
            bar,
            drawn,
            *((kit.facts(**facts),) if facts else ()),
            *said,
            play=go,
            about="Sixty-four networks, one picture",
        )

    kit.lab(
        _controls,
        kit.note("Both axes show the same hyperparameter: choose two different ones.", "bad"),
        play=go,
        about="Sixty-four networks, one picture",
    ) if across.value == up.value else searching.show(_draw, running=go, plan=_plan, run=0)
    return


@app.cell(hide_code=True)
def _():
    across = kit.dropdown(NAMES, value="learning rate", label="across")
    up = kit.dropdown(NAMES, value="penalty (L2)", label="up")
    hidden = kit.steps([2, 4, 8, 16, 32, 64], value=16, label="hidden units")
    epochs = kit.steps([5, 10, 20, 40, 80], value=20, label="epochs")
    seed = kit.slider(0, 9, value=0, label="seed")
    go = kit.play("Search")
    searching = kit.train(population, keep="last")
    first = mo.ui.array(
        [kit.slider(1, 8, value=1, label="start: column"), kit.slider(1, 8, value=8, label="start: row")]
    )
    practice = mo.ui.switch(label="show one at a time")
    kit.column(
        kit.section("Sixty-four networks, one picture", ids=("N1.66", "N1.67", "N2.24")),
        kit.prose(r"""
            Learning rate, penalty, depth, width: hyperparameters $h$ are not learned by descent; they have to be tried. Train one
            network for each choice on the *training* part, compare them on the *validation* part, and open the *test* part
            once, for the one that was chosen. The parts are usually 4:1:1.
        """),
        kit.row(
            kit.formula(r"\theta^*(h) = \arg\min_\theta \mathscr{L}_{\text{train}}(\theta; h)", "train every choice"),
            kit.formula(
                r"h^* = \arg\min_{h \in H} \; \mathscr{E}_{\text{validation}}\big(\theta^*(h)\big)",
                "select by validation",
            ),
            kit.formula(r"\mathscr{E}_{\text{test}}\big(\theta^*(h^*)\big)", "test once"),
            least=280,
        ),
        kit.prose(r"""
            Each cell below is a network that learns to read digits (1,797 pictures of 8 × 8 points): eight values of one
            hyperparameter run across, eight of another one run up. All networks of one shape are computed **as one**: their weights
            lie in one tensor with a first axis of length 64, and every update is one batched product. Dark is good, the
            frame marks the best.
        """),
        kit.source(split, train_population),
    )
    return across, epochs, first, go, hidden, practice, searching, seed, up


@app.cell(hide_code=True)
def _():
    kit.question(
        r"""Search over learning rate and penalty. How many cells are within one percentage point of the best? Then search over *depth* and
        *width*: is the largest network the best one?""",
        r"""About fifteen of 64, a whole region: learning rates from 0.01 to 0.03 with any small penalty. One validation example is a third of a
        percentage point, so differences inside the region are luck. Depth and width must be found by experiment (57 shapes, so it takes
        minutes): without a hidden layer 91% are right; networks of up to 8 units fail, the deeper the worse; with 64 or 128
        units every depth reaches 96 to 99%. The largest one, depth 8 and 128 units, reaches 97.7% and is not the best.""",
        options=("Yes", "No"),
        right=1,
        predict="Is the largest network, depth 8 with 128 units, the best one?",
    )
    return


@app.cell(hide_code=True)
def _():
    many = kit.slider(1, 8, value=5, label="hyperparameters $k$")
    each = kit.slider(2, 6, value=4, label="values of each, $n$")
    minutes = kit.slider(1, 60, value=10, label="minutes for one training")
    kit.column(
        kit.section("One at a time", ids=("N1.70",)),
        kit.prose(r"""
            Nobody trains whole grids manually. The usual practice is to change **one** hyperparameter, keep its best value, and continue
            with the next one. That costs the sum of the numbers of values, not their product. Switch *show one at a time* on
            above: dashed cells are those that it tries, the arrow shows its path, and the start is yours to choose. It needs no
            new training, because every cell is known already.
        """),
        kit.formula(
            r"\underbrace{1 + \sum_{j=1}^{k} (n_j - 1)}_{\text{one at a time}} \qquad \text{instead of} \qquad \underbrace{\prod_{j=1}^{k} n_j}_{\text{grid}}",
            "networks to train for $k$ hyperparameters with $n_j$ values each",
        ),
        kit.source(Grid, OneAtATime),
    )
    return each, many, minutes


@app.cell(hide_code=True)
def _():
    kit.question(
        r"In the first picture, from which starts does one at a time miss the best cell, and why?",
        r"""It settles the penalty first, for the learning rate of the start, and never looks at it again. At a rate of 0.001 (column 3,
        with the default settings) training is unfinished, the largest penalties look best, and the walk ends about one
        percentage point below the best. The two interact: what is best for one depends on the other. Where every row has its
        maximum in the same column, any start would find it.""",
        options=("Yes", "No"),
        right=1,
        predict="Does one at a time find the best cell from every start?",
    )
    return


@app.cell(hide_code=True)
def _(each, many, minutes):
    _space = Space.of({f"h{i}": list(range(each.value)) for i in range(many.value)})
    _grid, _single = _space.size, OneAtATime().total(_space)
    kit.panel(
        [many, each, minutes],
        kit.facts(
            grid=f"{kit.power(each.value, many.value)} = {_grid:,}",
            one_at_a_time=_single,
            days_for_the_grid=_grid * minutes.value / 1440,
            hours_one_at_a_time=_single * minutes.value / 60,
        ),
        kit.note(
            f"{many.value} hyperparameters with {each.value} values: {_grid:,} networks in the grid, {_single} one at a time."
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    all_go = kit.play("Train all 1,024")
    stacking = kit.train(thousand, keep="last")
    kit.column(
        kit.section("All 1,024 at once", ids=("N1.69", "N1.71")),
        kit.prose(r"""
            The example of the notes: five hyperparameters with four values each make $4^5 = 1{,}024$ combinations. Here they
            are, on two moons with small networks, as **one** stack of 1,024 networks. The four large blocks across are learning rates;
            within a block the columns are the four values of $\beta_1$, and within those come the four penalties. The four bands up are
            dropout rates, within them are the scales of the initial weights. Red frames: the 16 networks of one at a time,
            starting at the first value of everything.
        """),
        kit.source(five_space, thousand),
    )
    return all_go, stacking


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Which of the five hyperparameters matters, and which could have been left at its default?",
        r"""The learning rate decides almost everything: its four means are far apart. $\beta_1$, the penalty and dropout hardly
        change the mean; the defaults of Adam are good for them. So try the learning rate first, and the rest only if
        there is time. With 50 validation points one point is 2%, so many networks share the first place.""",
        options=("The learning rate", "The penalty", "Dropout"),
        right=0,
    )
    return


@app.cell(hide_code=True)
def _(all_go, stacking):
    def _draw(job, switch=all_go):
        row = job.rows[-1] if job.rows else None
        board = Board(row["accuracies"], row["losses"]) if row else Board.empty(1024)
        best = board.best
        tried, path = one_at_a_time(five_space(), {k: v[0] for k, v in FIVE.items()}, board) if row else ([], [0])
        words = "not started" if best is None else f"the best has {board.accuracies[best]:.1%}, epoch {row['epoch']}"
        drawn = kit.svg(
            cell_map(
                [board.accuracies[i * 64 : (i + 1) * 64] for i in range(16)],
                [in_full(value) for value in FIVE["learning_rate"]],
                [f"{value:g}" for value in FIVE["dropout"]],
                x_label=r"learning rate, then $\beta_1$, then penalty",
                y_label="dropout, then scale",
                best=None if best is None else divmod(best, 64),
                tried=[divmod(place, 64) for place in tried],
                width=640,
                height=320,
            ),
            f"Validation accuracy of 1,024 networks: {words}",
            width=1100,
        )
        parts = []
        if row and best is not None:
            parts = [
                kit.facts(
                    **{"best_of_1,024": f"{board.accuracies[best]:.1%}"},
                    one_at_a_time_finds=f"{1 - board.error(path[-1])[0]:.1%}",
                    its_networks=len(tried),
                    seconds=f"{row['seconds']:.1f}",
                ),
                kit.table(
                    ("hyperparameter", "first", "second", "third", "fourth"),
                    means(board),
                    caption="Mean validation accuracy over the 256 networks with that value; ★ the best",
                ),
            ]
        if job.state == "failed":
            parts.append(kit.note(job.words, "bad"))
        share = row["epoch"] / row["epochs"] if row else 0.0
        return kit.column(switch, kit.progress(share, job.words), drawn, *parts)

    stacking.show(_draw, running=all_go, run=0)
    return


@app.cell(hide_code=True)
def _():
    _flips = coin_flips(seeds=40, models=(1, 16, 64, 1024))
    kit.column(
        kit.section("The more you try, the luckier the best one looks", ids=("N1.68",)),
        kit.prose(r"""
            The accuracy with which a network was *chosen* flatters it. The extreme case is a set of networks that guess: each is right on
            each of 100 points with probability $\frac12$. The best of 1,024 looks skilled on the points that selected it,
            and is a coin on fresh ones. That is why the test part above was opened for the chosen network only, and once.
        """),
        kit.question(
            "Compare the two columns of the table.",
            r"About 66%: the best of 1,024 lies some 3.2 standard deviations above one half, and one of them is $\sqrt{0.25 / 100} = 0.05$. On fresh points it is a coin again.",
            options=("50%", "About 66%", "About 90%"),
            right=1,
            predict="Each of 1,024 networks tosses a coin on 100 points. How often is the luckiest one right?",
        ),
        kit.table(
            ("networks to choose from", "accuracy of the best where it was chosen", "the same one on fresh points"),
            [(row[0], row[1], row[3]) for row in _flips.rows],
            caption="Means over 40 draws",
        ),
        kit.source(coin_flips),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("On the command line", ids=()),
        kit.prose(r"""
            The same search, with as many hyperparameters as you like, halving, random and model-based proposals, several
            processes, resume and a report:
        """),
        command("lamina search fnn learning_rate=1e-4..3e-1:log penalty=0,1e-4,1e-3 --data digits --random 200"),
        kit.recorded(
            "depth_and_width",
            "With 32 units every further layer helps, from a loss of {width 32[0]:.2f} to {width 32[2]:.4f}; with 2 units it hurts, from {width 2[0]:.2f} to {width 2[2]:.2f}.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kit.question(
        "Depth and width on two spirals: which of these networks would you choose if it must be small?",
        """Depth 3 with 32 units or depth 4 with 16 have about the same loss, but the second one has fewer weights. Below a width
        of 4 more depth makes it worse: everything must pass through the narrow layers.""",
        options=("Yes", "No, it makes it worse"),
        right=1,
        predict="A width of 2: does more depth help?",
    )
    return


if __name__ == "__main__":
    app.run()
