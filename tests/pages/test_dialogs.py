"""pages/dialogs.py: the text that confirms an answer to a question, and the page that shows a secret."""

from hypothesis import given
from hypothesis import strategies as st

from core.rows import Listing, Reviewed
from languages.texts import Text
from pages.dialogs import Question, shown_once
from pages.tabs import tab_values
from tests.support.examples import examples
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER
from web.templates import load_drawing

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))


def drawn(example: str | None = None) -> str:
    page = shown_once(
        title=Text("It is made"),
        label=Text("API key"),
        value="vg_<secret>",
        what_to_do=Text("Keep it."),
        back=f"/{BOT_REF}/manage/keys",
        example=example,
    )
    assert not callable(page.html)
    values = {**tab_values(ROW, "keys", frozenset({"see", "keys"})), **page.html}
    return load_drawing("en").fragment(f"people/{page.template}.html", values)


def test_a_secret_is_one_text_that_is_selected_as_a_whole_and_copied_by_a_button() -> None:
    text = drawn()
    assert '<pre class="written whole" id="secret">vg_&lt;secret&gt;</pre>' in text
    assert '<button type="button" class="quiet" data-copy="secret"' in text
    assert text.count("vg_&lt;secret&gt;") == 1
    assert f'href="/{BOT_REF}/manage/keys">I have saved it' in text


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
