"""The one table writer: the same rows as plain text, as Markdown and as HTML."""

from lamina._tables import Table, table

ROWS = Table(
    ("name", "count", "share"), (("a_b", "12", "75%"), ("<c>", "4", "")), (1, 2), (0,), bars=((2, (0.75, 0.0)),)
)


def test_plain_text_aligns_the_columns_and_ends_without_spaces():
    assert ROWS.text() == "name  count  share\na_b      12    75%\n<c>       4"
    assert ROWS.first(1).text() == "name  count  share\na_b      12    75%"


def test_numbers_have_three_digits_and_nan_is_a_dash():
    assert table(
        ("layer", "kind", "norm"), [("x", "relu", 12.3456), ("y", "", float("nan")), ("z", "", 7)], left=2
    ) == ("layer  kind  norm\nx      relu  12.3\ny               -\nz               7")


def test_markdown_escapes_and_marks_the_right_columns():
    assert ROWS.markdown() == [
        "| name | count | share |",
        "| --- | ---: | ---: |",
        "| a\\_b | 12 | 75% |",
        "| \\<c\\> | 4 |  |",
        "",
    ]


def test_html_escapes_marks_names_to_be_typed_and_draws_bars():
    assert ROWS.html("pairs", head=False) == (
        '<div class="scroll"><table class="pairs"><tbody>'
        '<tr><td><code>a_b</code></td><td class="right">12</td>'
        '<td class="right barred" style="--v:0.750"><span>75%</span></td></tr>'
        '<tr><td><code>&lt;c&gt;</code></td><td class="right">4</td><td class="right"></td></tr>'
        "</tbody></table></div>"
    )
    assert ROWS.html().count('<th class="right" scope="col">') == 2
