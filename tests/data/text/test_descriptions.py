"""Things described by texts: pictures with their words, rows of a table with a sentence."""

import pytest
import torch

from lamina._errors import ArgumentError, DataError, DataWarning
from lamina.data.dataset import ArrayDataset, Spec
from lamina.data.load import digits, load
from lamina.data.text.descriptions import DescriptionDataset, DescriptionPreprocess, digit_words, load_descriptions
from lamina.data.text.texts import answers_of
from lamina.data.text.vocabulary import END, PAD, Wording

ROWS = "animal,age,says\n" + "".join(f"{a},{i},{t}\n" for i in range(3) for a, t in (("cat", "meow"), ("dog", "woof!")))


def vectors(count):
    return ArrayDataset(torch.eye(count), torch.arange(count), Spec("vector", "classification", (count,), count))


@pytest.mark.notes("N5.09")
def test_digits_are_described_by_their_words():
    data, pictures = load("digit-words"), digits()
    words = "zero one two three four five six seven eight nine".split()
    inputs, codes = data.take(torch.tensor([3, 0]))
    assert torch.equal(inputs, pictures.inputs[[3, 0]]) and data.spec.task == "description"
    assert answers_of(data) == [words[label] for label in pictures.targets.tolist()]
    assert codes.shape == (2, 5) and codes[1].tolist() == [*map(ord, "zero"), -1]
    assert answers_of(digit_words("german"))[5] == "fünf"
    assert torch.equal(data.fingerprints(), pictures.fingerprints())
    assert data.describe()[0] == "digit-words: 1797 pictures of 1 x 8 x 8, to be described by a text."
    with pytest.raises(ArgumentError, match="`language` must be one of 'english', 'german', got 'latin'"):
        digit_words("latin")
    with pytest.raises(DataError, match="`texts` must have one entry for each of the 2 things, got 1"):
        DescriptionDataset.of(vectors(2), ["one"])


def test_preparation_is_that_of_the_things_with_a_dictionary_of_the_training_texts():
    data = DescriptionDataset.of(vectors(3), ["ab", "a", "abab"])
    prepared = DescriptionPreprocess.of(data)
    assert (prepared.steps, prepared.output_size, prepared.inputs) == (5, 6, (3,))
    a, b = prepared.vocabulary.index["a"], prepared.vocabulary.index["b"]
    wanted = [[a, b, END, PAD, PAD], [a, END, PAD, PAD, PAD], [a, b, a, b, END]]
    assert prepared.targets(data.targets).tolist() == wanted
    assert prepared.write(torch.tensor(wanted)) == ["ab", "a", "abab"]
    assert DescriptionPreprocess.from_dict(prepared.as_dict()) == prepared
    # A longer text of another part is cut and ends all the same.
    longer = DescriptionDataset.of(vectors(1), ["bababab"])
    assert prepared.targets(longer.targets).tolist() == [[b, a, b, a, END]]
    words = DescriptionPreprocess.of(DescriptionDataset.of(vectors(2), ["Guten Tag", "Ja"]), Wording("word"))
    assert words.steps == 3 and words.write(words.targets(DescriptionDataset.of(vectors(1), ["ja"]).targets)) == ["Ja"]
    outputs = torch.zeros(1, 2)
    assert words.untargets(outputs) is outputs
    inputs, targets = prepared.source(data).batch(torch.tensor([1]))
    torch.testing.assert_close(inputs[0].double(), (torch.eye(3)[1].double() - 1 / 3) / (2 / 9) ** 0.5)
    assert targets.tolist() == wanted[1:2]


def test_a_table_with_a_column_of_text(tmp_path):
    path = tmp_path / "sounds.csv"
    path.write_text(ROWS)
    data = load(path, kind="descriptions")
    assert data.spec.features == ("animal", "age") and data.spec.levels == (("cat", "dog"), ())
    assert answers_of(data)[:2] == ["meow", "woof!"] and data.take(torch.tensor([5]))[0].tolist() == [[1.0, 2.0]]
    assert "The column 'says' is to be written." in data.spec.notes
    assert DescriptionPreprocess.of(data).inputs == (3,)  # one number and two categories
    other = load_descriptions(path, target="animal", drop=["age"])
    assert other.spec.features == ("says",) and answers_of(other)[0] == "cat"
    assert load_descriptions(path, group="age").groups.tolist() == [0, 0, 1, 1, 2, 2]
    (tmp_path / "named.csv").write_text("id,name,says\n" + "".join(f"{i},n{i},t{i % 2}\n" for i in range(12)))
    with pytest.raises(DataError, match="no column to read besides the text 'says': check the delimiter"):
        load_descriptions(tmp_path / "named.csv", target="says")
    (tmp_path / "left.csv").write_text("x,name,says\n" + "".join(f"{i % 3},n{i},t{i % 2}\n" for i in range(12)))
    with pytest.warns(DataWarning, match="Column 'name' is left out: it has a different text in every row"):
        assert load_descriptions(tmp_path / "left.csv", target="says").spec.features == ("x",)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,x\n", {}, r"has too few rows \(1\)"),
        ("a,b\n1,2\n3,4\n", {}, "has no column of text to write: name the column with `target`"),
        ("a,b\n1,x\n3,\n", {}, "the text 'b' is missing in row 2: fill it in or remove the row"),
        ("a,b\n1,x\n3,y\n", {"target": "c"}, "has no column 'c' for `target`"),
        ("a,b\n1,x\n3,y\n", {"drop": ["a"]}, "has no column to read besides the text 'b'"),
    ],
)
def test_tables_that_cannot_be_described_get_a_sentence(tmp_path, text, options, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        load_descriptions(path, **options)
