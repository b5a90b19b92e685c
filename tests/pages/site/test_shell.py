"""What is around a page."""

import pytest

from lamina._errors import RunError
from lamina.pages.site import _shell as shell
from lamina.pages.site.contents import pages


def test_an_address_changes_with_the_content():
    assert all(len(shell.address(name).split("?v=")[1]) == 12 for name in shell.FILES)
    assert len({shell.address(name).split("?v=")[1] for name in shell.FILES}) == len(shell.FILES)


def test_the_style_sheet_has_the_colors_of_the_drawings():
    assert "--lamina-input: #009900" in shell.asset("pages.css")


def test_the_links_below_a_page_lead_on():
    first, second, third = pages()[:3]
    below = shell.foot(second)
    assert f'href="/{first.path}"' in below and f'href="/{third.path}"' in below and f"--edit {second.path}" in below


def test_another_marimo_is_refused_in_a_sentence():
    with pytest.raises(RunError, match=r"no mount configuration where it is expected: install marimo 0\.25 with"):
        shell.framed("<html></html>", pages()[0], "light")
