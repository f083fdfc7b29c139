"""The HTML of a user's Markdown has allowed tags and addresses alone, even if the text is hostile."""

import re
from collections.abc import Collection
from functools import partial
from html.parser import HTMLParser
from urllib.parse import urlsplit

import nh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from forms.rules import Size
from kinds.bots import BOTS
from tests.support.hostile_markdown import ADDRESSES, HOSTILE, HTML, LARGE, PIECES
from tests.support.page_visitor import check_html
from web.markdown import (
    LONGEST_CHARACTER,
    MOST_CHARACTERS,
    MOST_DEPTH,
    REL,
    DrawnText,
    ImagePlace,
    ImageSize,
    let_through,
    prose,
    prose_with_images,
    with_sizes,
)

TAGS = {
    *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "a", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}
VOID = {"br", "hr", "img"}
PLACE = ImagePlace("/bots/1/images", 4)


class Judge(HTMLParser):
    """Asserts that a text holds allowed tags, attributes and addresses, and nothing but them and text.

    Images may come from these paths alone.
    """

    def __init__(self, paths: Collection[str] = ()) -> None:
        super().__init__()
        self.paths = paths
        self.images = 0
        self.open: list[str] = []
        self.deepest = 0
        self.level = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS or (self.paths and tag == "img"), tag
        assert not (tag == "a" and "a" in self.open), "a link in a link"
        for name, value in attrs:
            self.judge_attribute(tag, name, value or "")
        if tag == "a":
            assert ("rel", REL) in attrs
        if re.fullmatch("h[2-6]", tag):
            assert int(tag[1]) <= self.level + 1, "a level of headings is left out"
            self.level = int(tag[1])
        if tag not in VOID:
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def judge_attribute(self, tag: str, name: str, value: str) -> None:
        if (tag, name) == ("a", "href"):
            assert urlsplit(value).scheme in {"https", "mailto"}, value
        elif (tag, name) == ("a", "rel"):
            assert value == REL
        elif (tag, name) == ("ol", "start"):
            assert value.isdecimal()
        elif tag == "img":
            self.images += name == "src"
            assert name == "alt" or value in {"src": self.paths, "loading": {"lazy"}}.get(name, {"3", "4"})
            assert name in {"src", "alt", "loading", "width", "height"}
        elif tag in {"code", "pre"}:
            assert (name, value) == ("dir", "ltr")
        else:
            assert tag in {"th", "td"}, (tag, name)
            assert (name, value in {"left", "center", "right"}) == ("align", True), (name, value)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def judge(html: str, paths: Collection[str] = ()) -> Judge:
    judge = Judge(paths)
    judge.feed(html)
    judge.close()
    assert judge.open == []
    check_html(html)
    return judge


def judged(text: str) -> str:
    html = prose(text)
    assert judge(html).deepest <= MOST_DEPTH + 2  # a browser adds <tbody> and the like
    again = nh3.clean(
        html,
        tags=TAGS,
        attributes={
            **{"a": {"href"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}},
            **{"pre": {"dir"}, "code": {"dir"}},
        },
        url_schemes={"https", "mailto"},
        link_rel=REL,
    )
    assert again == html
    return html


@pytest.mark.parametrize("html", [*HTML, *(f"<a href='{address}' id=a>a</a>" for address in ADDRESSES)])
def test_hostile_html_is_harmless_even_if_all_before_nh3_failed(html: str) -> None:
    judge(let_through(html))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless(text: str) -> None:
    judged(text)
    judged(f"> * {text}\n\n{text}")


def judged_with_images(text: str) -> str:
    """Judge a text with images whose sizes are not known, known, and that cannot be shown."""
    html, images = prose_with_images(text, PLACE)
    paths = {f"{PLACE.path}/{name}" for name in images}
    drawn = DrawnText(Markup(html), images)
    for size in (None, ImageSize(3, 4), ImageSize(0, 0)):
        judge_ = judge(with_sizes(drawn, partial(_same, size)), paths)
        assert judge_.images <= (0 if size == (0, 0) else PLACE.most)
    return html


def _same(size: ImageSize | None, _: str) -> ImageSize | None:
    return size


IN_IMAGES = [f"![a](<{address}>)" for address in ADDRESSES] + [
    "![<script>alert(1)</script>](https://b.example/a.png)",
    '![" onerror=alert(1) a="](https://b.example/a.png)',
    '![a](https://b.example/a.png?"onerror=alert(1))',
    "![a](https://b.example/a.png '\" onload=alert(1)')",
    "[![a](https://b.example/a.png)](javascript:alert(1))",
    "![a](/bots/1/images/0123) ![a](//b.example/a.png) ![a](a.png)",
]


@pytest.mark.parametrize("text", [*HOSTILE, *IN_IMAGES])
def test_hostile_text_with_images_is_harmless(text: str) -> None:
    judged_with_images(text)
    judged_with_images(f"> * {text} ![a](https://b.example/a.png)\n\n{text}")


@given(st.lists(st.sampled_from([*PIECES, *IN_IMAGES]) | st.text(max_size=8), max_size=40).map("".join))
def test_any_mixture_of_hostile_pieces_with_images_is_harmless(text: str) -> None:
    judged_with_images(text)


