"""cmark-gfm: the Markdown that we take, its safe mode, and its memory."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.markdown import html_of


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>\n"),
        ("~~a~~", "<p><del>a</del></p>\n"),
        ("see https://a.example", '<p>see <a href="https://a.example">https://a.example</a></p>\n'),
        ("- [x] a", "<ul>\n<li>[x] a</li>\n</ul>\n"),
        ("a[^1]\n\n[^1]: b", '<p>a<a href="b">^1</a></p>\n'),
        ("", ""),
        ("ä\ud800\0", "<p>ä?\ufffd</p>\n"),
    ],
)
def test_it_is_commonmark_with_tables_strikethrough_and_bare_addresses(text: str, html: str) -> None:
    assert html_of(text) == html


def test_a_table_is_one() -> None:
    html = html_of("|a|b|\n|-|-:|\n|1|2|")
    assert "<th>a</th>" in html
    assert '<td align="right">2</td>' in html


@pytest.mark.parametrize(
    "text", ["a <b>c</b>", "<script>x</script>", "<div onclick=x>\n", "[a](javascript:x)"]
)
def test_raw_html_and_addresses_that_run_are_left_out(text: str) -> None:
    html = html_of(text)
    for gone in ("<b>", "<script", "<div", "onclick", "javascript"):
        assert gone not in html


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def test_all_memory_is_given_back() -> None:
    """The functions of the package would keep 500 MB of the trees, and 20 MB of the HTML."""
    text = "*a* [b](https://c.example)\n\n* d\n\n" * 250
    for _ in range(20):
        html_of(text)
    gc.collect()
    before = resident_bytes()
    for _ in range(1_000):
        html_of(text)
    assert resident_bytes() - before < 8_000_000


def test_texts_of_several_threads_do_not_disturb_each_other() -> None:
    texts = [f"~~{number}~~ https://{number}.example\n\n" * 50 for number in range(8)]
    alone = [html_of(text) for text in texts]
    start = threading.Barrier(len(texts))

    def together(text: str) -> list[str]:
        start.wait()
        return [html_of(text) for _ in range(20)]

    with ThreadPoolExecutor(len(texts)) as pool:
        assert [set(found) for found in pool.map(together, texts)] == [{html} for html in alone]


@given(st.text())
def test_any_text_has_html(text: str) -> None:
    assert "<script" not in html_of(text)
