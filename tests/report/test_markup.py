"""Names of any kind appear as text and run nothing, in HTML, Markdown, LaTeX and a terminal."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LinearRegression

import fairstress as fs
from fairstress.cli import main
from fairstress.report.text.markup import (
    Sheet,
    fill,
    printable,
    to_html,
    to_html_text,
    to_latex,
    to_latex_text,
    to_markdown,
    to_markdown_text,
)

SCRIPT = "</script><img src=x onerror=alert(1)>"
NAMES = [
    SCRIPT,
    "\"double\" and 'single' & `back`",
    "a_b|c*d~e^f$g$#h%i\\j{k}[l]",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "שלום עולם",
    "n" * 200,
    "\x1b[31mred\x07\r\nsecond line\x00",
    "left\u202eright\u2066",
    "lone \ud800 half",
]


class Reader(HTMLParser):
    """What a browser makes of a page: the tags, and the text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.cells = [], set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.cells.append(data)


def unlatex(text):
    """What LaTeX prints, for the commands that we use."""
    commands = {
        r"\textbackslash{}": "\\",
        r"\textasciicircum{}": "^",
        r"\textasciitilde{}": "~",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
        r"{\char34}": '"',
        "{[}": "[",
        "{*}": "*",
        "{}": "",
    }
    names = "|".join(re.escape(command) for command in commands)
    found = re.sub(rf"{names}|\\([{{}}$&#%_])", lambda m: m[1] or commands[m[0]], text)
    left = re.sub(rf"{names}|\\[{{}}$&#%_]", "", text)
    assert not set("\\{}$&#%_^~|[*") & set(left)  # nothing else is special to LaTeX
    return found


@pytest.mark.parametrize("name", NAMES)
def test_text_comes_back_from_each_language_as_it_would_be_printed(name):
    plain = printable(name)
    assert "".join(Reader(to_html_text(name)).cells) == plain
    assert unlatex(to_latex_text(name)) == plain
    markdown = re.sub(r"\\([\\`*_\[\]|~$:@^])", r"\1", to_markdown_text(name))
    assert "".join(Reader(markdown).cells) == plain


@pytest.mark.parametrize("name", NAMES)
def test_nothing_steers_a_terminal(name):
    shown = printable(name)
    assert shown.isprintable() or "\u200d" in shown
    assert printable(shown) == shown
    shown.encode()
    assert not any(c in shown for c in "\u202e\u2066\x1b\n")


def test_what_is_harmless_stays_as_it_is():
    for name in (SCRIPT, "שלום עולם", "\U0001f469\u200d\U0001f467", "naïve Größe"):
        assert printable(name) == name


def test_characters_that_latex_would_join_stay_apart():
    assert to_latex_text("a--b---c ''d'' ?`") == "a-{}-b-{}-{}-c '{}'d'{}' ?{}`"


def test_markdown_makes_no_links_mentions_or_lists():
    assert to_markdown_text("see http://x.y or www.x.y, ask @me, :tada:") == (
        r"see http\://x.y or www\.x.y, ask \@me, \:tada\:"
    )
    notes = ("1. first", "# head", "- item", "0.5 is a number")
    text = to_markdown(Sheet("t", ("a",), (("b",),), notes))
    assert [line for line in text.splitlines()[5:] if line] == [
        r"1\. first",
        r"\# head",
        r"\- item",
        r"0\.5 is a number",
    ]


def test_a_table_has_its_cells_and_nothing_else_in_each_language():
    sheet = Sheet("A | title", ("name", "value"), (("x & y", "-1.5"), (SCRIPT, "2")), ("A <note>.",), numeric=True)
    page = Reader(to_html(sheet))
    assert set(page.tags) == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert page.attributes == {"class", "style"}
    cells = [cell for cell in page.cells if cell.strip()]
    assert cells == ["A | title", "name", "value", "x & y", "-1.5", SCRIPT, "2", "A <note>."]
    assert to_markdown(sheet).splitlines() == [
        r"**A \| title**",
        "",
        "| name | value |",
        "| --- | ---: |",
        "| x &amp; y | -1.5 |",
        "| &lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; | 2 |",
        "",
        "A &lt;note&gt;.",
    ]
    rows = [row for row in to_latex(sheet).splitlines() if "tabcolsep" not in row]
    assert rows[3] == r"\begin{tabular}{lr}"
    assert rows[7:9] == [
        r"x \& y & -1.5 \\",
        r"\textless{}/script\textgreater{}\textless{}img src=x onerror=alert(1)\textgreater{} & 2 \\",
    ]


