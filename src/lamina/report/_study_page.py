"""The report of a study as one HTML file that needs nothing else."""

from itertools import combinations
from typing import Any

from lamina._markup import Markup, join, tag
from lamina._tables import Table
from lamina.functional.selection import accuracy_behind, expected_best
from lamina.report import _study_figures as figures
from lamina.report._blocks import card, command, document, folded, section
from lamina.report._commands import spell
from lamina.report._findings import metric, metric_name, strongest, wilson
from lamina.report._formatting import NOTHING, duration, number, percent
from lamina.report._study_record import StudyRecord, Tried, importance
from lamina.training.tasks._baselines import verdict

LUCK = 0.01
"""The possible luck, in accuracy, from which on a warning stands at the top."""
PAIRS, SHOWN, LISTED = 9, 10, 200


def study_page(record: StudyRecord) -> str:
    """Write the whole page."""
    parts = (_header, _leaders, _course, _parallel, _slices, _pairs, _honesty, _making, _again)
    sections = [make(record) for make in parts]
    written = f"Lamina wrote this report from the files of {record.name} alone."
    return document(record.title, ["style.css", "study.css"], sections, written)


def _header(record: StudyRecord) -> Markup:
    what = tag(
        "div",
        tag("p", "Study ", tag("code", record.name), class_="eyebrow"),
        tag("h1", record.title),
        [tag("p", line, class_="lead") for line in record.lines],
    )
    said = [_ending(record), _opening(record), _warning(record)]
    return join([tag("header", what, _score(record), class_="hero"), tag("div", said, class_="said")])


def _score(record: StudyRecord) -> Markup:
    """Show the number that counts: the test error, or until there is one the best validation."""
    best, test = record.best, record.test
    value = "none" if best is None else metric(record.score, best.value)
    label, sure = f"best validation {metric_name(record.score)}", "optimistic, since it was chosen as the best"
    if test:
        known = (name for name in ("accuracy", record.score, *test["metrics"]) if name in test["metrics"])
        name = next(known, "loss")
        value, label, sure = (
            metric(name, test["metrics"].get(name)),
            f"test {metric_name(name)}",
            str(test.get("unit") or ""),
        )
        if name == "accuracy":
            low, high = wilson(test["metrics"][name], test["examples"])
            sure = f"95% interval {percent(low)} to {percent(high)}"
    states = {state: sum(t.state == state for t in record.tried) for state in ("finished", "dropped", "diverged")}
    facts = [
        ("configurations", number(len(record.tried))),
        (f"best validation {metric_name(record.score)}", NOTHING if best is None else metric(record.score, best.value)),
        *((state, number(count)) for state, count in states.items() if count and count != len(record.tried)),
    ]
    seconds = [tried.seconds for tried in record.tried if tried.seconds is not None]
    if seconds:
        facts.append(("training time", duration(sum(seconds))))
    if record.seeds > 1:
        facts.append(("seeds each", number(record.seeds)))
    return tag(
        "div",
        tag("span", value, class_="value" if best or test else "value bad"),
        tag("span", label, class_="label"),
        tag("span", sure, class_="sure"),
        tag("dl", [tag("div", tag("dt", name), tag("dd", text)) for name, text in facts], class_="facts"),
        class_="score card",
    )


def _ending(record: StudyRecord) -> Markup:
    done = len(record.tried)
    if record.complete:
        return tag("p", tag("strong", "The search is complete:"), f" {number(done)} configurations, {record.sampler}.",
                   class_="say done")  # fmt: skip
    of = "" if record.total is None else f" of {number(record.total)}"
    point, words = "The search is not complete:", f" {number(done)}{of} configurations were tried. Continue with "
    return tag("p", tag("strong", point), words, tag("code", spell(list(record.resume))), class_="say open")


def _opening(record: StudyRecord) -> Markup | None:
    test = record.test
    if test is None:
        return tag("p", "The test split has not been opened.", class_="say")
    words = f"The test split ({number(test['examples'])} examples) was opened "
    found = test.get("baselines")
    said = f"{verdict(found, test['examples'])} {strongest(found, record.score)}" if found else ""
    if test["openings"] == 1:
        once = f"{words}once, for the best configuration, after everything was tried. {said}".rstrip()
        return tag("p", once, class_="say")
    many = f"{words}{test['openings']} times: its result is no longer a fair evaluation. {said}".rstrip()
    return tag("p", many, class_="say warn")


