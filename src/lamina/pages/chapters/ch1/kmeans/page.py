import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Clusters without a teacher")

with app.setup:
    from itertools import islice

    import torch

    from lamina.classical import kmeans, pca
    from lamina.data.synthetic import blobs, moons
    from lamina.drawing.charts import Series
    from lamina.experiments.figures_data import kmeans_panels, kmeans_steps
    from lamina.functional.random import as_generator
    from lamina.pages import kit
    from lamina.pages.chapters.ch1.kmeans._drawing import clusters, following, plane

    F64 = torch.float64
    LAST = 24
    DATA = {
        "four clouds": lambda: blobs(80, classes=4, spread=0.9, seed=1).inputs.double(),
        "two clouds, as in Fig. 4": lambda: kmeans_steps()[0],
        "two moons": lambda: moons(80, noise=0.08, seed=0).inputs.double(),
        "four corners of a rectangle": lambda: torch.tensor(
            [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]], dtype=F64
        ),
    }

    def choices():
        """Make widgets for the data, the number of clusters and the first centroids."""
        return (
            kit.dropdown(list(DATA), value="four clouds", label="data"),
            kit.slider(1, 6, 1, value=4, label="clusters $k$"),
            kit.dropdown(list(kmeans.STARTS), value="random", label="first centroids"),
        )


@app.cell(hide_code=True)
def _(begin, data, firsts, groups, half, moves, points, refused, start, walk, whole):
    _n = half.value
    _now = walk[_n - 1] if _n else None
    _centroids = firsts if _now is None else _now.centroids
    _moves = [firsts, *(step.centroids for step in walk[:_n] if step.kind == "update")]
    _trails = [[stage[j].tolist() for stage in _moves] for j in range(len(firsts))]
    _kind = "the start" if _now is None else ("points assigned" if _now.kind == "assign" else "centroids moved")
    _all = [step.distortion.item() for step in walk]
    _still = next((i for i in range(2, LAST, 2) if torch.equal(walk[i].labels, walk[i - 2].labels)), None)
    _curve = kit.chart(
        [Series("distortion", list(range(1, LAST + 1)), _all, "line6", "step", size=1.6)],
        [
            Series("after assigning", [i + 1 for i in range(0, LAST, 2)], _all[::2], "line1", size=3.0),
            Series("after moving", [i + 1 for i in range(1, LAST, 2)], _all[1::2], "line2", size=3.0),
            *([Series("", [_n], [_all[_n - 1]], "ink", "ring", size=6.0)] if _n else []),
        ],
        x=("half step", 0.5, LAST + 0.5),
        y=("", 0, 1.08 * max(_all) + 1e-9),
        size=kit.BESIDE,
    )
    _label = "no assignment yet" if _now is None else f"distortion {_now.distortion.item():.2f}"
    _picture = clusters(
        points.tolist(),
        None if _now is None else _now.labels.tolist(),
        _centroids.tolist(),
        _trails,
        around=whole,
        size=kit.MAIN,
    )
    _end = "runs on" if _still is None else f"nothing changes from half step {_still + 1} on"
    kit.lab(
        kit.controls("Data, clusters and half steps", data, groups, begin, start, moves, *refused),
        kit.row(
            kit.svg(
                _picture,
                f"k-means after half step {_n}, {_kind}: {_label}.",
                caption=f"Half step {_n}: {_kind}. {'Dashed: the path of each centroid. ' if _n > 1 else ''}Drag a point.",
                hands=kit.data_hands(_picture, points.tolist(), *whole, **following(firsts.tolist(), _n)),
            ),
            kit.svg(_curve, f"The distortion after each half step; it never rises; {_end}."),
            least=300,
        ),
        kit.facts(
            distortion="—" if _now is None else _now.distortion.item(),
            done_at_half_step="—" if _still is None else _still + 1,
        ),
        play=half,
        about="k-means, half a step at a time",
    )
    return


@app.cell(hide_code=True)
def _():
    turn = kit.slider(0, 180, 5, value=30, label="turned by (degrees)")
    long = kit.slider(1, 4, 0.25, value=2.5, label="how much longer than wide")
    cloud = kit.moved_points("moved points of the cloud")
    kit.column(
        kit.section("Only inputs", ids=("N1.29", "N1.30")),
        kit.prose(r"""
            Without a teacher there are only inputs $u^{(1)}, \ldots, u^{(N)} \in \mathbb{R}^d$, and the task is to find structure in them.
            Two examples: **principal component analysis** finds the directions in which the data vary most, and **clustering**
            divides them into $k \le N$ groups, usually far fewer than there are points. Every point belongs to one
            group, $c^{(i)} \in \{1, \ldots, k\}$, and every group has a center $\mu_j$.
            $$c \in \{1, \ldots, k\}^N, \qquad \mu_1, \ldots, \mu_k \in \mathbb{R}^d$$
            The directions come first. Turn and stretch a cloud, or drag one of its points, and watch them follow.
        """),
        kit.source(pca.fit),
    )
    return cloud, long, turn


