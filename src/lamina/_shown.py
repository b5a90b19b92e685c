"""How things show themselves: one line at a prompt, one small card in a notebook."""

from collections.abc import Iterable

from lamina._markup import Markup, tag
from lamina._tables import Table


class Shown:
    """Something with a headline and facts, which become its `repr` and its HTML.

    >>> class Cup(Shown):
    ...     def _headline(self): return "Cup(2 of 3 full)"
    ...     def _facts(self): return [("holds", "tea & milk")]
    >>> Cup()
    Cup(2 of 3 full)
    >>> "<b>Cup(2 of 3 full)</b>" in Cup()._repr_html_(), "tea &amp; milk" in Cup()._repr_html_()
    (True, True)
    """

    def _headline(self) -> str:
        """Say in one line what this is."""
        raise NotImplementedError

    def _facts(self) -> Iterable[tuple[str, str]]:
        """Give what else is worth knowing, by name."""
        return ()

    def _picture(self) -> Markup | None:
        """Give what is drawn below the facts."""
        return None

    def __repr__(self) -> str:
        return self._headline()

    def _repr_html_(self) -> str:
        return str(card(self._headline(), Table(("", ""), tuple(self._facts())), self._picture()))


def card(headline: str, table: Table, picture: Markup | None = None) -> Markup:
    """Write a headline, a table and a picture as HTML; a table without names has no head.

    >>> str(card("Cup", Table(("", ""), ())))
    '<div><b>Cup</b></div>'
    """
    rows = table.html(head=any(table.head)) if table.rows else None
    return tag("div", tag("b", headline), rows, picture)
