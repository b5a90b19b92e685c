"""The published texts: small made files in the official formats, and the real ones where they are."""

import gzip
import hashlib
import io
import os
import warnings
import zipfile

import pytest
import torch

from lamina._errors import ArgumentError, DataError
from lamina.data import store
from lamina.data._download import File
from lamina.data.load import NAMED, load
from lamina.data.splits import k_fold
from lamina.data.store import NamedSet
from lamina.data.text.corpora import LOADERS, TESTS, multi30k
from lamina.data.text.texts import answers_of, running_text_of, texts_of
from lamina.data.text.tokens import TextPreprocess
from lamina.data.text.vocabulary import Wording


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Put files into LAMINA_DATA as a data set, with the right checksums."""
    monkeypatch.setenv("LAMINA_DATA", str(tmp_path))

    def put(name, contents):
        (tmp_path / name).mkdir(exist_ok=True)
        for file, data in contents.items():
            (tmp_path / name / file).write_bytes(data)
        files = tuple(File(file, len(data), hashlib.sha256(data).hexdigest()) for file, data in contents.items())
        monkeypatch.setattr(store, "SETS", {name: NamedSet(name, "made up", "text", files, ("http://127.0.0.1",))})

    return put


def packed(*lines):
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


def small_multi30k(german=("Zwei Männer.", "Ein Hund.")):
    contents = {"train.en.gz": packed("Two men.", "A dog."), "train.de.gz": packed(*german)}
    for name in ("val", *(f"test_{test}" for test in TESTS)):
        contents[f"{name}.en.gz"], contents[f"{name}.de.gz"] = packed(f"A {name}."), packed(f"Ein {name}.")
    return contents


def zipped(text, name="deu.txt"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, text)
    return out.getvalue()


def test_multi30k(publish):
    publish("multi30k", small_multi30k())
    data = load("multi30k")
    split = data.split(seed=3)
    assert texts_of(split.train) == ["Two men.", "A dog."] and answers_of(split.train) == ["Zwei Männer.", "Ein Hund."]
    assert texts_of(split.validation) == ["A val."] and answers_of(split.open_test()) == ["Ein test_2016_flickr."]
    assert data.spec.target == "German" and split.note.endswith(
        "2 training, 1 validation and 1 test examples, as published."
    )
    back = load("multi30k", reverse=True, test="2018_flickr")
    assert texts_of(back)[1] == "Ein Hund." and answers_of(back.official_test) == ["A test_2018_flickr."]
    with pytest.raises(ArgumentError, match="`test` must be one of '2016_flickr', .*, got '2019'"):
        multi30k(test="2019")
    with pytest.raises(DataError, match="'multi30k' has no option 'lang': it has reverse, test"):
        load("multi30k", lang="fr")


def test_damaged_multi30k(publish):
    publish("multi30k", small_multi30k(german=("Nur eine Zeile.",)))
    with pytest.raises(DataError, match="`train` has 2 lines in en and 1 in de: get it again"):
        load("multi30k")
    publish("multi30k", small_multi30k() | {"val.en.gz": b"no gzip"})
    with pytest.raises(DataError, match=r"`val.en.gz` is damaged \(.*\): get it again"):
        load("multi30k")
    publish("multi30k", small_multi30k() | {"val.en.gz": gzip.compress(b"\xff\xfe\n", mtime=0)})
    with pytest.raises(DataError, match=r"`val.en.gz` is not UTF-8 \(byte 0\): get it again"):
        load("multi30k")


def test_tatoeba(publish):
    lines = "Hi.\tHallo!\nHi!\tGrüß Gott!\n" + "".join(f"One {i}.\tEins {i}.\nOne {i}!\tEin {i}.\n" for i in range(20))
    publish("tatoeba", {"deu-eng.zip": zipped(lines)})
    data = load("tatoeba")
    split = data.split(seed=1)
    sides = [
        {text.lower().strip(".!") for text in texts_of(part)}
        for part in (split.train, split.validation, split.open_test())
    ]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2]) and len(data) == 42
    assert len(load("tatoeba", longest=1)) == 1 and "CC BY 2.0" in data.spec.notes[0]
    assert load("tatoeba", reverse=True).spec.target == "English"
    for damaged, message in (
        (b"PK nothing", r"`deu-eng.zip` is damaged"),
        (zipped("a\tb\n", "fra.txt"), r"`deu-eng.zip` is damaged .*deu.txt"),
        (zipped("a\tb\nc\n"), r"`deu-eng.zip/deu.txt` has 1 text in line 2, not 2 as in the first"),
    ):
        publish("tatoeba", {"deu-eng.zip": damaged})
        with pytest.raises(DataError, match=message):
            load("tatoeba")


def test_tatoeba_bomb(publish, monkeypatch):
    monkeypatch.setattr("lamina.data.text.corpora._MOST", 100)
    publish("tatoeba", {"deu-eng.zip": zipped("a\tb\n" * 100)})
    with pytest.raises(DataError, match="`deu-eng.zip` unpacks to more than 100 bytes: get it again"):
        load("tatoeba")


def test_tinyshakespeare(publish):
    publish("tinyshakespeare", {"input.txt": b"First Citizen:\nSpeak.\n" * 5})
    data = load("tinyshakespeare", block=8)
    split = data.split()
    assert len(running_text_of(data)) == 110 and data.block == 8
    assert len(running_text_of(split.train)) == 99 and running_text_of(split.open_test()) == running_text_of(
        split.validation
    )


def table(*rows):
    return ("label,sentence\n" + "".join(f"{label},{text}\n" for label, text in rows)).encode()


def test_sst2(publish):
    files = {
        "train_binary_sent.csv": table((1, '"fun, really"'), (0, "no fun")),
        "dev_binary_sent.csv": table((0, "dull")),
        "test_binary_sent.csv": table((1, "great"), (1, '"a ""gem"""')),
    }
    publish("sst2", files)
    split = load("sst2").split()
    assert texts_of(split.train) == ["fun, really", "no fun"] and split.train.targets.tolist() == [1, 0]
    assert texts_of(split.validation) == ["dull"] and texts_of(split.open_test()) == ["great", 'a "gem"']
    assert split.train.spec.classes == ("negative", "positive")
    publish("sst2", files | {"dev_binary_sent.csv": b"label,sentence\n2,odd\n"})
    with pytest.raises(DataError, match="`dev_binary_sent.csv` is not a table of label and sentence: get it again"):
        load("sst2")


