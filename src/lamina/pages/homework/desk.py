"""The page of a homework: a name, the questions, and what is right; a form without a script.

What comes in is a stranger's: bodies, names and answers have a largest length, and everything shown is escaped. Who may
come in at all is decided by the guard before it, as for every page.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from lamina._errors import RunError
from lamina._markup import Markup, tag
from lamina.pages._forms import drawn
from lamina.pages.homework.answers import Answers, FullError
from lamina.pages.homework.exercises import Assignment, assign
from lamina.pages.site import _plain as plain
from lamina.pages.site.server import HOMEWORK

BODY, NAME, ANSWER = 60_000, 60, 200
"""The most bytes of a hand-in, characters of a name, and characters of an answer."""
_COLUMNS = re.compile(r"[^\w .,'’-]")
Answered = tuple[int, str]


class Desk:
    """Hands out questions and takes answers.

    Args:
        assignment: the questions.
        answers: where answers go.
    """

    def __init__(self, assignment: Assignment, answers: Answers) -> None:
        self._assignment, self._answers = assignment, answers

    @classmethod
    def open(cls, page: str, data: Path | None, collect: Path) -> "Desk":
        """Make the desk of a page.

        Args:
            page: its link.
            data: the teacher's table.
            collect: the CSV file of answers.
        """
        assignment = assign(page, data)
        return cls(assignment, Answers(collect, assignment.count))

    async def serve(self, scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Any]]) -> Answered:
        """Answer a request with a status and a page."""
        name = _name(parse_qs(scope.get("query_string", b"").decode("latin-1")[:2000]).get("name", [""])[0])
        if scope["method"] in ("GET", "HEAD"):
            return 200, self._page(name)
        if scope["method"] != "POST":
            return 405, self._page(name)
        kind = dict(scope["headers"]).get(b"content-type", b"").split(b";")[0].strip()
        body = await _body(receive)
        if kind != b"application/x-www-form-urlencoded" or body is None or not name:
            words = "This could not be read: go back, type your name, and keep answers short."
            return 400, self._page("", tag("p", words, class_="lead"))
        try:
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=self._assignment.count + 5)
        except (UnicodeDecodeError, ValueError):
            return 400, self._page(name)
        _, questions = self._assignment.asked(name)
        given = [fields.get(f"q{i}", [""])[0].strip()[:ANSWER] for i in range(1, len(questions) + 1)]
        right = [question.right(answer) for question, answer in zip(questions, given, strict=True)]
        try:
            tries = await asyncio.to_thread(self._answers.add, name, given, right)
        except FullError as error:
            return 429, self._page(name, tag("p", str(error), class_="lead"), given)
        except RunError as error:
            return 507, self._page(name, tag("p", str(error), class_="lead"), given)
        words = f"{sum(right)} of {len(right)} are right. This was try {tries}; it has been collected."
        return 200, self._page(name, tag("p", words, class_="lead", role="status"), given, right)

    def _page(
        self, name: str, first: Markup | None = None, given: list[str] | None = None, right: list[bool] | None = None
    ) -> str:
        page = self._assignment.page
        title = tag("h1", f"Homework: {page.title}")
        link = tag("p", "The page to work with: ", tag("a", page.title, href=f"/{page.path}", target="_blank"),
                   class_="small")  # fmt: skip
        if not name:
            field = tag("input", name="name", maxlength=NAME, required=True, autocomplete="name", id="name")
            parts = tag("label", "Your name", for_="name"), field, tag("button", "Show my questions", type="submit")
            form = tag("form", parts, method="get", action=HOMEWORK, class_="homework")
            return plain._document("Homework", title, link, first, form)
        told, questions = self._assignment.asked(name)
        rows = []
        for i, question in enumerate(questions, 1):
            mark = None if right is None else _marked((given or [""] * i)[i - 1], right[i - 1])
            field = tag(
                "input",
                name=f"q{i}",
                id=f"q{i}",
                maxlength=ANSWER,
                autocomplete="off",
                value=(given or [""] * i)[i - 1],
            )
            rows.append(tag("li", tag("label", question.text, for_=f"q{i}"), tag("br"), field, " ", mark))
        form = tag("form", tag("ol", rows), tag("button", "Hand in", type="submit"), method="post",
                   action=f"{HOMEWORK}?{urlencode({'name': name})}", class_="homework")  # fmt: skip
        who = tag("p", f"For {name}." + (" Numbers may be off by 1%." if told else ""), class_="small")
        scene = self._assignment.drawn(name)
        picture = None if scene is None else tag("div", Markup(drawn(scene)), class_="lamina-svg", role="img",
                                                 aria_label="Your network", style="max-width:560px")  # fmt: skip
        return plain._document("Homework", title, link, who, first, tag("p", told) if told else None, picture, form)


def _marked(given: str, right: bool) -> Markup:
    kind, words = ("good", "✓ right") if right else ("bad", "✗ not yet") if given else ("blank", "– left blank")
    return tag("b", words, class_=kind)


def _name(text: str) -> str:
    r"""Make a name of what was sent: letters, digits, spaces and a few marks, 60 of them.

    >>> _name("  Ada\tLovelace "), _name("<b>"), _name("=x")
    ('Ada Lovelace', 'b', 'x')
    """
    return " ".join(_COLUMNS.sub(" ", text).split()).lstrip("-'’., ")[:NAME].strip()


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes | None:
    """Collect a body, None where it is too long or breaks off."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > BODY:
            return None
        if not message.get("more_body", False):
            return body
