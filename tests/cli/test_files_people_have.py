"""Twelve kinds of files as people have them: `lamina train` and `lamina predict` with no option beside `--target`."""

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image

import lamina
from lamina._errors import DataWarning
from lamina.training.run import Run

WORDS = "green old quiet bright narrow paper river garden window station letter summer bridge market".split()


@dataclass
class Done:
    """What training and prediction left behind."""

    run: Run
    test: dict[str, float]
    rows: list[dict[str, str]]
    said: str

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that the network learned from."""
        return self.run.task.spec.features


@pytest.fixture
def trained(typed, tmp_path) -> Callable[..., Done]:
    """Type `lamina train` and `lamina predict` and read what they wrote."""

    def train(data: Path, new: Path, target: str | None = None, architecture: str = "fnn") -> Done:
        words = () if target is None else ("--target", target)
        code, out, err = typed("train", architecture, "--data", data, *words, "--json")
        assert code == 0, err
        found = json.loads(out)
        code, out, more = typed("predict", found["run"], new, "-o", "predictions.csv")
        assert code == 0, more
        with open(tmp_path / "predictions.csv", newline="", encoding="utf-8") as file:
            return Done(Run.load(found["run"]), found["test"], list(csv.DictReader(file)), err + more)

    return train


def table(rows: list[dict], delimiter: str = ",") -> str:
    """Write rows as text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def german(value: float, places: int = 2) -> str:
    """Write a number as a German bank does."""
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def passengers(count: int, seed: int) -> list[dict]:
    chance, rows = random.Random(seed), []
    for i in range(count):
        sex, level = chance.choice(["male", "female"]), chance.choice([1, 2, 3, 3])
        family = f"{chance.choice(WORDS).title()}{chance.randrange(300)}"
        survived = chance.random() < {"female": 0.9, "male": 0.12}[sex]
        rows.append(
            {
                "PassengerId": 1000 * seed + i + 1,
                "Survived": int(survived),
                "Pclass": level,
                "Name": f"{family}, {'Mr.' if sex == 'male' else 'Mrs.'} {chance.choice(WORDS)} {i}",
                "Sex": sex,
                "Age": "" if chance.random() < 0.2 else chance.randint(1, 80),
                "Ticket": f"{chance.choice(['A/5', 'PC', 'SC'])} {chance.randrange(100_000)}",
                "Fare": round(chance.expovariate(level / 60), 4),
                "Cabin": "" if chance.random() < 0.77 else f"{chance.choice('ABCDEF')}{chance.randrange(130)}",
                "Embarked": chance.choice("SSSCQ"),
            }
        )
    return rows