@app.cell(hide_code=True)
def _():
    kit.question(
        "When the cloud is as wide as it is long, what are its main directions?",
        "Any two that are perpendicular: the variances are nearly equal, and which direction wins is a matter of chance. The sum of both variances never depends on the rotation.",
        options=("Horizontal and vertical", "Any two perpendicular ones", "There are none"),
        right=1,
    )
    return


@app.cell(hide_code=True)
def _(cloud, long, turn):
    _plain = torch.randn(120, 2, generator=as_generator(0), dtype=F64) * torch.tensor([long.value, 1.0], dtype=F64)
    _angle = torch.deg2rad(torch.tensor(float(turn.value), dtype=F64))
    _rotation = torch.stack([torch.stack([_angle.cos(), _angle.sin()]), torch.stack([-_angle.sin(), _angle.cos()])])
    _points, _refused = kit.taken(_plain @ _rotation, cloud.value)
    _found = pca.fit(_points)
    _arms = []
    for _k, _color in ((0, "line2"), (1, "line1")):
        _arm = 2 * _found.explained_variance[_k].sqrt() * _found.components[_k]
        _ends = torch.stack([_found.mean - _arm, _found.mean + _arm])
        _arms.append(Series(f"direction {_k + 1}", *_ends.T.tolist(), _color, size=3.0))
    _scene = kit.chart(
        _arms,
        [Series("", *_points.T.tolist(), "line6!60", size=2.4, titles=kit.point_titles(len(_points)))],
        x=("$u_1$", -9, 9),
        y=("$u_2$", -6.5, 6.5),
        size=(400, 300),
    )
    _share = (_found.explained_variance / _found.total_variance).tolist()
    kit.panel(
        kit.controls("The cloud", turn, long, cloud, *_refused),
        kit.svg(
            _scene,
            f"A cloud and its two main directions; the first holds {100 * _share[0]:.1f} percent of the variance.",
            hands=kit.data_hands(
                _scene, _points.tolist(), (-9, 9), (-6.5, 6.5), into="moved-points-of-the-cloud", follow="directions"
            ),
        ),
        kit.facts(
            variance_along_1=_found.explained_variance[0].item(),
            variance_along_2=_found.explained_variance[1].item(),
            total=_found.total_variance,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    data, groups, begin = choices()
    start = kit.slider(0, 30, 1, value=4, label="which start")
    half = kit.walk(0, LAST, value=1, label="half steps")
    kit.column(
        kit.section("k-means, half a step at a time", ids=("N1.31", "N1.32")),
        kit.prose(r"""
            Start with $k$ centroids anywhere, for example on $k$ of the points. Then repeat two half steps until no point changes its
            cluster: **assign** every point to the nearest centroid, and **move** every centroid to the mean of its points.
        """),
        kit.row(
            kit.formula(r"c^{(i)} \leftarrow \arg\min_j \big\| u^{(i)} - \mu_j \big\|^2", "assign"),
            kit.formula(
                r"\mu_j \leftarrow \frac{\sum_i 1_{\{c^{(i)} = j\}}\, u^{(i)}}{\sum_i 1_{\{c^{(i)} = j\}}}", "move"
            ),
            kit.formula(r"\mathscr{L}(c, \mu) = \sum_{i=1}^N \big\| u^{(i)} - \mu_{c^{(i)}} \big\|^2", "distortion"),
            least=250,
        ),
        kit.prose(r"""
            What both half steps reduce, or leave unchanged, is the distortion: the sum of the squared lengths of the thin lines in
            the picture. There are only finitely many assignments, so the algorithm comes to an end. The notes omit two
            rules ([E13](/errata#E13)): among equally near centroids the first one wins, and the centroid of an empty cluster, whose
            mean would be $0/0$, stays where it is.
        """),
        kit.source(kmeans.assign, kmeans.update, kmeans.distortion, kmeans.half_steps),
    )
    return begin, data, groups, half, start


@app.cell(hide_code=True)
def _(data):
    given = DATA[data.value]()
    moves = kit.moved_points()  # other data begin with no point moved
    return given, moves


@app.cell(hide_code=True)
def _(begin, given, groups, moves, start):
    points, refused = kit.taken(given, moves.value)
    whole = plane(given.tolist())
    # The first centroids are points as they were, so that they stay where they are when a point is dragged.
    firsts = kmeans.first_centroids(given, min(groups.value, len(given)), begin.value, seed=start.value)[0]
    walk = list(islice(kmeans.half_steps(points, firsts), LAST))
    return firsts, points, refused, walk, whole


@app.cell(hide_code=True)
def _():
    kit.question(
        "Take two moons and two clusters and run to the end. Does k-means find the moons?",
        """No. It cuts the plane along the perpendicular bisector of the two centroids, always a straight border, and each moon loses its
        tip to the other one. The distortion is small, and yet these are not the groups that we see: the loss decides what a
        cluster is.""",
        options=("Yes", "Yes, but only from a good start", "No"),
        right=2,
        predict="Does k-means with two clusters find the two moons?",
    )
    return


@app.cell(hide_code=True)
def _():
    where, parts, way = choices()
    runs = kit.slider(1, 200, 1, value=50, label="restarts", debounce=True)
    kit.column(
        kit.section("Caught in a local minimum", ids=("N1.33",)),
        kit.prose(r"""
            Where the algorithm ends depends on where it starts, because the distortion is not convex in $(c, \mu)$. The usual remedy is to run
            it many times and keep the run with the smallest distortion. That makes a bad end less likely; it
            does not rule it out ([E13](/errata#E13)). On the corners of a 4 by 1 rectangle, two clusters can stop at 1 or at 16.
        """),
        kit.source(kmeans.fit),
    )
    return parts, runs, way, where


@app.cell(hide_code=True)
def _():
    kit.question(
        "On the four corners with two clusters: what share of the runs ends at 16? Does k-means++ help?",
        r"""A random start takes two of the four corners. Of the six pairs, the two that share a short side lead to the bad end, so
        about a third of the runs stop at 16. k-means++ prefers points far from the first: a pair on a short side has squared distance
        1, against 16 and 17, so it is chosen only about 1 time in 34.""",
        options=("None", "About a third", "About a half"),
        right=1,
        predict="What share of the random starts ends at 16, the bad end?",
    )
    return


@app.cell(hide_code=True)
def _(parts, runs, way, where):
    _points = DATA[where.value]()
    _found = kmeans.fit(_points, min(parts.value, len(_points)), start=way.value, restarts=runs.value, seed=0)
    _ends = _found.distortions
    _low, _high = _ends.min().item(), _ends.max().item()
    _found_it = _ends <= _low * (1 + 1e-9) + 1e-12
    _count = int(_found_it.sum())
    _order = _ends.sort().values.tolist()
    _next = f"{_order[_count]:.2f}" if _count < runs.value else "—"
    _near = int((_ends <= 1.01 * _low + 1e-12).sum())
    _groups = (
        (f"the best: {_count}", 0, _count, "line2", ""),
        (f"within 1%: {_near - _count}", _count, _near, "line5", ""),
        (f"the others: {runs.value - _near}", _near, runs.value, "line1", "ring"),
    )
    _bars = kit.plot(
        f"Final distortions of {runs.value} runs, sorted: {_count} reach the best, {_low:.2f}; the worst is {_high:.2f}. {_near} come within 1% of the best.",
        points=[
            Series(words, list(range(first + 1, last + 1)), _order[first:last], color, style, size=2.6)
            for words, first, last, color, style in _groups
            if last > first
        ],
        x=("runs, sorted", 0, runs.value + 1),
        y=("distortion at the end", 0, 1.08 * _high + 1e-9),
        size=(330, 280),
    )
    kit.panel(
        kit.controls("Data and restarts", where, parts, way, runs),
        kit.row(
            kit.svg(
                clusters(_points.tolist(), _found.labels.tolist(), _found.centroids.tolist(), size=(350.0, 300.0)),
                f"The best of {runs.value} runs, distortion {_found.distortion:.2f}.",
            ),
            _bars,
            least=300,
        ),
        kit.facts(
            best=f"{_low:.2f}",
            next_best=_next,
            worst=f"{_high:.2f}",
            runs_that_found_it=f"{_count} of {runs.value}",
            within_1_percent=f"{_near} of {runs.value}, {_near / runs.value:.0%}",
            moves_of_the_best=_found.iterations,
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    _points, _steps = kmeans_steps()
    kit.column(
        kit.section("The figure of the notes", ids=("N1.34",)),
        kit.prose(r"""
            Six pictures of one run with two clusters: the data, two centroids drawn at random, and two rounds of assigning and
            moving. The same run can be seen above under *two clouds, as in Fig. 4* with two clusters and start number 3.
            $$\mathscr{L}(c, \mu) \;\ge\; \mathscr{L}(c', \mu) \;\ge\; \mathscr{L}(c', \mu')$$
        """),
        kit.svg(
            kmeans_panels(),
            "Six panels: data, random centroids, assigned, moved, assigned again, moved again; the distortion falls from "
            f"{_steps[0].distortion.item():.1f} to {_steps[3].distortion.item():.1f}.",
            width=980,
        ),
        kit.source(kmeans_steps),
    )
    return


if __name__ == "__main__":
    app.run()
