"""Every number on the first pictures of more than twenty pages can be recomputed from what the page shows.

What is shown: the values of the widgets, the numbers of the lab, words of drawings, tables, and points and lines read
off the axes. Nothing here asks the library: the arithmetic is written out, as a reader with a calculator would do it.
"""

import json
import math
import re
from functools import cache
from html import unescape

import numpy as np
import pytest

from lamina.pages.site._prerender import _outputs
from lamina.pages.site.contents import find


def number(text):
    """Read a number as a page writes it."""
    return float(str(text).replace("−", "-").replace(",", "").rstrip("%"))


class Drawing:
    """One drawing of a page: its words and shapes, and what its axes make of places."""

    def __init__(self, label, svg):
        self.label, self.svg = unescape(label), svg
        texts = re.findall(r"<text([^>]*)>(.*?)</text>", svg, re.DOTALL)
        self.texts = [unescape(re.sub(r"<title>.*?</title>|<[^>]+>", "", inner)) for _, inner in texts]
        ticks = [(where, text) for (where, _), text in zip(texts, self.texts, strict=True)
                 if "muted" in where and re.fullmatch(r"−?[\d.,]+", text)]  # fmt: skip
        at = lambda where, key: float(re.search(rf' {key}="([^"]*)"', where)[1])  # noqa: E731
        low = max((at(where, "y") for where, _ in ticks if "middle" in where), default=0)
        self.across = [(at(w, "x"), number(t)) for w, t in ticks if 'anchor="middle"' in w and at(w, "y") == low]
        self.up = [(at(w, "y"), number(t)) for w, t in ticks if 'anchor="end"' in w]

    def _read(self, ticks, places):
        slope, offset = np.polyfit(*zip(*ticks, strict=True), 1)
        return slope * np.asarray(places) + offset

    def points(self, color):
        """Read the discs of a color off the axes."""
        found = re.findall(rf'<circle cx="([^"]*)" cy="([^"]*)" r="[^"]*" style="fill:var\(--lamina-{color},', self.svg)
        top = re.search(r'<polyline points="([\d.]+),([\d.]+) \1,([\d.]+) [\d.]+,\3"', self.svg)[2]  # the axes
        x, y = np.array([place for place in found if float(place[1]) >= float(top) - 1], dtype=float).T  # no legend
        return self._read(self.across, x), self._read(self.up, y)

    def lines(self, color):
        """Read the lines of a color off the axes."""
        found = re.findall(rf'<polyline points="([^"]*)"[^>]*stroke:[^"]*?var\(--lamina-{color},', self.svg)
        several = [np.array([pair.split(",") for pair in line.split()], dtype=float).T for line in found]
        return [(self._read(self.across, x), self._read(self.up, y)) for x, y in several]


class Shown:
    """What the first view of a page shows."""

    def __init__(self, path):
        import marimo as mo

        html = "\n".join(mo.as_html(output).text for output in _outputs(str(find(path).file)) if output is not None)
        self.html = html
        self.facts = {}
        for name, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html):
            self.facts.setdefault(unescape(name), unescape(value))
        self.values = {}
        for widget in re.findall(r"<marimo-(?:slider|dropdown|text-area|text|switch)\b[^>]*>", html):
            label = re.search(r"data-label='([^']*)'", widget)
            value = re.search(r"data-initial-value='([^']*)'", widget)
            if label and value:
                words = re.sub(
                    r"<[^>]+>|\|\||[()]", "", unescape(label[1]).replace("\\u003c", "<").replace("\\u003e", ">")
                )
                places = json.loads(
                    re.search(r"data-steps='([^']*)'|$", widget)[1] or "[]"
                )  # a slider over some values
                chosen = str(places[int(value[1])]) if places else unescape(value[1]).replace("\\n", "\n").strip('"')
                self.values.setdefault(words.replace("\\", "").strip('" '), chosen)
        drawn = re.findall(r'<div aria-label="([^"]*)"[^>]*class="lamina-svg"[^>]*>(<svg.*?</svg>)', html, re.DOTALL)
        self.drawings = [Drawing(*each) for each in drawn]

    def __getitem__(self, name):
        return number(self.facts[name])

    def value(self, label):
        return float(next(value for key, value in self.values.items() if key == label or key.endswith(" " + label)))

    def drawing(self, words):
        return next(each for each in self.drawings if words in each.label)

    def table(self, caption):
        found = next(t for t in re.findall(r"<table>.*?</table>", self.html, re.DOTALL) if caption in t)
        rows = re.findall(r"<tr>(.*?)</tr>", found, re.DOTALL)
        return [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
                for row in rows][1:]  # fmt: skip