def test_passengers(trained, tmp_path):
    """Names and ticket numbers that nobody else has, gaps, and a port of which the training part has never heard."""
    rows, new = passengers(700, 1), passengers(20, 2)
    new[3]["Embarked"], new[4]["Sex"] = "Z", ""
    (tmp_path / "titanic.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "new.csv").write_text(table(new), encoding="utf-8")
    done = trained(tmp_path / "titanic.csv", tmp_path / "new.csv", "Survived")
    assert {"Sex", "Pclass", "Age", "Fare", "Embarked"} <= set(done.features)
    assert not {"PassengerId", "Name", "Survived"} & set(done.features)
    assert done.test["accuracy"] > 0.8
    hits = [
        answer["predicted"] == ("1" if row["Sex"] == "female" else "0")
        for answer, row in zip(done.rows, new, strict=True)
    ]
    assert len(hits) == 20 and sum(hits) >= 17


def bookings(count: int, seed: int) -> list[dict]:
    chance, rows = random.Random(seed), []
    kinds = {
        "Gehälter": (2500, 400, "Lohn und Gehalt"),
        "Miete": (-950, 60, "Wohnung Straße"),
        "Einkäufe": (-45, 30, "Lebensmittel Müller"),
    }
    for i in range(count):
        kind = chance.choice(list(kinds))
        mean, spread, text = kinds[kind]
        day = date(2024, 1, 1) + timedelta(days=i)
        rows.append(
            {
                "Buchungstag": day.strftime("%d.%m.%Y"),
                "Empfänger": chance.choice(["Käthe Groß", "Jörg Müller", "Bäckerei Süß"]),
                "Verwendungszweck": f"{text} {' '.join(chance.sample(WORDS, 4))} Nr {i}",
                "Betrag": german(chance.gauss(mean, spread)),
                "Währung": "EUR",
                "Kategorie": kind,
            }
        )
    return rows


def test_a_german_bank_export(trained, tmp_path):
    """Windows letters, semicolons, decimal commas, points in thousands, German dates, and one currency throughout."""
    rows = bookings(400, 1)
    rows[0]["Betrag"] = "-1.234,56"
    (tmp_path / "umsätze.csv").write_bytes(table(rows, ";").encode("cp1252"))
    (tmp_path / "neu.csv").write_bytes(table(bookings(12, 2), ";").encode("cp1252"))
    done = trained(tmp_path / "umsätze.csv", tmp_path / "neu.csv", "Kategorie")
    assert done.run.task.spec.classes == ("Einkäufe", "Gehälter", "Miete")
    assert done.features == ("Buchungstag", "Empfänger", "Betrag")
    assert done.run.task.spec.dates[0] and "Währung" in done.said
    with pytest.warns(DataWarning, match="'Währung' is left out: it is 'EUR' in every row"):
        stored = lamina.load(tmp_path / "umsätze.csv", target="Kategorie")
    assert float(stored.inputs[0, stored.spec.features.index("Betrag")]) == -1234.56
    assert done.test["accuracy"] > 0.95
    assert [row["predicted"] for row in done.rows] == [row["Kategorie"] for row in bookings(12, 2)]


def test_semicolons_behind_a_byte_order_mark(trained, tmp_path):
    """What Excel writes as "CSV UTF-8" in Europe."""
    chance = random.Random(3)
    rows = []
    for _ in range(300):
        length, width = chance.uniform(1, 9), chance.uniform(1, 9)
        rows.append({"Länge": german(length, 3), "Breite": german(width, 3), "Fläche": german(length + width, 3)})
    (tmp_path / "a.csv").write_text(table(rows, ";"), encoding="utf-8-sig")
    (tmp_path / "b.csv").write_text("Länge;Breite\n2,5;3,5\n", encoding="utf-8-sig")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", "Fläche")
    assert done.features == ("Länge", "Breite") and done.test["r2"] > 0.99
    assert numbers(done.rows)[0] == pytest.approx(6.0, abs=0.3)


def numbers(rows: list[dict[str, str]]) -> list[float]:
    """Give the predicted numbers of a file of predictions."""
    name = next(name for name in reversed(rows[0]) if name.startswith(("output", "predicted")))
    return [float(row[name]) for row in rows]


def test_an_excel_file(trained, tmp_path):
    """Typed cells, dates among them, with an empty one here and there."""
    from openpyxl import Workbook

    chance = random.Random(4)
    for name, count in (("houses.xlsx", 300), ("new.xlsx", 5)):
        book = Workbook()
        book.active.append(["sold on", "area", "city", "price"])
        for _ in range(count):
            area, city = round(chance.uniform(30, 200), 1), chance.choice(["Bonn", "Köln"])
            day = datetime(2020, 1, 1) + timedelta(days=chance.randrange(1000))
            price = 20 * area + (900 if city == "Bonn" else 0)
            book.active.append([day, None if chance.random() < 0.05 else area, city, price])
        book.save(tmp_path / name)
    done = trained(tmp_path / "houses.xlsx", tmp_path / "new.xlsx", "price")
    assert {"area", "city"} < set(done.features) and any(name.startswith("sold on") for name in done.features)
    assert done.test["r2"] > 0.8 and len(done.rows) == 5


def test_dates(trained, tmp_path):
    """Sales that only the day of the week explains."""
    start, rows = date(2021, 3, 1), []
    for i in range(500):
        day = start + timedelta(days=i)
        rows.append({"day": day.isoformat(), "till": i % 3, "sales": 900 if day.weekday() >= 5 else 300})
    (tmp_path / "sales.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "new.csv").write_text(
        "day,till\n2021-06-05,1\n2021-06-07,1\n", encoding="utf-8"
    )  # a Saturday, a Monday
    done = trained(tmp_path / "sales.csv", tmp_path / "new.csv", "sales")
    assert [label(row, done) for row in done.rows] == ["900", "300"]


def label(row: dict[str, str], done: Done) -> str:
    """Give a predicted class, or a predicted number to two digits."""
    if done.run.task.spec.classes:
        return row["predicted"]
    return f"{round(numbers([row])[0], -2):.0f}"


def test_identifiers(trained, tmp_path):
    """Numbers and texts that name a row are left out; a salary, different in every row, stays."""
    chance, rows = random.Random(6), []
    salaries = chance.sample(range(20_000, 90_000), 300)
    for salary, number in zip(salaries, chance.sample(range(10**6, 10**7), 300), strict=True):
        code = f"{chance.getrandbits(128):032x}"
        uuid = "-".join((code[:8], code[8:12], code[12:16], code[16:20], code[20:]))
        rows.append(
            {"customer_id": number, "uuid": uuid, "salary": salary, "credit": "yes" if salary > 50_000 else "no"}
        )
    (tmp_path / "people.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "new.csv").write_text("customer_id,uuid,salary\n1,x,80000\n2,y,25000\n", encoding="utf-8")
    done = trained(tmp_path / "people.csv", tmp_path / "new.csv", "credit")
    assert done.features == ("salary",)
    assert done.test["accuracy"] > 0.9 and [row["predicted"] for row in done.rows] == ["yes", "no"]


def test_percent_signs_and_currencies(trained, tmp_path):
    """What looks like a number to a person is one."""
    chance, rows = random.Random(7), []
    for _ in range(300):
        share, price = chance.randint(0, 100), chance.randint(1000, 9999)
        rows.append({"share": f"{share} %", "price": f"€{price:,}", "gain": f"{share * 10 + price / 10:.1f}"})
    rows[0] = {"share": "62 %", "price": "€6,866", "gain": "1306.6"}
    (tmp_path / "a.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "b.csv").write_text('share,price\n50 %,"€5,000"\n', encoding="utf-8")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", "gain")
    assert done.features == ("share", "price")
    assert lamina.load(tmp_path / "a.csv", target="gain").inputs[0].tolist() == [62.0, 6866.0]
    assert done.test["r2"] > 0.98 and numbers(done.rows)[0] == pytest.approx(1000, abs=80)


def test_thirty_percent_missing(trained, tmp_path):
    """Gaps everywhere, in the target too."""
    chance, rows = random.Random(8), []
    for _ in range(600):
        a, b, kind = chance.gauss(0, 1), chance.gauss(0, 1), chance.choice(["x", "y"])
        row = {"a": f"{a:.3f}", "b": f"{b:.3f}", "kind": kind, "y": "high" if a + (kind == "x") > 0.5 else "low"}
        rows.append({name: "" if chance.random() < 0.3 else value for name, value in row.items()})
    (tmp_path / "a.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "b.csv").write_text("a,b,kind\n3,,x\n-3,0,\n,,\n", encoding="utf-8")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", "y")
    with pytest.warns(DataWarning, match="rows without the target 'y' are left out"):
        assert len(lamina.load(tmp_path / "a.csv", target="y")) == sum(row["y"] != "" for row in rows)
    assert done.test["accuracy"] > 0.65
    assert [row["predicted"] for row in done.rows[:2]] == ["high", "low"] and len(done.rows) == 3


def test_one_category_in_a_thousand(trained, tmp_path):
    """A column of two common and very many rare values: the rare ones count together, unseen ones with them."""
    chance, rows = random.Random(9), []
    for i in range(2000):
        shop = chance.choice(["online", "store"]) if chance.random() < 0.7 else f"partner {i}"
        rate = {"online": 0.95, "store": 0.05}.get(shop, 0.95)
        rows.append({"shop": shop, "size": chance.randint(1, 9), "returned": "yes" if chance.random() < rate else "no"})
    (tmp_path / "a.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "b.csv").write_text("shop,size\npartner nobody knows,3\nstore,3\nonline,3\n", encoding="utf-8")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", "returned")
    assert done.features == ("shop", "size") and done.test["accuracy"] > 0.9
    assert [row["predicted"] for row in done.rows] == ["yes", "no", "yes"]
    assert done.run.preprocess.inputs[0] < 20  # not one input for each partner


def weather(count: int, seed: int) -> list[dict]:
    chance, rows = random.Random(seed), []
    for _ in range(count):
        humidity, pressure = chance.uniform(0, 1), chance.uniform(980, 1030)
        signs = [name for name, true in (("rain", humidity > 0.5), ("wind", pressure < 1005)) if true]
        rows.append({"humidity": f"{humidity:.3f}", "pressure": f"{pressure:.1f}", "signs": ";".join(signs)})
    return rows


@pytest.mark.parametrize("form", ["lists", "columns"])
def test_several_labels(trained, tmp_path, form):
    """A column of lists, or a column of 0 and 1 for each label."""
    rows, target = weather(400, 1), "signs"
    if form == "columns":
        for row in rows:
            signs = row.pop("signs").split(";")
            row |= {name: int(name in signs) for name in ("rain", "wind")}
        target = "rain,wind"
    (tmp_path / "a.csv").write_text(table(rows), encoding="utf-8")
    (tmp_path / "b.csv").write_text("humidity,pressure\n0.9,990\n0.1,990\n0.9,1025\n0.1,1025\n", encoding="utf-8")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", target)
    assert done.run.task.spec.classes == ("rain", "wind") and done.test["accuracy"] > 0.9
    found = [(float(row["p(rain)"]) > 0.5, float(row["p(wind)"]) > 0.5) for row in done.rows]
    assert found == [(True, True), (False, True), (True, False), (False, False)]


@pytest.mark.slow
def test_half_a_million_rows(trained, tmp_path):
    """A table that is read, trained and predicted within minutes, with the rate of a known rule."""
    import numpy as np

    chance = np.random.default_rng(10)
    x, city = chance.normal(size=(500_000, 3)), chance.choice(["Bonn", "Köln", "Ulm"], 500_000)
    noise = chance.normal(scale=0.5, size=500_000)
    y = 3 * x[:, 0] - x[:, 1] + np.where(city == "Ulm", 2.0, 0.0) + noise
    with open(tmp_path / "a.csv", "w", encoding="utf-8") as file:
        file.write("a,b,c,city,y\n")
        file.writelines(
            f"{a:.4f},{b:.4f},{c:.4f},{town},{value:.4f}\n" for (a, b, c), town, value in zip(x, city, y, strict=True)
        )
    (tmp_path / "b.csv").write_text("a,b,c,city\n1,0,0,Ulm\n0,1,0,Bonn\n", encoding="utf-8")
    done = trained(tmp_path / "a.csv", tmp_path / "b.csv", "y")
    best = 1 - 0.25 / y.var()  # what the noise leaves to explain
    assert done.test["r2"] == pytest.approx(best, abs=0.01)
    assert numbers(done.rows) == pytest.approx([5.0, -1.0], abs=0.15)


def photo(kind: str, chance: random.Random) -> Image.Image:
    """Make a picture that is darker below (land) or above (sky)."""
    width, height = chance.randint(40, 90), chance.randint(40, 90)
    base = Image.linear_gradient("L").resize((width, height))
    if kind == "sky":
        base = base.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return base.point([min(255, i + chance.randrange(20)) for i in range(256)]).convert("RGB")


def save(picture: Image.Image, path: Path, form: str) -> None:
    """Save a picture as one of eleven kinds of files."""
    forms: dict[str, tuple[str, str, dict]] = {
        "jpg": ("RGB", "JPEG", {}),
        "gray.jpg": ("L", "JPEG", {}),
        "cmyk.jpg": ("CMYK", "JPEG", {}),
        "progressive.jpeg": ("RGB", "JPEG", {"progressive": True}),
        "png": ("RGB", "PNG", {}),
        "rgba.png": ("RGBA", "PNG", {}),
        "palette.png": ("P", "PNG", {}),
        "gif": ("P", "GIF", {}),
        "bmp": ("RGB", "BMP", {}),
        "tiff": ("RGB", "TIFF", {}),
        "webp": ("RGB", "WEBP", {}),
    }
    mode, name, options = forms[form]
    picture.convert(mode).save(path.with_name(f"{path.name}.{form}"), name, **options)


FORMS = (
    "jpg",
    "gray.jpg",
    "cmyk.jpg",
    "progressive.jpeg",
    "png",
    "rgba.png",
    "palette.png",
    "gif",
    "bmp",
    "tiff",
    "webp",
)


def test_photos(trained, tmp_path):
    """Eleven kinds of files in two classes, some damaged; new ones in folders of folders."""
    chance = random.Random(11)
    for kind in ("sky", "land"):
        folder = tmp_path / "photos" / kind
        folder.mkdir(parents=True)
        for i in range(66):
            save(photo(kind, chance), folder / f"{i}", FORMS[i % len(FORMS)])
        (folder / "empty.jpg").touch()
        (folder / "page.png").write_text("<html>not found</html>", encoding="utf-8")
        whole = (folder / "0.jpg").read_bytes()
        (folder / "half.jpg").write_bytes(whole[: len(whole) // 3])
        (folder / "Thumbs.db").write_bytes(b"x")
    for i, kind in enumerate(["sky", "land"] * 4):
        folder = tmp_path / "new" / f"day {i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        save(photo(kind, chance), folder / f"{kind}{i}", FORMS[i])
    (tmp_path / "new" / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    done = trained(tmp_path / "photos", tmp_path / "new", architecture="lenet5")
    with pytest.warns(DataWarning, match="6 of 138 pictures cannot be read and are left out"):
        assert len(lamina.load(tmp_path / "photos")) == 132
    assert "half.jpg" in done.said and "broken.jpg" in done.said
    assert done.test["accuracy"] > 0.9
    assert done.rows[0]["name"] == "day 0/sky0.jpg" and len(done.rows) == 8
    hits = [row["predicted"] in row["name"] for row in done.rows]
    assert sum(hits) >= 7