def test_an_image_links_to_its_original_unless_it_is_in_a_link_or_has_no_text() -> None:
    link, image = f'<a href="https://b.example/c" rel="{REL}">', f'<img src="{PLACE.path}/'
    html = judged_with_images(
        "![a](https://b.example/c)\n\n![](https://b.example/c)\n\n[![a](https://b.example/d)](https://b.example/c)"
    )
    assert [line.count(link) for line in html.splitlines()] == [1, 0, 1]
    assert [line.count(image) for line in html.splitlines()] == [1, 1, 1]


@given(st.text(max_size=400))
def test_any_text_is_harmless(text: str) -> None:
    judged(text)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join))
def test_any_mixture_of_hostile_pieces_is_harmless(text: str) -> None:
    judged(text)


@pytest.mark.parametrize("name", LARGE)
def test_text_that_grows_or_nests_without_end_is_bounded(name: str) -> None:
    most = LONGEST_CHARACTER * MOST_CHARACTERS
    assert len(judged(LARGE[name])) <= most * 1.5  # nh3 adds `rel` to each link


@pytest.mark.parametrize(
    "text",
    [
        ">" * 200,
        "".join("  " * depth + "- a\n" for depth in range(60)),
        "*a **b " * 200 + "b** a* " * 200,
        "|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "a\n" * 2_000,
        "a" * (MOST_CHARACTERS + 1),
    ],
)
def test_a_text_that_would_be_too_much_is_shown_as_it_is_written(text: str) -> None:
    assert prose(text) == "<pre>" + text.replace(">", "&gt;") + "</pre>"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_cmark_never_sees_a_table_of_millions_of_cells(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr("web.markdown.html_of", lambda _: 1 / 0)
    table = LARGE["a wide table with short rows"].replace("\n", end)
    assert prose(table[:MOST_CHARACTERS]).startswith("<pre>|a|a")


def test_the_longest_description_is_formatted() -> None:
    size = BOTS.fields["description"].note(Size)
    assert size is not None
    assert size.most == MOST_CHARACTERS
    assert prose('"&<' * (MOST_CHARACTERS // 3)).startswith("<p>")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\\\nb\n***", "<p>a<br>\nb</p>\n<hr>\n"),
        ("5. a", '<ol start="5">\n<li>a</li>\n</ol>\n'),
        ("```python\na < b\n```", '<pre dir="ltr"><code>a &lt; b\n</code></pre>\n'),
        ("> a ~~b~~", "<blockquote>\n<p>a <del>b</del></p>\n</blockquote>\n"),
        ("- [x] a", "<ul>\n<li>[x] a</li>\n</ul>\n"),
        ("a <b>b</b> <!-- c --> d", "<p>a b  d</p>\n"),
        ("<!-- a -->", ""),
        ("", ""),
    ],
)
def test_it_is_commonmark(text: str, html: str) -> None:
    assert judged(text) == html


def test_a_table_keeps_its_alignment() -> None:
    html = judged("|a|b|\n|:-|-:|\n|1|2|")
    assert '<th align="left">a</th>' in html
    assert '<td align="right">2</td>' in html


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ([1, 2, 3], [2, 3, 4]),
        ([2, 3, 2, 2], [2, 3, 2, 2]),
        ([1, 3, 6, 6, 2], [2, 3, 4, 4, 3]),
        ([4, 1, 2], [2, 2, 3]),
        ([6] * 6, [2] * 6),
        ([1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 6]),
    ],
)
def test_headings_stand_below_that_of_the_page_keep_their_ranks_and_leave_out_no_level(
    levels: list[int], shown: list[int]
) -> None:
    html = judged("\n\n".join("#" * level + " a" for level in levels))
    assert [int(level) for level in re.findall(r"<h(\d)>a</h\1>", html)] == shown


def test_code_is_not_mirrored_in_a_text_from_right_to_left() -> None:
    assert judged("اكتب `/play song`") == '<p>اكتب <code dir="ltr">/play song</code></p>\n'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](https://b.example 'c')", f'<a href="https://b.example" rel="{REL}">a</a>'),
        ("<me@b.example>", f'<a href="mailto:me@b.example" rel="{REL}">me@b.example</a>'),
        (
            "https://b.example/?c=1&d",
            f'<a href="https://b.example/?c=1&amp;d" rel="{REL}">https://b.example/?c=1&amp;d</a>',
        ),
        ("[a](http://b.example)", "a"),
        ("www.b.example", "www.b.example"),
        ("[a](/debug/sign-out) [b](//c.example) [d](#e)", "a b d"),
        ("[*a*](ftp://b.example)", "<em>a</em>"),
        ("![a](https://b.example/c.png 'd')", f'<a href="https://b.example/c.png" rel="{REL}">a</a>'),
        ("![a](http://b.example/c.png)![](https://b.example)", "a"),
        ("[![a](https://b.example)](https://c.example)", f'<a href="https://c.example" rel="{REL}">a</a>'),
        ("[b ![a](https://b.example)](ftp://c.example)", "b a"),
    ],
)
def test_links_lead_to_https_and_mail_alone_and_an_image_is_a_link(text: str, html: str) -> None:
    assert judged(text) == f"<p>{html}</p>\n"