def luck(record: StudyRecord) -> tuple[float, float] | None:
    """Give how good equally good configurations would be if they looked like this, and how much of the best is luck."""
    if record.score != "accuracy" or record.best is None or record.best.value is None or not record.examples:
        return None
    value, points = record.best.value, record.examples[1]
    if not points or len(record.known) < 2:
        return None
    behind = accuracy_behind(value, len(record.known), points)
    return behind, max(0.0, value - behind)


def _warning(record: StudyRecord) -> Markup | None:
    found = luck(record)
    if found is None or found[1] < LUCK or record.examples is None:
        return None
    return tag(
        "p",
        tag("strong", "Small validation set:"),
        f" chosen among {number(len(record.known))} configurations by {number(record.examples[1])} examples, the best "
        f"may owe up to {100 * found[1]:.1f} points of its {percent(record.best.value if record.best else None)} to "
        "luck. "
        "The leaders can hardly be told apart; only the test result counts.",
        class_="say warn",
    )


def _leaders(record: StudyRecord) -> Markup | None:
    if not record.ranked:
        return None
    shown = tag("div", _table(record, record.ranked[:SHOWN]).html(), class_="card long")
    rest = None
    if len(record.ranked) > SHOWN:
        listed = record.ranked[:LISTED]
        name = "All configurations" if len(listed) == len(record.ranked) else f"The first {LISTED} configurations"
        rest = folded(name, _table(record, listed).html())
    return section("Leaders", shown, rest)


def _table(record: StudyRecord, tried: tuple[Tried, ...]) -> Table:
    errors = [record.error(t) for t in tried]
    known = [e for e in errors if e is not None]
    worst, least = max(known, default=1.0), min(known, default=0.0)
    bars = tuple(0.0 if e is None else 0.12 + 0.88 * (worst - e) / ((worst - least) or 1.0) for e in errors)
    odd = any(t.state != "finished" for t in tried)
    loss = record.score != "loss" and any(t.tie is not None for t in tried)
    head = ["", f"validation {metric_name(record.score)}", *(["validation loss"] if loss else [])]
    head += [axis.name.replace("_", " ") for axis in record.axes] + ["epochs", *(["state"] if odd else []), "number"]
    rows = []
    for place, t in enumerate(tried, 1):
        cells = [str(place), t.state if t.value is None else metric(record.score, t.value)]
        cells += [number(t.tie, padded=True)] if loss else []
        cells += [_value(t.values.get(axis.name)) for axis in record.axes]
        rows.append((*cells, number(t.epochs), *([t.state] if odd else []), f"#{t.number}"))
    return Table(tuple(head), tuple(rows), tuple(range(len(head))), bars=((1, bars),))


def _value(value: Any) -> str:
    return NOTHING if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _course(record: StudyRecord) -> Markup | None:
    name = "Share of wrong answers" if record.score == "accuracy" else metric_name(record.score).capitalize()
    course, learned = figures.progress(record), figures.leaders_curves(record)
    cards = []
    if course:
        key = _key(("train", "one configuration"), ("valid", "the best so far"))
        cards.append(card("The best so far", course, key, more=name.lower(), figure=True))
    if learned:
        key = _key(("valid", "the best"), ("train", "the next four"), ("median", "the median of those that finished"))
        cards.append(card("How the leaders learned", learned, key, more=name.lower(), figure=True))
    return section("The course of the search", tag("div", cards, class_="grid") if cards else None)


def _key(*pairs: tuple[str, str]) -> Markup:
    return tag("ul", [tag("li", tag("i", "", class_=kind), words) for kind, words in pairs], class_="key")


def _parallel(record: StudyRecord) -> Markup | None:
    drawing = figures.parallel(record)
    if not drawing:
        return None
    words = (
        f"Each line is one configuration. The best is orange, the next {figures.LEADERS - 1} blue. "
        "Lines through the same value are spread a little."
    )
    key = tag("p", words, class_="small")
    return section("All configurations", card("Parallel coordinates", drawing, key, figure=True, kind="card wide"))


