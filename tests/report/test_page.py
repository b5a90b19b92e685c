"""The page: what stands in it, that it cannot be injected into, and that it is well formed and alone."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import torch

from lamina.report.render import render
from report.samples import CONFIG, EVALUATION, PIXEL, PREPROCESS, ROWS, SPEC, STATUS, regression


def tree(page: str) -> ElementTree.Element:
    """Read a page as XML, which is stricter than HTML: every element is closed, every attribute quoted and unique."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def section(page: str, name: str) -> ElementTree.Element:
    return next(node for node in tree(page).iter("section") if words(node.find("h2")) == name)


def sections(page: str) -> list[str]:
    return [words(node) for node in tree(page).iter("h2")]


def test_first_screen(make):
    page = render(make("fnn-iris"))
    header = tree(page).find(".//header")
    assert words(header.find(".//h1")) == "fnn on iris"
    text = words(header)
    assert "Run runs/fnn-iris" in text and "Feedforward network, eq. (2) (§2, N2.04) with 43 parameters." in text
    assert "iris: 100 training, 25 validation and 20 test examples" in text
    assert "85.0%test accuracy95% interval 64.0% to 94.8%" in text
    assert "test loss0.4321" in text and "test macro F10.8412" in text and "best epoch2 of 3" in text
    assert "training time3.2 s" in text
    assert [i.get("style") for i in header.iterfind(".//div[@class='split']/i")] == ["--n:100", "--n:25", "--n:20"]
    assert "<strong>Training ended:</strong> all 3 epochs were done." in page
    assert '<p class="say">The test split (20 examples) was opened once, after training.</p>' in page


def test_order_of_sections(make):
    rows = [{**row, "gradients": {"layer": 0.5}} for row in ROWS]
    names = [
        "Learning curves",
        "On the test split",
        "Gradients by layer",
        "The network",
        "Parameters",
        "How it was made",
        "Do it again",
    ]
    assert sections(render(make(rows=rows))) == names


def curves(node: ElementTree.Element) -> list[str]:
    """Give the points of the curves, which are the lines of width 2."""
    return [line.get("points") for line in node.iter("polyline") if line.get("stroke-width") == "2"]


def test_curves_of_the_history(make):
    found = section(render(make()), "Learning curves")
    loss, accuracy, rate = found.findall(".//figure")
    # x = 46, 209, 372; y = 198 - 182 v on a scale from 0 to 1.
    assert curves(loss) == ["46,16 209,107 372,152.5", "46,52.4 209,125.2 372,88.8"]
    assert words(loss.find("ul")) == "training 0.5000validation 0.4000"
    assert curves(rate) == ["46,16 209,16 372,16"]
    assert words(accuracy.find("ul")) == "training 75.0%validation 80.0%"
    assert loss.find(".//polyline[@stroke-dasharray]").get("points") == "209,12 209,198"
    assert rate.find(".//polyline[@stroke-dasharray]") is None and "best" not in words(rate.find(".//svg"))
    assert "2 (best)" in words(found.find("details"))


def test_nan_in_the_history_is_a_gap(make):
    rows = [dict(row) for row in ROWS]
    rows[1]["loss"] = None
    loss = section(render(make(rows=rows)), "Learning curves").find(".//figure")
    assert [len(line.split()) for line in curves(loss)] == [3]
    assert "training –validation 0.4000" in words(loss.find("ul"))


def test_one_check_only(make):
    page = render(make(rows=ROWS[:1], status={"state": "running"}))
    found = section(page, "Learning curves")
    assert curves(found) == [] and "There is only one check." in words(found)


def test_parameters(make):
    text = words(section(render(make()), "Parameters"))
    assert "layers.0.affine.weight5×4202.23646.5%" in text and "total436.708100%" in text


def test_very_many_parameters_are_joined_and_listed_on_demand(make):
    weights = {f"layer{i}.{j}.weight": torch.ones(2) for i in range(2) for j in range(21)}
    found = section(render(make(weights=weights)), "Parameters")
    assert "layer0several424.58" in words(found.find("div")).replace("6.481", "4.58") or "layer0several42" in words(
        found
    )
    assert words(found.find("details/summary")) == "All 42 tensors"


def test_gradients_on_a_logarithmic_scale(make):
    rows = [{**row, "gradients": {"first": 10.0 ** -(i + 1), "<last>": 1.0}} for i, row in enumerate(ROWS)]
    found = section(render(make(rows=rows)), "Gradients by layer")
    assert curves(found) == ["46,76.67 209,137.33 372,198", "46,16 209,16 372,16"]
    assert words(found.find(".//ul")) == "first 0.001<last> 1"


def test_gradients_of_very_many_layers_name_some(make):
    rows = [{**row, "gradients": {f"l{i}": 1.0 + i for i in range(100)}} for row in ROWS]
    found = section(render(make(rows=rows)), "Gradients by layer")
    assert "24 of 100 are named." in words(found) and len(found.findall(".//li")) == 24
    assert len(curves(found)) == 100


