"""web/people/questions.py: what one types to confirm, and why a form is shown again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import Invalid, Refusal, Unavailable
from languages.said import Code, Fault
from languages.texts import Text
from tests.support.english import english
from tests.support.examples import examples
from web.people.questions import Question, not_confirmed, refused_by


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


def test_what_is_to_be_typed_is_said() -> None:
    refused = not_confirmed(question("a key"))
    assert (refused.status, list(refused.errors)) == (400, ["confirmation"])
    assert "a key" in english(refused.errors["confirmation"])


@pytest.mark.parametrize(
    ("error", "errors", "status"),
    [
        (Invalid({"id": Fault("no_snowflake")}), {"id": "must be 17 to 20 digits"}, 400),
        (Refusal("too_many_keys", most=2), {"": "A listing has 2 keys at most; delete one first."}, 409),
        (Unavailable("disk full"), {"": "Nothing can be written right now: disk full."}, 503),
    ],
)
def test_a_refusal_is_told_at_its_field_or_for_the_whole_form(
    error: Refusal | Unavailable, errors: dict[str, str], status: int
) -> None:
    refused = refused_by(error)
    said = {name: english(reason) for name, reason in refused.errors.items()}
    assert (said, refused.status) == (errors, status)


@pytest.mark.parametrize("code", ["no_such_listing", "sign_in_required"])
def test_a_form_is_not_shown_again_where_it_cannot_be_sent(code: Code) -> None:
    with pytest.raises(Refusal, match=code):
        refused_by(Refusal(code))