# ---------------------------------------------------------------- on results


@pytest.fixture(scope="module", params=[SCRIPT, "\x1b[31m|_$&"], ids=["script", "control"])
def audit(request):
    graph = fs.CausalGraph(
        edges=(("a\u202e", request.param), (request.param, "z")),
        pairs=((request.param, "z"),),
        protected="a\u202e",
        outcome="y\n",
    )
    truth = fs.datasets.simulate(graph, 200, random_state=0)
    return fs.Audit.fit(truth.frame, graph, penalty=1, max_degree=1, random_state=0)


def test_results_show_odd_names_as_text(audit):
    x = audit.graph.features[0]
    shown = (audit, audit.curve([0, 0.2]), audit.profile((x, "z"), [0.2]), audit.worst_case(0.2), audit.check())
    for result in shown:
        page = Reader(result._repr_html_())
        assert set(page.tags) <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        assert page.attributes <= {"class", "style"}
        assert printable(x) in "".join(page.cells)
        text = result.summary()
        assert all(printable(line) == line for line in text.split("\n"))
    for result in shown[:2]:
        assert all(printable(line) == line for line in (result.to_latex() + result.to_markdown()).split("\n"))
        assert SCRIPT not in result.to_markdown()
    assert not any(line.startswith(" for counterfactual") for line in audit.details().split("\n"))


def test_a_mistake_with_an_odd_name_does_not_steer_the_terminal(tmp_path, law_frame):
    law_frame[:50].to_csv(tmp_path / "t.csv", index=False)
    settings = 'data = "t.csv"\ngraph = "race -> \\u001b[31mx"\nprotected = "race"\noutcome = "zfya"\n'
    (tmp_path / "audit.toml").write_text(settings)
    result = CliRunner().invoke(main, ["run", str(tmp_path / "audit.toml")])
    assert result.exit_code == 2
    assert r"'\x1b[31mx'" in result.stderr
    assert "\x1b" not in result.stderr


def test_paragraphs_are_filled_to_the_width_of_a_terminal():
    assert max(map(len, fill("word " * 100).split("\n"))) <= 100


def test_the_reporting_tables_have_the_numbers_of_the_results(law_audit):
    curve = law_audit.curve([0, 0.5, 0.9])
    rows = [line.split(" | ") for line in curve.to_markdown().splitlines() if line.startswith("| 0")]
    frame = curve.to_frame()
    np.testing.assert_allclose([float(row[1]) for row in rows], frame["cfu"], rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose([float(row[5].strip(" |")) for row in rows], frame["ugpa <-> lsat"], atol=5e-4)
    assert "the curve shows the penalty" in curve.to_latex()
    table = law_audit.to_markdown()
    for name, baseline in law_audit.baselines.items():
        assert f"| Baseline {name} | unfairness {baseline.unfairness:.4g}" in table
    assert "| Pairs at structural penalty 0 | cannot matter |" in table


def test_a_graph_without_pairs_has_a_table_too(law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa =fair=> lsat", protected="race", outcome="zfya")
    table = fs.Audit.fit(law_frame[:500], graph, penalty=1, max_degree=1).to_markdown()
    assert "| Errors that may be correlated | none |" in table
    assert "path-specific; called fair\\: ugpa -&gt; lsat" in table


def test_wide_heads_of_numbers_are_stacked_in_latex():
    sheet = Sheet("t", ("p", "CFU at penalty 0", "n" * 30, "a & b_1 c & d_2"), (), (), numeric=True)
    stacked = rf"p & \shortstack[r]{{CFU at \\ penalty 0}} & {'n' * 30} & \shortstack[r]{{a \& b\_1 c \\ \& d\_2}} \\"
    assert stacked in to_latex(sheet).splitlines()


def test_a_user_predictor_of_columns_is_not_reported_as_fair():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    predictor = fs.Predictor(LinearRegression(), input="features", gradient="differences")
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, predictor=predictor)
    text = audit.to_markdown()
    assert f"| CFU under Model A | {audit.cfu({}):.4g} |" in text
    assert "| Audited predictor | LinearRegression on features; R2 " in text
    assert f"| Baseline blind | CFU under Model A {audit.cfu({}, baseline='blind'):.4g}; R2 " in text


def test_a_curve_of_another_measure_has_no_share_of_the_variance():
    graph = fs.CausalGraph.parse("a -> x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees={"x": 1, "z": 1}, measure="absolute")
    text = audit.curve([0, 0.3]).to_markdown()
    assert "nan" not in text
    assert "% of variance" not in text
    assert "squared" not in text