shown = cache(Shown)


def digits(value, count=4):
    """Write a number as the pages do, to compare it with one that is shown."""
    return float(f"{value:.{count}g}")


def test_perceptron():
    page = shown("ch1/perceptron")
    z = sum(page.value(f"u_{i}") * page.value(f"W_{i}") for i in (1, 2, 3)) + page.value("b")
    assert page["sum z"] == z == 0
    assert page["answer y"] == float(z >= 0) and page["parameters"] == 3 + 1


def test_regression():
    page = shown("ch1/regression")
    u, s = page.drawing("points and your line").points("ink")
    N, offset, slope = page.value("N"), page.value("W_1"), page.value("W_2")
    wrong = offset + slope * u - s
    assert len(u) == N == 20
    assert page["loss"] == pytest.approx((wrong**2).sum() / (2 * N), rel=1e-3)
    assert page["loss as a sum"] == digits(page["loss"] * N)
    assert page["size of the gradient"] == pytest.approx(math.hypot(wrong.mean(), (wrong * u).mean()), rel=1e-3)
    best = np.polyfit(u, s, 1)
    assert page["smallest loss"] == pytest.approx(((np.polyval(best, u) - s) ** 2).sum() / (2 * N), rel=1e-2)


def test_kmeans():
    page = shown("ch1/kmeans")
    drawing = page.drawing("k-means after half step 1")
    ties = [line for color in ("line1", "line2", "line3", "line5") for line in drawing.lines(rf"{color}, #\w+\) 35%")]
    squares = sum((x[0] - x[-1]) ** 2 + (y[0] - y[-1]) ** 2 for x, y in ties if len(x) == 2)
    assert page["distortion"] == pytest.approx(squares, rel=5e-3)


def test_descent():
    page = shown("ch1/descent")
    steps, start = int(page.value("steps so far")), np.array([page.value("theta_1"), page.value("theta_2")])
    assert r"\tfrac12 (\theta_1^2 + 40\, \theta_2^2)" in page.html
    curved = np.array([1.0, 40.0])
    loss = lambda theta: (curved * theta**2).sum() / 2  # noqa: E731
    theta, rate = start, page.value("step size of gradient descent")
    for _ in range(steps):
        theta = theta - rate * curved * theta
    assert page["gradient descent"] == digits(loss(theta))
    theta, move, rate = start, np.zeros(2), page.value("step size of momentum")
    for _ in range(steps):
        move = 0.9 * move - rate * curved * theta
        theta = theta + move
    assert page["momentum"] == digits(loss(theta))
    theta, first, second, rate = start, np.zeros(2), np.zeros(2), page.value("step size of Adam")
    for k in range(1, steps + 1):
        slope = curved * theta
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        theta = theta - rate * (first / (1 - 0.9**k)) / (np.sqrt(second / (1 - 0.999**k)) + 1e-8)
    assert page["Adam"] == digits(loss(theta))


def test_overfitting():
    page = shown("ch1/overfitting")
    drawing = page.drawing("A polynomial of degree 3")
    u, s = drawing.points("line3")
    r = int(page.value("r"))
    W = np.polyfit(u, s, r)
    assert page["parameters"] == r + 1 and len(u) == page.value("N")
    assert page["error at its points"] == pytest.approx(((np.polyval(W, u) - s) ** 2).sum() / (2 * len(u)), rel=0.02)
    assert page["largest weight"] == pytest.approx(abs(W).max(), rel=0.02)


def test_selection():
    page = shown("ch1/selection")
    N = page.value("N")
    shares = [page.value(f"share of {part}") for part in ("training", "validation", "test")]
    rows = page.table("Sizes")
    assert len(rows) == 3
    assert [number(row[1]) for row in rows] == [N * share / sum(shares) for share in shares] == [400, 100, 100]
    assert all(number(row[2]) + number(row[3]) == number(row[1]) for row in rows)
    assert any({"400", "100"} <= set(each.texts) for each in page.drawings), "the bar"


def test_logic():
    page = shown("ch1/logic")
    W1, W2, b = (page.value(name) for name in ("W_1", "W_2", "b"))
    rows = page.table("OR: what the neuron says")
    for y1, y2, total, answer, wanted, verdict in rows:
        assert number(total) == W1 * number(y1) + W2 * number(y2) + b
        assert number(answer) == float(number(total) >= 0) and verdict == ("right" if answer == wanted else "wrong")
    assert page.facts["wrong"] == "0 of 4"
    size = math.hypot(W1, W2)
    assert page["margin"] == min(abs(number(row[2])) for row in rows) / size == 0