def test_rt_polarity(publish):
    publish(
        "rt-polarity", {f"rt-polarity.{n}": "".join(f"{n} {i} \n" for i in range(12)).encode() for n in ("neg", "pos")}
    )
    data = load("rt-polarity")
    assert texts_of(data)[0] == "neg 0" and data.targets.bincount().tolist() == [12, 12]
    split = data.split(seed=2)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [16, 4, 4]
    assert split.validation.targets.tolist().count(1) == 2 and len(k_fold(data, 10)) == 10


@pytest.mark.parametrize("name", LOADERS)
def test_absent_texts_say_how_to_get_them(name, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    with pytest.raises(DataError, match=rf"data set {name} is not here .* lamina data get {name}  or put"):
        load(name)


def test_names_agree():
    assert list(LOADERS) == list(NAMED[3:])


# The real ones; the numbers are those of their publishers

real = pytest.mark.skipif(not os.environ.get("LAMINA_DATA"), reason="needs LAMINA_DATA")


@real
def test_the_real_sets():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = load("multi30k").split()
        assert [len(part) for part in (split.train, split.validation, split.test)] == [29_000, 1_014, 1_000]
        assert texts_of(split.validation)[0] == "A group of men are loading cotton onto a truck"
        assert [len(load("multi30k", test=test).official_test) for test in TESTS] == [1000, 1000, 461, 1071]
        films = load("sst2").split()
        assert [len(part) for part in (films.train, films.validation, films.test)] == [6920, 872, 1821]
        test = films.open_test()
        assert [part.targets.bincount().tolist() for part in (films.train, films.validation, test)] == [
            [3310, 3610],
            [428, 444],
            [912, 909],
        ]
        polarity = load("rt-polarity")
        assert polarity.targets.bincount().tolist() == [5331, 5331] and len(polarity.split().validation) == 1777
    plays = load("tinyshakespeare").split()
    prepare = TextPreprocess.fit(plays.train)
    stream = prepare.stream(plays.train)
    assert len(prepare.vocabulary.words) == 65 and len(stream) == 1_003_854 and not (stream == 1).any()
    assert len(prepare.stream(plays.validation)) == 111_540
    assert prepare.vocabulary.decode(stream) == running_text_of(plays.train)


@real
@pytest.mark.slow
def test_the_real_tatoeba():
    data = load("tatoeba")
    assert len(data) == 169_813 and len(set(texts_of(data))) == 135_534
    split = data.split()
    train, test = (set(texts_of(part)) for part in (split.train, split.open_test()))
    assert not train & test and len(split.train) == pytest.approx(113_209, abs=5)
    prepare = TextPreprocess.fit(split.train, Wording(size=10_000), longest=30)
    assert prepare.vocabulary.unknown_share(texts_of(split.validation)) < 0.02
    assert torch.equal(prepare.encode(split.validation).lengths.amax(0) <= 30, torch.tensor([True, True]))
