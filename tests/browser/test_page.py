"""The page in a browser, from the file system and offline."""

from __future__ import annotations

import base64
import copy
import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path

import pypdf
import pytest

from fairstress.report.html.page import shown, write_page

PAGES = ["law_page", "hostile_page", "user_predictor_page"]


def load(driver, path: Path, *, width: int = 1000, scheme: str = "light", folded: bool = False) -> None:
    """Open a page, and its parts unless they are to stay folded."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    look = {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", look)
    driver.get_log("browser"), driver.get_log("performance")  # those of the page before
    driver.get(path.as_uri())
    if not folded:
        driver.execute_script("document.querySelectorAll('details.part').forEach(part => part.open = true)")


def script(driver, code: str, *arguments):
    return driver.execute_script(code, *arguments)


@pytest.fixture(params=PAGES)
def page(request) -> Path:
    return request.getfixturevalue(request.param)


def test_the_page_loads_without_a_message_and_asks_for_nothing(browser, page):
    load(browser, page)
    script(browser, "document.querySelectorAll('.point').forEach(dot => dot.focus())")
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert {url for url in asked if url.startswith("file:")} == {page.as_uri()}
    assert script(browser, "return performance.getEntriesByType('resource').length") == 0


def test_the_slider_moves_matrix_text_and_group_means(browser, law_page):
    load(browser, law_page)
    points = content(browser)["curve"]["points"]
    for i, point in enumerate(points):
        move = (
            "const s = document.getElementById('budget'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))"
        )
        script(browser, move, i)
        cells = numbers(browser, "#matrix tbody")
        off = [value for j, row in enumerate(point["correlation"]) for k, value in enumerate(row) if j != k]
        assert cells == off
        assert numbers(browser, "#tip")[:2] == [point["p_max"], point["cfu"]]
        means = [g[name] for g in point["groups"] for name in ("factual", "counterfactual", "difference")]
        assert numbers(browser, "#moved tbody") == means


@pytest.mark.parametrize("event", ["focus", "mouseenter"])
def test_a_dot_shows_its_values_when_pointed_at_or_focused(browser, law_page, event):
    load(browser, law_page)
    for i, point in enumerate(content(browser)["curve"]["points"]):
        act = "dot.focus()" if event == "focus" else "dot.dispatchEvent(new Event('mouseenter'))"
        script(browser, f"const dot = document.querySelectorAll('.point')[arguments[0]]; {act}", i)
        assert numbers(browser, "#tip")[:2] == [point["p_max"], point["cfu"]]


def test_numbers_of_the_script_read_like_those_of_the_tables(browser, law_page, tmp_path):
    results = content_of(law_page)
    point = next(p for p in results["curve"]["points"] if p["p_max"] == results["details"]["p_max"])
    for value, text in ((1.6154e-7, "1.615e\N{MINUS SIGN}07"), (0.25, "0.25"), (2.5e7, "2.5e+07")):
        point["cfu_unpenalised"] = value
        write_page(tmp_path / "page.html", results)
        load(browser, tmp_path / "page.html")
        assert text == shown(value)
        assert f"without structural penalty {text};" in script(
            browser, "return document.getElementById('tip').textContent"
        )


def test_arrow_keys_walk_along_the_dots(browser, law_page):
    from selenium.webdriver.common.keys import Keys

    load(browser, law_page)
    assert script(browser, "return document.querySelectorAll('.point[tabindex=\"0\"]').length") == 1
    script(browser, "document.querySelectorAll('.point')[1].focus()")
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert numbers(browser, "#tip")[0] == content(browser)["curve"]["points"][2]["p_max"]


def test_tables_sort_by_number_and_by_text(browser, law_page):
    load(browser, law_page)
    get = "return [...document.querySelector('#part-people table.sorts').tBodies[0].rows].map(row => row.cells[{}].{})"
    for column, what, order in ((2, "querySelector('data').value", float), (0, "textContent", str)):
        button = browser.find_element("css selector", "#part-people table.sorts").find_elements(
            "css selector", "button"
        )[column]
        for reverse in (False, True):
            script(browser, "arguments[0].click()", button)
            found = [order(value) for value in script(browser, get.format(column, what))]
            assert found == sorted(found, key=lambda v: v.lower() if order is str else v, reverse=reverse)
    assert script(browser, "return document.querySelectorAll('th[aria-sort]').length") == 1


def test_small_groups_and_people_are_not_on_the_page_unless_asked_for(browser, hostile_results, tmp_path):
    results = copy.deepcopy(hostile_results)
    results["data"]["groups"][0]["people"] = 3
    write_page(tmp_path / "page.html", results)
    load(browser, tmp_path / "page.html")
    assert browser.get_log("browser") == []
    assert content(browser)["privacy"]["hidden_groups"] == ["<b>one</b>", "__proto__"]
    assert content(browser)["people"] is None
    cells = script(browser, "return [...document.querySelectorAll('#moved td')].map(cell => cell.textContent)")
    assert cells[3:] == ["not shown"] * 6
    assert "not shown" not in cells[:3]
    assert script(browser, "return document.querySelectorAll('#spread .median').length") == 1  # everyone's
    text = script(browser, "return document.body.innerText")
    assert "Groups of fewer than 10 people are not told apart" in text
    assert "The rows that move most" not in text


def test_a_logarithmic_scale_keeps_the_values(browser, law_page):
    load(browser, law_page)
    script(browser, "document.getElementById('log').click()")
    points = content(browser)["curve"]["points"]
    dots = script(browser, "return [...document.querySelectorAll('.point')].map(dot => Number(dot.dataset.cfu))")
    assert dots == [point["cfu"] for point in points]
    heights = script(
        browser, "return [...document.querySelectorAll('.dot')].map(dot => Number(dot.getAttribute('cy')))"
    )
    assert heights == sorted(heights, reverse=True)
    assert browser.get_log("browser") == []


def test_every_number_that_the_script_draws_is_in_the_results(browser, page):
    load(browser, page)
    known = set(plain_numbers(content(browser)))
    for i in range(len(content(browser)["curve"]["points"])):
        script(browser, "document.querySelectorAll('.point')[arguments[0]].focus()", i)
        drawn = numbers(browser, "body")
        drawn += script(
            browser, "return [...document.querySelectorAll('[data-p-max]')].map(x => Number(x.dataset.pMax))"
        )
        assert set(drawn) <= known


def test_print_shows_everything(browser, page):
    load(browser, page, folded=True)
    folded = script(
        browser, "return [...document.querySelectorAll('details:not([open]) data')].map(d => d.textContent)"
    )
    assert len(folded) > 50
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    reader = pypdf.PdfReader(io.BytesIO(base64.b64decode(printed)))
    text = " ".join(sheet.extract_text() for sheet in reader.pages)
    words = set(text.replace("\N{MINUS SIGN}", "-").split())
    missing = {value for value in (f.replace("\N{MINUS SIGN}", "-") for f in folded) if value not in words}
    assert not {value for value in missing if value not in text.replace("\N{MINUS SIGN}", "-")}
    assert "Download all data" not in text


@pytest.mark.parametrize("width", [375, 320, 1400])
def test_nothing_makes_the_page_scroll_sideways(browser, page, width):
    load(browser, page, width=width)
    script(browser, "document.querySelectorAll('details').forEach(d => d.open = true)")
    assert script(browser, "return document.documentElement.scrollWidth") <= width
    assert script(browser, "return document.body.scrollWidth") <= width


@pytest.mark.parametrize("width", [375, 1000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(browser, page, axe, scheme, width):
    load(browser, page, scheme=scheme, width=width)
    script(browser, "document.querySelectorAll('details').forEach(d => d.open = true)")
    script(browser, axe)
    found = browser.execute_async_script("axe.run(document).then(arguments[arguments.length - 1])")
    bad = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in bad] == []
    assert len(found["passes"]) > 15


def test_hostile_names_are_text_and_run_nothing(browser, hostile_page, hostile_names):
    load(browser, hostile_page)
    assert script(browser, "return document.querySelectorAll('img, iframe, object, a[href^=javascript]').length") == 0
    assert script(browser, "return document.scripts.length") == 2
    assert script(browser, "return window.harmed") is None
    text = script(browser, "return document.body.textContent")
    titles = script(browser, "return [...document.querySelectorAll('svg title')].map(t => t.textContent).join(' ')")
    for name in hostile_names:
        assert name in text
        assert name in titles
    assert set(hostile_names) <= set(
        script(browser, "return [...document.querySelectorAll('bdi')].map(b => b.textContent)")
    )


# ---------------------------------------------------------------- the first screen


def test_what_stands_below_the_first_screen_is_folded(browser, law_page):
    load(browser, law_page, folded=True)
    assert script(browser, "return document.querySelectorAll('details[open]').length") == 0
    assert script(browser, "return document.querySelectorAll('details.part > summary h2').length") == 7


def test_six_answers_take_at_most_150_words_and_none_of_the_papers(browser, law_page):
    load(browser, law_page, folded=True)
    answers = script(browser, "return [...document.querySelectorAll('.answers dd')].map(a => a.textContent)")
    assert len(answers) == 6
    assert len(" ".join(answers).split()) <= 150
    first = script(
        browser, "return document.querySelector('header').innerText + document.getElementById('verdict').innerText"
    )
    assert not re.findall(r"p_max|\bCFU\b|[\u0370-\u03ff]|Model A|budget", first)


@pytest.mark.parametrize("width", [390, 1280])
def test_no_words_of_the_picture_lie_on_each_other(browser, page, width):
    load(browser, page, width=width, folded=True)
    boxes = script(
        browser,
        "return [...document.querySelectorAll('#picture text')].filter(t => t.textContent).map(t => {"
        "const b = t.getBBox(); return [t.textContent, b.x, b.y, b.x + b.width, b.y + b.height]})",
    )
    inside = script(browser, "return document.querySelector('#picture svg').viewBox.baseVal.width") if boxes else 0
    for i, (text, left, top, right, bottom) in enumerate(boxes):
        assert left >= -1, text
        assert right <= inside + 1, text
        for other, x, y, x_end, y_end in boxes[:i]:
            over = min(right, x_end) - max(left, x), min(bottom, y_end) - max(top, y)
            assert min(over) <= 3, (text, other)  # letters do not fill their boxes


def test_the_picture_marks_where_both_predictors_are_equally_unfair(browser, law_page):
    load(browser, law_page, folded=True)
    found = content(browser)["conclusion"]
    marked = script(browser, "return Number(document.querySelector('#picture .breaking').dataset.pMax)")
    assert marked == found["p_max"]
    assert found["crossing"]["cfu"] == pytest.approx(found["crossing"]["baseline_cfu"], rel=0.02)


# ---------------------------------------------------------------- data to take along, and the graph


def saved_csv(driver, caption: str) -> list[list[str]]:
    """What the button beside a table would save."""
    catch = (
        "const said = arguments[0]; const made = URL.createObjectURL; let held;"
        "URL.createObjectURL = (blob) => { held = blob; return made(blob); };"
        "[...document.querySelectorAll('button.download')].find(b => b.ariaLabel.includes(said)).click();"
        "URL.createObjectURL = made; held.text().then(arguments[1])"
    )
    return list(csv.reader(io.StringIO(driver.execute_async_script(catch, caption))))


def test_the_table_behind_every_figure_can_be_taken_along(browser, law_page):
    load(browser, law_page)
    curve = content(browser)["curve"]["points"]
    head, *rows = saved_csv(browser, "Worst case for each budget")
    assert head[:2] == ["p_max", "CFU"]
    assert [[float(x) for x in row[:2]] for row in rows] == [[p["p_max"], p["cfu"]] for p in curve]
    tables = script(browser, "return document.querySelectorAll('table:not(.facts):not(#matrix):not(#moved)').length")
    names = script(browser, "return [...document.querySelectorAll('button.download')].map(b => b.ariaLabel)")
    assert len(set(names) - {None}) + names.count(None) >= tables - 2  # profiles share a caption
    assert browser.get_log("browser") == []


def test_no_cell_of_a_saved_table_is_a_formula(browser, hostile_results, tmp_path):
    results = copy.deepcopy(hostile_results)
    results["levels"][0]["name"] = "=HYPERLINK(1)"
    write_page(tmp_path / "page.html", results)
    load(browser, tmp_path / "page.html")
    cells = [cell for row in saved_csv(browser, "Levels that the curve") for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert not [cell for cell in cells if cell.startswith("=")]


def test_a_graph_with_many_layers_keeps_its_letters_and_scrolls(browser, law_page, tmp_path):
    results = content_of(law_page)
    names = [f"x{i}" for i in range(1, 11)]
    chain = [{"from": a, "to": b, "fair": False} for a, b in pairwise(["race", *names])]
    results["graph"] |= {"features": names, "variables": names, "edges": chain, "pairs": []}
    for part in ("curve", "details", "conclusion", "benchmarks", "marks"):
        results[part] = None
    write_page(tmp_path / "page.html", results)
    load(browser, tmp_path / "page.html", width=375)
    drawn = script(browser, "return document.querySelector('#graph svg').getBoundingClientRect().width")
    assert drawn == script(browser, "return document.querySelector('#graph svg').viewBox.baseVal.width")
    assert script(browser, "return document.documentElement.scrollWidth") <= 375
    assert script(browser, "return document.getElementById('graph').tabIndex") == 0


def test_arrows_of_the_graph_keep_clear_of_other_boxes(browser, law_page, tmp_path):
    results = content_of(law_page)
    arrows = [("race", "u"), ("race", "v"), ("race", "w"), ("u", "w")]
    edges = [{"from": a, "to": b, "fair": False} for a, b in arrows]
    results["graph"] |= {"features": ["u", "v", "w"], "variables": ["u", "v", "w"], "edges": edges, "pairs": []}
    for part in ("curve", "details", "conclusion", "benchmarks", "marks"):
        results[part] = None
    write_page(tmp_path / "page.html", results)
    load(browser, tmp_path / "page.html")
    through = """
    const boxes = [...document.querySelectorAll('#graph rect')].map(r => r.getBBox());
    return [...document.querySelectorAll('#graph path.edge')].map(path => boxes.filter(b => {
      for (let i = 0; i <= 40; i++) {
        const p = path.getPointAtLength(path.getTotalLength() * i / 40);
        if (p.x > b.x && p.x < b.x + b.width && p.y > b.y && p.y < b.y + b.height) return true;
      }
    }).length)
    """
    assert script(browser, through) == [0, 0, 0, 0]


# ---------------------------------------------------------------- decisions

TURNED = "Shares of people whose decision turns in the other world"


@pytest.mark.parametrize("name", ["hostile_page", "user_predictor_page"])
def test_the_table_of_turned_decisions_can_be_read_sorted_and_taken_along(browser, name, request):
    load(browser, request.getfixturevalue(name))
    groups, sides = content(browser)["decisions"]["groups"], {"model_a": "Model A", "worst": "worst case"}
    shares = [
        [g["group"], sides[at], *(g[at][way] for way in ("gained", "lost", "either"))] for g in groups for at in sides
    ]
    head, *rows = saved_csv(browser, TURNED)
    assert head == ["group", "where", "gained", "lost", "either"]
    assert [[*row[:2], *map(float, row[2:])] for row in rows] == shares
    table = turned_table(browser)
    script(browser, "arguments[0].querySelectorAll('thead button')[4].click()", table)
    cells = script(browser, "return [...arguments[0].tBodies[0].rows].map(r => r.cells[4].textContent)", table)
    assert cells == [shown(share, 3) for share in sorted(row[4] for row in shares)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["hostile_page", "user_predictor_page"])
def test_the_table_of_turned_decisions_fits_or_scrolls_within_a_telephone(browser, axe, name, scheme, request):
    load(browser, request.getfixturevalue(name), width=375, scheme=scheme)
    table = turned_table(browser)
    box = script(browser, "const b = arguments[0].parentNode; return [b.clientWidth, b.scrollWidth, b.tabIndex]", table)
    assert box[0] < 375
    assert box[1] <= box[0] or box[2] == 0  # by keyboard, too
    script(browser, axe)
    found = browser.execute_async_script("axe.run(arguments[0].closest('details.part')).then(arguments[1])", table)
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"]] == []


def test_a_page_without_a_threshold_has_no_decisions(browser, law_page):
    load(browser, law_page)
    assert turned_table(browser) is None


def turned_table(driver):
    find = "return [...document.querySelectorAll('table')].find(t => t.textContent.includes(arguments[0]))"
    return script(driver, find, TURNED)


# ---------------------------------------------------------------- what a page holds


def content_of(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="results">(.*?)</script>', text)[1])


def content(driver) -> dict:
    return script(driver, "return JSON.parse(document.getElementById('results').textContent)")


def numbers(driver, selector: str) -> list[float]:
    return script(
        driver, "return [...document.querySelectorAll(arguments[0] + ' data')].map(d => Number(d.value))", selector
    )


def plain_numbers(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from plain_numbers(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