def test_approximation():
    page = shown("ch2/approximation")
    *units, last = page.table("All parameters of the network")
    W0, b0, W1 = (np.array([number(row[k]) for row in units]) for k in (1, 2, 3))
    assert page["parameters"] == 3 * len(units) + 1 == 3 * page.value("n_1") + 1
    assert page["bound of the output"] == pytest.approx(abs(W1).sum() + abs(number(last[2])), rel=1e-3)
    u = np.linspace(0, 1, 400)
    out = (W1 / (1 + np.exp(-(np.outer(u, W0) + b0)))).sum(1) + number(last[2])
    assert page["largest error"] == pytest.approx(abs(out - np.sin(4 * np.pi * u) - u).max(), abs=0.05)


def test_backpropagation():
    page = shown("ch2/backpropagation")
    values = [number(text) for text in page.drawing("The network 2-2-1").texts if re.fullmatch(r"−?\d*\.?\d+", text)]
    assert set(values) >= {1, -0.5, 0.6, 0.1, 0.5005, -0.6351, 0.1888, 0.3, 0.8, -1.1}
    y1, y2 = math.tanh(0.6 * 1 + 0.1 * -0.5), math.tanh(0.1 * 1 - 0.5 * -0.5 - 1.1)
    y = 1 / (1 + math.exp(-(0.3 * y1 + 0.8 * y2 - 1.1)))
    assert [digits(y1), digits(y2), digits(y)] == [0.5005, -0.6351, 0.1888]
    assert page["loss"] == digits(-math.log(y))
    delta = y - 1
    wanted = [delta, delta * 0.3 * (1 - y1**2), delta * 0.8 * (1 - y2**2)]
    words = " ".join(page.drawing("The network 2-2-1").texts)
    assert all(f"{value:.4g}".replace("-", "−") in words for value in wanted), words


def test_initialization():
    page = shown("ch2/initialization")
    assert page["times √n"] == pytest.approx(page["std as drawn"] * math.sqrt(page.value("n")), rel=1e-3)
    assert page["std as drawn"] == pytest.approx(page.value("standard deviation"), rel=0.05)


def test_classification():
    page = shown("ch2/classification")
    grid = next(each for each in page.drawings if "taken for" in each.texts)
    counts = [int(number(text)) for text in grid.texts if re.fullmatch(r"[\d\W]*\d", text)]
    right, lost, through, caught = counts
    assert page["accuracy"] == (right + caught) / sum(counts) and sum(counts) == 2000
    assert page["real messages lost"] == lost and page["spam that comes through"] == through


def matrix(text):
    return np.array([[number(word) for word in row.split()] for row in text.splitlines()])


def windows(Y, K):
    m, n = K.shape
    return np.array([[(Y[i : i + m, j : j + n] * K).sum() for j in range(Y.shape[1] - n + 1)]
                     for i in range(Y.shape[0] - m + 1)])  # fmt: skip


def test_convolution():
    page = shown("ch3/convolution")
    Y, K = matrix(page.values["matrix Y"]), matrix(page.values["kernel K"])
    both = windows(Y, K[::-1, ::-1]), windows(Y, K)
    texts = page.drawing("Both results").texts
    assert [number(text) for text in texts if re.fullmatch(r"−?\d+", text)] == [*both[0].flat, *both[1].flat]
    assert page["entry"] == both[0][0, 0] == 119 and page["largest difference"] == abs(both[0] - both[1]).max()
    assert page.facts["size"] == "2 × 3"


def test_pooling():
    page = shown("ch3/pooling")
    Y, m, s = matrix(page.values["matrix"]), int(page.value("m")), int(page.value("s of the pooling"))
    out = [[Y[i : i + m, j : j + m].max() for j in range(0, 4, s)] for i in range(0, 4, s)]
    assert page.drawing("max pooling gives").label.startswith("max pooling gives 4 1; 2 8.")
    assert out == [[4, 1], [2, 8]] and page.facts["result"] == "2 × 2"


def test_receptive_field():
    page = shown("ch3/receptive-field")
    r, jump = 1, 1
    for layer, m, s, below, shown_r, _ in page.table("The sum, layer by layer"):
        assert number(below) == jump, layer
        r, jump = r + (number(m) - 1) * jump, jump * number(s)
        assert number(shown_r) == r
    assert page["receptive field r"] == r == 5 and page.facts["by gradient"] == "1, 2, 3, 4, 5"


