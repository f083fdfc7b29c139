"""pages/dialogs.py: the text that confirms an answer to a question, and the page that shows a secret."""

from hypothesis import given
from hypothesis import strategies as st

from actions.keys import KeyList
from core.rows import Listing, Reviewed
from languages.texts import Text
from pages.dialogs import Question, Secret
from pages.tabs import tab_values
from tests.support.examples import examples
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER
from web.templates import load_drawing

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))


def drawn(example: str | None = None) -> str:
    secret = Secret(Text("It is made"), Text("API key"), "vg_<secret>", Text("Keep it."), example)
    values = {
        **tab_values(ROW, "keys", frozenset({"see", "keys"})),
        **{"icon_url": None, "errors": {}, "name": "", "most": 10, "now_ms": NOW_MS, "secret": secret},
        "value": KeyList(keys=()),
    }
    return load_drawing("en").fragment("people/manage_keys.html", values)


def test_a_secret_is_one_text_that_is_selected_as_a_whole_and_copied_by_a_button() -> None:
    text = drawn()
    assert '<pre class="once" tabindex="0"><code id="secret">vg_&lt;secret&gt;</code></pre>' in text
    assert 'data-copy="secret"' in text
    assert text.count("vg_&lt;secret&gt;") == 1


def test_an_example_is_beside_it_only_if_there_is_one() -> None:
    assert 'data-copy="example"' not in drawn()
    assert 'data-copy="example"' in drawn("curl")


def question(typed: str | None) -> Question:
    return Question(Text("Delete it"), Text("It is gone."), Text("Delete"), "/back", typed=typed)


@examples(100)
@given(st.text(), st.text())
def test_only_the_same_words_confirm(typed: str, text: str) -> None:
    assert question(typed).is_confirmed(typed)
    assert question(typed).is_confirmed(f"  {typed}\n")
    assert question(typed).is_confirmed(text) == (text.split() == typed.split())


def test_a_question_that_asks_for_no_word_is_confirmed_by_its_button() -> None:
    assert question(None).is_confirmed("")
