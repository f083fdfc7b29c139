"""The text that one types to confirm an answer to a question."""

from hypothesis import given
from hypothesis import strategies as st

from languages.texts import Text
from pages.question_pages import Question
from tests.support.examples import examples


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