def test_normalization_over_channels():
    page = shown("ch3/lrn")
    kappa, gamma, beta, n = (
        page.value("kappa"),
        page.value("gamma"),
        page.value("beta"),
        int(page.value("n in the sum")),
    )
    y = np.full(9, page.value("activity of the other channels"))
    y[4] = page.value("activity of channel 5")
    after = [y[k] / (kappa + gamma * (y[max(0, k - n // 2) : k + n // 2 + 1] ** 2).sum()) ** beta for k in range(9)]
    assert page["channel 5"] == digits(after[4]) and page["a neighbor"] == digits(after[3])
    assert page["channel 1, at the edge"] == digits(after[0])


def test_flow():
    page = shown("ch4/euler")
    L, T = int(page.value("L")), page.value("T")
    W = np.array([[page.value(f"W_{{{i}{j}}}") for j in (1, 2)] for i in (1, 2)])
    assert page["step size"] == T / L
    angles = np.arange(8) * np.pi / 4
    start = 1.5 * np.stack([np.cos(angles), np.sin(angles)], 1)
    field = lambda y: np.tanh(y @ W.T)  # noqa: E731
    y, exact, small = start, start, T / 4000
    for _ in range(L):
        y = y + T / L * field(y)
    for _ in range(4000):
        exact = exact + small * field(exact + small / 2 * field(exact))
    assert page["largest error"] == digits(np.linalg.norm(y - exact, axis=1).max())


def test_resnet18():
    page = shown("ch4/resnet18")
    texts = page.drawing("Parameters by block").texts
    counts = {name: number(count) for name, count in zip(texts[:12:2], texts[1:12:2], strict=True)}
    assert counts["A"] == 7 * 7 * 3 * 64 + 2 * 64 and counts["fc"] == 512 * 1000 + 1000
    assert counts["B"] == 4 * (9 * 64 * 64 + 2 * 64)
    for name, wide in (("C", 128), ("D", 256), ("E", 512)):
        half = wide // 2
        assert counts[name] == 9 * half * wide + 3 * 9 * wide**2 + half * wide + 5 * 2 * wide, name
    assert page["parameters"] == sum(counts.values()) == 11_689_512


def test_dictionary():
    page = shown("ch5/dictionary")
    numbers = [int(text) for text in page.drawing("tokens of the text").texts if text.isdigit()]
    tokens = [text for text in page.drawing("tokens of the text").texts if not text.isdigit()]
    assert len(numbers) == len(tokens) == 24
    known = dict(zip(tokens, numbers, strict=True))
    assert page["words"] == len(known) == len(set(numbers)) == 16
    assert sorted(known.values()) == list(range(4, 20)) and page["entries"] == 4 + len(known)
    assert [known[word] for word in sorted(known)] == sorted(known.values()), "in the order of the alphabet"


def test_unrolling():
    page = shown("ch5/unrolling")
    w_h, w_u, b, w_out = (page.value(name) for name in ("w_h", "w_u", "b", "w_{out}"))
    states, h = [], 0.0
    for t in range(12):
        h = math.tanh(w_h * h + w_u * float(t == 0) + b)
        states.append(h)
    assert page["first state"] == digits(states[0]) and page["last state"] == digits(states[-1])
    assert page["sum of outputs"] == w_out * states[-1] - w_out * states[-1] == 0
    drawing = page.drawing("Inputs and states over 12 steps")
    t, read = drawing.lines("hidden")[-1]
    assert np.allclose(t, np.arange(1, 13), atol=0.05) and np.allclose(read, states, atol=0.005)


def test_characters():
    page = shown("ch5/characters")
    assert page.facts["perplexity"] == f"{math.exp(page['loss']):.2f}"


def test_translation():
    page = shown("ch5/translation")
    assert page["words read"] == len(page.values["your sentence in English"].split())
    assert page["words written"] == len(page.facts["German"].split())


def test_search():
    page = shown("tools/search")
    drawing = next(each for each in page.drawings if "validation accuracy" in each.texts)
    cells = [number(text) for text in drawing.texts if re.fullmatch(r"\d+\.\d", text)]
    assert page["best validation"] == max(cells)
    right = round(page["test of the best, 299 examples"] * 2.99)
    assert f"{right / 2.99:.1f}%" == page.facts["test of the best, 299 examples"]