def _slices(record: StudyRecord) -> Markup | None:
    cards = []
    for axis in sorted(record.axes, key=lambda axis: -importance(record, axis)):
        drawing = figures.slice_of(record, axis)
        if drawing:
            more = f"explains {percent(importance(record, axis))} of the variation"
            cards.append(card(axis.name.replace("_", " "), drawing, more=more, figure=True))
    if not cards:
        return None
    key = [("muted", "one configuration"), ("train", "the best with this value")]
    held = any(len(figures.slices(record, axis)[1]) > 1 for axis in record.axes)
    key += [("valid", "the best configuration with only this one changed")] if held else []
    words = "How much each hyperparameter explains by itself is computed from the ranks of the errors."
    return section("One at a time", _boxes(cards), _key(*key), tag("p", words, class_="small"))


def _boxes(boxes: list[Markup]) -> Markup:
    """Put boxes side by side: three in a row, or two where three would leave one alone."""
    return tag("div", boxes, class_="grid" if len(boxes) in (1, 2, 4) else "grid three")


def _pairs(record: StudyRecord) -> Markup | None:
    axes = sorted(record.axes, key=lambda axis: -importance(record, axis))
    pairs = sorted(combinations(range(len(axes)), 2), key=lambda pair: (sum(pair), pair))[:PAIRS]
    cards = [drawing for i, j in pairs if (drawing := figures.heat_map(record, axes[i], axes[j]))]
    if not cards:
        return None
    unit = " in percent" if record.score == "accuracy" else ""
    words = (
        f"Each cell is the best validation {metric_name(record.score)}{unit} with these two values, the darker the "
        "better. Where the best column depends on the row, two hyperparameters interact, and changing one at a time "
        "may miss the best pair."
    )
    boxes = [tag("div", drawing, class_="card") for drawing in cards]
    return section("Two at a time", _boxes(boxes), tag("p", words, class_="small"))


def _honesty(record: StudyRecord) -> Markup | None:
    found = luck(record)
    best = record.best
    if best is None or len(record.known) < 2:
        return None
    count = len(record.known)
    coins = (
        f"{number(count)} coins, tossed 100 times each: the best of them shows {percent(expected_best(count, 100))} "
        "heads on average. So a result that was used to choose is not a fair estimate of what was chosen."
    )
    rows: list[tuple[str, str]] = [("configurations compared", number(count))]
    if record.examples:
        rows.append(("validation examples", number(record.examples[1])))
    rows.append((f"best validation {metric_name(record.score)}", metric(record.score, best.value)))
    if found is not None:
        rows.append(("accuracy of equally good ones whose best would look like this", metric(record.score, found[0])))
        rows.append(("so luck is at most", f"{100 * found[1]:.2f} points"))
    if record.test and record.score in record.test["metrics"]:
        rows.append((f"test {metric_name(record.score)}", metric(record.score, record.test["metrics"][record.score])))
    note = (
        "Luck is computed for configurations that fail independently of each other; networks trained on the same data "
        "fail on the same examples, so the true share is smaller."
        if found is not None
        else "For this metric there is no simple formula for the share of luck."
    )
    table = card("Choosing and evaluating", Table(("", ""), tuple(rows), (1,)).html("pairs", head=False))
    words = tag("div", tag("p", coins), tag("p", note, class_="small"))
    return section("How much of it is luck?", tag("div", table, words, class_="grid"))


def _making(record: StudyRecord) -> Markup | None:
    left = Table(("", ""), tuple((axis.name, _domain(axis)) for axis in record.axes))
    parts = [card("What varied", left.html("pairs", head=False))]
    if record.same:
        parts.append(card("What was the same", Table(("", ""), record.same).html("pairs", head=False)))
    return section("How it was made", tag("div", parts, class_="grid"))


def _domain(axis: Any) -> str:
    if axis.ends is None:
        return ", ".join(axis.values)
    return f"{axis.ends[0]:g} to {axis.ends[1]:g}" + (", logarithmic" if axis.log else "")


def _again(record: StudyRecord) -> Markup | None:
    if not record.command:
        return None
    parts = [tag("h3", "Search again"), command(spell(list(record.command)))]
    if not record.complete:
        parts += [tag("h3", "Continue it"), command(spell(list(record.resume)))]
    return section("Do it again", *parts)
