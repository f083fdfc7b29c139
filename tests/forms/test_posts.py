"""forms/reading.py: what was typed goes into the body as it is."""

from typing import Any

from forms.reading import posted
from forms.rules import Display
from languages.texts import Text
from web.form_posts import FormPost

ANY = Text("Any")
SHOWN = {
    "line": Display(ANY),
    "text": Display(ANY, "text"),
    "choice": Display(ANY, "choice"),
    "choices": Display(ANY, "choices"),
    "lines": Display(ANY, "lines"),
    "url": Display(ANY, "url"),
}


def test_each_widget_reads_its_field() -> None:
    post = FormPost(
        {
            "line": ["first", " last "],
            "text": ["\n    code\n"],
            "choice": ["Art"],
            "choices": ["Music", "", " Art "],
            "lines": ["a\n\n b \n"],
            "url": [" https://example.com "],
            "other": ["x"],
        }
    )
    assert posted(SHOWN, post) == {
        "line": "last",
        "text": "\n    code\n",
        "choice": "Art",
        "choices": ["Music", "Art"],
        "lines": ["a", "b"],
        "url": "https://example.com",
    }


def test_a_field_that_was_not_sent_is_empty() -> None:
    empty: dict[str, Any] = {"line": "", "text": "", "choice": "", "choices": [], "lines": [], "url": None}
    assert posted(SHOWN, FormPost({})) == empty
