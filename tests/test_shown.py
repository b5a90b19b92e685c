"""One line at a prompt, one card in a notebook, for everything that a person looks at."""

import pytest
import torch

import lamina
from lamina._shown import Shown, card
from lamina._tables import Table


class Cup(Shown):
    def _headline(self):
        return "Cup(<full>)"


def test_a_card_escapes_what_it_shows_and_leaves_out_what_is_not_there():
    assert Cup()._repr_html_() == "<div><b>Cup(&lt;full&gt;)</b></div>"
    shown = str(card("A", Table(("x", "y"), (("1", "2"),))))
    assert "<thead>" in shown and shown.count("<td>") == 2
    with pytest.raises(NotImplementedError):
        repr(Shown())


def test_networks_are_one_line_and_print_their_layers():
    net = lamina.build("lenet5", outputs=10)
    assert repr(net) == "LeNet5(1×28×28 to 10; 61,706 parameters)"
    assert str(net).startswith("LeNet5(\n  (") and "Linear" in str(net)
    assert "parameters</td>" in net._repr_html_()
    assert repr(torch.nn.Sequential(net)) == "Sequential(\n  (0): LeNet5(1×28×28 to 10; 61,706 parameters)\n)"


@pytest.mark.parametrize("name", [name for name in lamina.architectures.TABLE if "alexnet" not in name])
def test_every_architecture_has_a_short_line(name):
    line = repr(lamina.build(name))
    assert "\n" not in line and len(line) < 80 and line.endswith(" parameters)")


def test_a_run_says_what_was_trained_and_how_it_went(tmp_path):
    net = lamina.build("fnn", inputs=4, outputs=3, hidden=(8,))
    run = lamina.fit(net, "iris", lamina.Recipe(epochs=3), folder=tmp_path / "a")
    assert repr(run) == f"Run({run.folder.as_posix()}: FNN, 3 epochs)"
    assert "not opened yet: run.evaluate()" in run._repr_html_() and "<svg" in run._repr_html_()
    accuracy = run.evaluate().metrics["accuracy"]
    assert f"accuracy {accuracy:.4f}" in repr(run) and f"accuracy {accuracy:.4f}" in run._repr_html_()
    assert "FNN(4 to 3; 67 parameters)" in run._repr_html_()


def test_data_say_how_many_of_what_they_are():
    digits = lamina.load("digits")
    assert repr(digits) == "ArrayDataset(digits: 1797 pictures of 1 x 8 x 8, classification into 10 classes)"
    html = digits._repr_html_()
    assert html.count("data:image/png;base64,") == 5 and "0 178 (9.9 %)" in html
    iris = lamina.load("iris")._repr_html_()
    assert "petal" in iris and iris.count("<tr>") == 7  # the balance of classes, the head and five rows
    assert repr(split := lamina.load("iris").split()).startswith("Split(iris: 102 training, 24 validation")
    assert "<b>Split(" in split._repr_html_()
    assert lamina.load("phrasebook")._repr_html_().count("<pre>") == 1


def test_summaries_and_drawings_show_themselves():
    table = lamina.summary(lamina.build("lenet5", outputs=10))
    assert repr(table) == f"Summary(LeNet5: 1×28×28 to 10; {len(table.rows)} layers, 61,706 parameters)"
    assert "<th" in table._repr_html_() and "operations forward" in table._repr_html_()
    scene = lamina.draw("gru")
    assert repr(scene).startswith("Scene('GRU cell', ") and scene._repr_svg_().startswith("<svg")


def test_a_study_shows_its_best(tmp_path):
    study = lamina.Study.create(tmp_path / "parabola", {"x": [-2, 1, 2]})
    assert repr(study) == f"Study({(tmp_path / 'parabola').as_posix()}: 0 of 3 configurations)"
    study.run(lambda values: (values["x"] - 1) ** 2)
    assert repr(study).endswith("3 of 3 configurations; best value 0)")
    assert study._repr_html_().index("x=1<") < study._repr_html_().index("x=2<") < study._repr_html_().index("x=-2<")


def test_data_can_be_given_by_name_and_wrong_arguments_are_named(as_user):
    net = lamina.build("fnn", inputs=4, outputs=3)
    with pytest.raises(lamina.ArgumentError, match="`model` must be a torch Module, got 3: name one, such as 'lene"):
        lamina.fit(3, "digits")
    with pytest.raises(
        lamina.ArgumentError, match="`model` must be a torch Module, got 'lenet5': make one with lamina"
    ):
        next(lamina.train("lenet5", "digits"))
    with pytest.raises(lamina.ArgumentError, match=r"`recipe` must be a lamina Recipe, got 10: for example Recipe"):
        lamina.fit(net, "iris", 10)
    with pytest.raises(lamina.ArgumentError, match="`runtime` must be a lamina Runtime, got 'cuda': for example Runt"):
        lamina.fit(net, "iris", runtime="cuda")
    with pytest.raises(lamina.DataError, match="`what` must be a name, a path, a DataFrame"):
        lamina.fit(net, 3)
