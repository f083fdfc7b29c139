"""Templates: rules for their source, and the escaping of all values."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from kinds.registry import KINDS
from web.brand import Brand
from web.templates import FOLDER, FOR_OPERATORS, FOR_PEOPLE, OPERATORS, compiled, load_drawing

TEMPLATES = sorted(FOLDER.rglob("*.html"))
TAG = re.compile(r"<[a-zA-Z](?:[^<>\"]|\"[^\"]*\")*>")
ADDRESS = re.compile(r"(?:href|src|action|hx-get)=\"((?:\{\{.*?\}\}|[^\"{])*)\"")
TRANS = re.compile(r"\{% trans([^%]*)%\}(.*?)\{% endtrans %\}", re.DOTALL)
JINJA = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(FOLDER))


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_every_attribute_is_quoted(path: Path) -> None:
    text = JINJA.sub("X", path.read_text())
    for tag in TAG.findall(text):
        assert re.findall(r"=(?!\"\")", re.sub(r"\"[^\"]*\"", '""', tag)) == [], tag


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_nothing_is_let_through_without_escaping_and_nothing_needs_eval(path: Path) -> None:
    text = path.read_text()
    for forbidden in (
        "|safe",
        "| safe",
        "autoescape",
        " style=",
        "hx-on",
        "js:",
        "<script>",
        "http://",
        "//cdn",
    ):
        assert forbidden not in text.replace("http://localhost:8080/debug", ""), forbidden


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_every_address_that_is_a_value_goes_through_the_filter(path: Path) -> None:
    text = path.read_text()
    for value in ADDRESS.findall(text):
        of_ours = value.startswith("#{{") or "static(" in value
        is_filtered = re.fullmatch(r"\{\{.*\|url *\}\}", value) or value == "{{ address }}"
        assert "{{" not in value or of_ours or is_filtered, value
    for sentence in TRANS.findall(text):  # in a sentence for translators an address is only named
        assert "{{ address }}" not in sentence[1] or re.search(r"address=\([^%]*\)\|url", sentence[0])


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.parent.name != "debug"], ids=named)
def test_a_template_of_people_s_pages_has_no_text_that_is_not_for_translators(path: Path) -> None:
    text = JINJA.sub("", TRANS.sub("", path.read_text()))
    written = re.sub(r"<[^>]*>|[\w-]+=\"[^\"]*\"", " ", text)
    spoken = re.findall(
        r" (?:title|alt|aria-label|placeholder|data-label|data-copied|data-selected)=\"([^\"]*)\"", text
    )
    assert re.findall(r"[^\W\d_]+", " ".join((written, *spoken))) == []


@pytest.fixture(scope="module")
def drawn() -> str:
    values = {
        **{"title": "T", "path": "/debug", "visitor": None, "notice": None, "sections": ()},
        **{"frame": "debug/frame.html", "sign_in": "/debug/sign-in", "home": "/debug", "home_link": "Back"},
        **{"status": 403, "what": '<script>"x"', "why": "a & b", "what_to_do": "'", "wait_seconds": None},
        **{"may_sign_in": True, "look": None, "carries_style": False, "brand": Brand(), "site_kinds": KINDS},
    }
    return load_drawing(OPERATORS).whole("error.html", values)


def test_values_are_escaped(drawn: str) -> None:
    assert "&lt;script&gt;&#34;x&#34;" in drawn
    assert "a &amp; b" in drawn


@pytest.mark.parametrize("block", ["head", "top", "nothing of the kind"])
def test_a_fragment_is_no_part_of_the_frame(block: str) -> None:
    values = {"status": 404, "what": "w", "why": "y", "what_to_do": "d", "wait_seconds": None}
    values |= {"may_sign_in": False, "home": "/", "home_link": "Home", "title": "t", "site_kinds": KINDS}
    assert "<h1>w</h1>" in load_drawing(OPERATORS).fragment("error.html", values, block)


def test_a_fragment_is_the_content_without_the_page_around_it() -> None:
    values = {
        "status": 1,
        "what": "w",
        "why": "y",
        "what_to_do": "d",
        "wait_seconds": 3,
        "may_sign_in": False,
        "home": "/debug",
        "home_link": "Back",
    }
    fragment = load_drawing(OPERATORS).fragment("error.html", values)
    assert "<html" not in fragment
    assert "<h1>w</h1>" in fragment


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        load_drawing(OPERATORS).fragment("error.html", {})


def test_a_first_page_compiles_the_templates_of_its_own_side_alone() -> None:
    """A stop waits for a page under way, and a first page for what is compiled."""
    sides = [{name for name in compiled(side) if "/" in name} for side in (FOR_OPERATORS, FOR_PEOPLE)]
    assert all(name.startswith("debug/") for name in sides[0])
    assert all(name.startswith("people/") for name in sides[1])
    assert sides[0] | sides[1] == {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.html")}


CLASS = re.compile(r'class="((?:[^"{]|\{\{.*?\}\}|\{%.*?%\})*)"', re.DOTALL)


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_each_class_of_a_template_has_a_rule(path: Path) -> None:
    style = (FOLDER.parent / "static" / "site.css").read_text()
    ruled = {*re.findall(r"\.([a-z][a-z0-9-]*)", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))}
    used = {each for given in CLASS.findall(path.read_text()) for each in JINJA.sub(" ", given).split()}
    assert used - ruled == set()
