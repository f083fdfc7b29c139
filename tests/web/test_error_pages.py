"""Every error is a page that says what happened, why, and what to do."""

import pytest

from core.refusals import Conflict, Invalid, NotFound, Unavailable
from handlers.reply import FromElsewhere, NotReady, OperatorTokenRequired, Reply, bug, reply_to
from operators.operator_audience import ERROR_TEXTS
from tests.support.english import english
from web.error_pages import error_page

ERRORS = [
    *(reply_to(each) for each in (OperatorTokenRequired(), FromElsewhere(), NotFound("listing"))),
    *(
        reply_to(each)
        for each in (Conflict("votes_need_approval"), Unavailable("full"), NotReady("it stops"))
    ),
    bug("id-of-the-request"),
]


@pytest.mark.parametrize("refused", ERRORS, ids=lambda refused: str(refused.status))
def test_an_error_keeps_its_status_and_its_reason(refused: Reply) -> None:
    page = error_page(refused, ERROR_TEXTS, may_sign_in=False)
    assert page.status == refused.status
    assert english(page.values["why"]).encode() in refused.body
    assert all(page.values[name] for name in ("what", "why", "what_to_do"))


def test_a_bug_names_its_request() -> None:
    page = error_page(bug("id-of-the-request"), ERROR_TEXTS, may_sign_in=False)
    assert "id-of-the-request" in english(page.values["why"])


def test_a_status_of_no_text_of_its_own_has_the_text_of_its_class() -> None:
    assert english(ERROR_TEXTS.of(418).title) == "The request was not taken"
    assert english(ERROR_TEXTS.of(599).title) == "Something went wrong here"


def test_an_address_that_is_not_understood_is_not_called_a_form() -> None:
    refused = reply_to(Invalid({"sort": "must be one of month"}))
    form, address = (
        error_page(refused, ERROR_TEXTS, may_sign_in=False, is_of_form=each) for each in (True, False)
    )
    assert english(form.values["what"]) == "The form was not taken"
    assert english(address.values["what"]) == "The request was not taken"