def test_gradients_that_vanish_entirely_are_left_out(make):
    rows = [{**row, "gradients": {"first": 0.0}} for row in ROWS]
    assert "Gradients by layer" not in sections(render(make(rows=rows)))


def test_commands_and_tables_of_how_it_was_made(make):
    page = render(make("r"))
    assert "lamina train fnn --data iris --epochs 3" in words(section(page, "Do it again"))
    assert "lamina predict runs/r rows.csv" in page and "lamina resume runs/r --epochs 6" in page
    text = words(section(page, "How it was made"))
    assert "learning_rate0.01" in text and "torch2.13.0" in text and "dnumber1.20.7filled in and marked" in text


def test_a_run_without_anything_but_a_configuration(make):
    parts = ("preprocess", "environment", "status", "evaluation", "rows", "timings", "weights")
    page = render(make(**dict.fromkeys(parts)))
    assert sections(page) == ["The network", "How it was made", "Do it again"] and "Lamina wrote this" in page
    tree(page)


EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


def evil(make):
    """Put hostile text into every place that a user, a file name or a column may fill."""
    spec = {**SPEC, "classes": [EVIL, "b", "c"], "features": [EVIL, "b", "c", "d"], "source": EVIL, "notes": [EVIL]}
    scores = [{**EVALUATION["per_class"][0], "class": EVIL}, *EVALUATION["per_class"][1:]]
    worst = [{"index": 3, "label": EVIL, "guess": EVIL, "confidence": 0.5, "values": {EVIL: EVIL}}]
    architecture = {"network": "custom", "code": EVIL, "config": {"activation": EVIL}}
    config = {**CONFIG, "architecture": architecture, "note": EVIL, "data": {"source": EVIL, "reload": True}}
    config["recipe"] = {**CONFIG["recipe"], "sampling": EVIL}
    rows = [{**row, "gradients": {EVIL: 1.0}, EVIL: 1.0} for row in ROWS]
    return make(
        "a<b>&'c'",
        config=config,
        preprocess={**PREPROCESS, "spec": spec},
        environment={"lamina": EVIL, EVIL: EVIL},
        status={**STATUS, "sentence": EVIL},
        evaluation={**EVALUATION, "per_class": scores, "worst": worst, "metrics": {"accuracy": 0.5, EVIL: 0.5}},
        rows=rows,
        weights={EVIL: torch.ones(1)},
    )


class Elements(HTMLParser):
    """List the elements as a browser finds them, and check that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def elements(page: str) -> Elements:
    found = Elements()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def test_nothing_can_be_injected(make):
    page = render(evil(make))
    found = elements(page)
    tree(page)
    assert not found.names & {"script", "img", "iframe", "object", "embed", "form", "a", "base"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert page.count("&lt;script&gt;") > 15 and EVIL not in page


def test_every_kind_of_run_is_well_formed(make):
    pictures = [{"index": 3, "label": "five", "guess": "nine", "confidence": 0.71, "picture": PIXEL}]
    for parts in ({}, regression(), {"evaluation": {**EVALUATION, "worst": pictures}}, {"rows": None, "weights": None}):
        page = render(make(**parts))
        tree(page)
        elements(page)


def test_characters_that_xml_forbids(make):
    spec = {**SPEC, "classes": ["a\x00", "b\ud800", "c\x1b"]}
    folder = make()
    (folder / "preprocess.json").write_text(json.dumps({**PREPROCESS, "spec": spec}))
    page = render(folder)
    tree(page)
    assert "b\ufffd" in page and page.encode()


def test_the_page_is_alone(make):
    page = render(make())
    assert "<script" not in page and "@import" not in page
    assert set(re.findall(r"url\(.{22}", page)) == {'url("data:font/woff2;base64'[:26]}
    page = re.sub(r"base64,[^\"]*", "", page)  # letters of a font may look like an address
    assert not re.findall(r"https?://|//[a-z]", page)
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,"]
    assert "default-src 'none'" in page.replace("&#x27;", "'")


def test_no_path_of_the_machine(make, tmp_path):
    spec = {**SPEC, "source": "/home/ada/my data/iris.csv", "notes": ["/home/ada/my data/iris.csv has 4 columns"]}
    config = {
        **CONFIG,
        "data": {"source": "/home/ada/my data/iris.csv", "options": {}, "reload": True},
        "note": "/home/ada/my data/iris.csv: 100 training, 25 validation and 20 test examples.",
    }
    status = {**STATUS, "sentence": "ended in /home/ada/x/y"}
    folder = make(config=config, preprocess={**PREPROCESS, "spec": spec}, status=status)
    for format in ("html", "md"):
        text = render(folder, format)
        assert "/home" not in text and str(tmp_path) not in text and "ada" not in text.replace("adam", "")
        assert "iris.csv" in text


def test_same_folder_same_bytes(make, tmp_path, monkeypatch):
    folder = make("r")
    first = render(folder)
    monkeypatch.chdir(folder.parent.parent)
    assert render("runs/r") == first == render(folder)
    assert render("runs/r", "md") == render(folder, "md")
