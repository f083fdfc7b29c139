"""openapi/guide.py: a text of ours as the content of a page."""

import pytest

from handlers.routes import DOCUMENTS
from openapi.guide import guide_of
from release.wheel import PAGES
from web.markdown import html_of

TEXT = """# A bot that *rewards*

Read [the API](api.md#errors), [webhooks](webhooks.md), [the site](https://a.example), [below](#the-key) and
[the code](../examples/client.py), [other lists](coming-from.md#x).

## The key

<b>raw</b> & `a < b`

```python
print("<Votegate>")
```

## The key

### A `429`, and why

VotegateError of Votegate, Votegate/0.1.0
"""


@pytest.fixture(scope="module")
def content() -> str:
    return guide_of(html_of(TEXT), "R&D").content


def test_each_heading_has_the_address_that_github_gives_it() -> None:
    guide = guide_of(html_of(TEXT), "Votegate")
    assert guide.title == "A bot that rewards"
    assert guide.headings == (("#the-key", "The key"), ("#the-key-1", "The key"))
    assert '<h3 id="a-429-and-why">A <code>429</code>, and why</h3>' in guide.content
    assert "<h1>" not in guide.content


def test_links_lead_to_pages_and_never_to_files_of_the_source(content: str) -> None:
    for link in ("/docs", "/docs/coming-from", "/docs#webhook", "https://a.example", "#the-key"):
        assert f'<a href="{link}">' in content
    assert "and\nthe code, " in content


def test_code_is_a_block_with_its_language_and_raw_html_is_left_out(content: str) -> None:
    assert '<div class="block"><header><span>Python</span></header><pre><code>print(&quot;' in content
    assert "<b>" not in content


def test_the_packages_have_the_texts_that_are_pages() -> None:
    assert set(PAGES) == {f"docs/{each.text}" for each in DOCUMENTS if each.text}


def test_the_text_names_the_platform(content: str) -> None:
    assert "VotegateError of R&amp;D, Votegate/0.1.0" in content
