"""Explanations find what the data were made of: a bright square, a column, a word."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

import lamina
from lamina._errors import ArgumentError
from lamina.training.explanations import Explanation
from lamina.training.folder import RunFolder


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """A network that says whether there is a bright square on the left or on the right of a noisy picture."""
    g = torch.Generator().manual_seed(0)
    pictures = (torch.rand(240, 1, 16, 16, generator=g) * 120).to(torch.uint8)
    labels = torch.randint(2, (240,), generator=g)
    rows = torch.randint(0, 12, (240,), generator=g)
    for picture, label, row in zip(pictures, labels, rows, strict=True):
        left = 1 if label == 0 else 11
        picture[0, row : row + 4, left : left + 4] = 255
    data = lamina.load((pictures.numpy(), np.array(["left", "right"])[labels.numpy()]))
    net = lamina.build("lenet5", inputs=(1, 16, 16), outputs=2, activation="relu")
    recipe = lamina.Recipe(lamina.Adam(3e-3), epochs=12, batch_size=16)
    run = lamina.fit(net, data, recipe, folder=tmp_path_factory.mktemp("runs") / "squares")
    return run, pictures, labels, rows


def test_the_heat_lies_on_the_square(squares):
    run, pictures, labels, rows = squares
    hits = {"Grad-CAM": 0, "saliency": 0, "occlusion": 0}
    found = run.explain(pictures[:40])
    for each, label, row in zip(found, labels.tolist(), rows.tolist(), strict=False):
        assert each.answer.split()[0] == each.of and [*each.maps] == [*hits]
        side = slice(0, 7) if label == 0 else slice(9, 16)
        for method, heat in each.maps.items():
            near = heat.clamp(min=0)[max(0, row - 2) : row + 6, side].sum() / heat.clamp(min=0).sum()
            hits[method] += bool(near > 7 * 8 / 256)  # more than its share of the area
    assert min(hits.values()) >= 32, hits


def test_a_class_that_is_asked_for_gets_its_own_heat(squares):
    run, pictures, *_ = squares
    (left,), (right,) = (run.explain(pictures[:1], of=name) for name in ("left", "right"))
    assert left.of == "left" and right.of == "right" and left.answer == right.answer
    # before the softmax the scores of two classes differ, and so do their maps
    assert not torch.allclose(left.maps["occlusion"], right.maps["occlusion"])
    with pytest.raises(ArgumentError, match="`of` must be one of left, right, got 'rihgt'; did you mean 'right'"):
        run.explain(pictures[:1], of="rihgt")


def test_the_report_shows_the_heat_of_its_mistakes(squares, tmp_path):
    run, *_ = squares
    found = run.evaluate()
    home = RunFolder(run.folder)
    kept = home.json("evaluation")
    assert all(row["why"].startswith("data:image/png;base64,") for row in found.worst)
    label, guess = "left", "right"
    mistake = {"index": 0, "label": label, "guess": guess, "confidence": 0.9, "picture": _pixel(), "why": _pixel()}
    home.write_json("evaluation", kept | {"worst": [mistake]})
    text = lamina.write_report(run.folder).read_text()
    home.write_json("evaluation", kept)
    assert text.count('alt="in red what speaks for right"') == 1 and "in red, what speaks for the guess" in text


def _pixel():
    from lamina.data.pictures import thumbnail

    return thumbnail(torch.zeros(1, 2, 2, dtype=torch.uint8))


def test_mistakes_are_explained_by_the_class_they_were_taken_for(squares):
    untrained = lamina.build("lenet5", inputs=(1, 16, 16), outputs=2, activation="relu", seed=5).eval()
    run = replace(squares[0], model=untrained)
    judged = run.task.judge(run, run.split.validation)
    assert judged["worst"] and all(row["why"] != row["picture"] for row in judged["worst"])


def test_columns_of_a_linear_network_add_up_in_the_units_of_the_target(tmp_path):
    """y = 100 + 30 a - 20 b, with c of no use: contributions are 30 (a - mean) and -20 (b - mean)."""
    g = np.random.default_rng(0)
    a, b, c = g.normal(2, 1, 400), g.normal(-1, 3, 400), g.normal(0, 1, 400)
    y = 100 + 30 * a - 20 * b
    text = "a,b,c,y\n" + "".join(f"{p},{q},{r},{t}\n" for p, q, r, t in zip(a, b, c, y, strict=True))
    (tmp_path / "t.csv").write_text(text)
    data = lamina.load(tmp_path / "t.csv", target="y")
    net = lamina.build("fnn", inputs=3, outputs=1, hidden=())
    run = lamina.fit(net, data, lamina.Recipe(lamina.Adam(0.05), epochs=150, batch_size=64), folder=tmp_path / "run")
    (tmp_path / "new.csv").write_text("a,b,c\n3,1,5\n")
    (found,) = run.explain(str(tmp_path / "new.csv"))
    train = run.split.train.take(torch.arange(len(run.split.train)))[0].double().mean(0)
    adds = {name: number for name, _, number in found.parts}
    assert [name for name, _, _ in found.parts][-1] == "c" and found.of == "y"
    assert adds["a"] == pytest.approx(30 * (3 - train[0].item()), rel=0.02)
    assert adds["b"] == pytest.approx(-20 * (1 - train[1].item()), rel=0.02)
    assert dict((name, value) for name, value, _ in found.parts)["a"] == "3.0"
    assert found.lines()[0].split() == ["b", "=", "1.0", f"{adds['b']:+.3g}"] and "compared with its mean" in found.unit


def test_categories_count_as_their_column(tmp_path):
    colors = ("red", "blue", "green")
    rows = "".join(
        f"{c},{i / 7 + j / 100},{'yes' if c == 'red' else 'no'}\n" for i in range(60) for j, c in enumerate(colors)
    )
    (tmp_path / "t.csv").write_text("color,size,label\n" + rows)
    data = lamina.load(tmp_path / "t.csv", target="label")
    run = lamina.fit(
        lamina.build("fnn", inputs=4, outputs=2, hidden=(8,)),
        data,
        lamina.Recipe(lamina.Adam(0.02), epochs=20),
        folder=tmp_path / "run",
    )
    (tmp_path / "new.csv").write_text("color,size\nred,4.05\n")
    (found,) = run.explain(str(tmp_path / "new.csv"))
    assert found.of == "yes" and found.parts[0][:2] == ("color", "red") and found.parts[0][2] > 0
    assert [name for name, _, _ in found.parts] == ["color", "size"]


def test_the_word_that_decides_stands_out(tmp_path):
    words = {"good": ("great", "lovely"), "bad": ("dull", "awful")}
    rows = [f"the film number {i} was {words[label][i % 2]} today,{label}\n" for i in range(80) for label in words]
    (tmp_path / "t.csv").write_text("review,label\n" + "".join(rows))
    data = lamina.load(tmp_path / "t.csv", target="label", text="review")
    net = lamina.build("many-to-one", inputs=200, outputs=2, hidden=8, embedding=8, padding=0)
    recipe = lamina.Recipe(lamina.Adam(0.01), epochs=6, batch_size=16)
    run = lamina.fit(net, data, recipe, folder=tmp_path / "run")
    texts = ["the film number 3 was lovely today", "the film number 3 was dull today"]
    good, bad = run.explain(texts, of="good")
    assert [part[0] for part in good.parts][-2:] == ["today", "end"] and good.text
    assert good.answer.startswith("good (") and bad.answer.startswith("bad (") and bad.title.endswith("why good?")
    for_, against = (
        dict((word, adds) for word, _, adds in good.parts),
        dict((word, adds) for word, _, adds in bad.parts),
    )
    assert for_["lovely"] > 0 > against["dull"]
    assert against["dull"] == min(against.values())


def test_drawings_are_written(squares, tmp_path):
    run, pictures, _, _ = squares
    run.explain(pictures[:1])[0].save(tmp_path / "why.png")
    with Image.open(tmp_path / "why.png") as picture:
        assert picture.width > 600
    table = Explanation("row 1", "3.5", "y", "units", parts=(("a", "1", 2.0), ("b", "", -1.0)))
    assert table.title == "row 1: 3.5, why y?" and repr(table) == "Explanation(row 1: 3.5, why y?)"
    assert re.findall(r">([^<>]+)</text>", table._repr_svg_())[:3] == ["row 1: 3.5, why y?", "a = 1", "+2"]


def test_what_cannot_be_explained_gets_a_sentence(tmp_path):
    split = lamina.load("phrasebook").split(seed=0)
    net = lamina.build("seq2seq", inputs=300, outputs=249, hidden=4)
    run = lamina.fit(net, split, lamina.Recipe(epochs=1, batch_size=32), folder=tmp_path / "run")
    with pytest.raises(ArgumentError, match="explanations are for one class, .* the run was trained for translation"):
        run.explain("good morning")
