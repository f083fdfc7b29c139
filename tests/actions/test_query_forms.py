"""actions/query_forms.py: the query of a list is read as its type has it, or refused."""

import pytest

from actions.query_forms import LISTINGS_QUERIES, MAX_PAGE, PAGE, DeliveriesQuery
from forms.reading import read_query
from languages.refusals import Invalid
from languages.said import in_words
from tests.support.sample_rows import USER

BotsQuery = LISTINGS_QUERIES["bots"]


def test_a_parameter_that_is_left_out_has_its_default() -> None:
    assert read_query(BotsQuery, {}) == BotsQuery(after=None, limit=PAGE, state=None)


def test_a_query_is_read_by_its_type_and_a_parameter_that_nobody_knows_is_left_out() -> None:
    query = {"after": USER, "limit": "7", "state": "denied", "other": "1"}
    assert read_query(BotsQuery, query) == BotsQuery(after=USER, limit=7, state="denied")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"after": "x"}, {"after": "must be the `next` of another page"}),
        ({"after": f"{USER}\n"}, {"after": "must be the `next` of another page"}),
        ({"limit": "0"}, {"limit": f"must be from 1 to {MAX_PAGE}"}),
        ({"limit": "501"}, {"limit": f"must be from 1 to {MAX_PAGE}"}),
        ({"limit": "one"}, {"limit": f"must be from 1 to {MAX_PAGE}"}),
        ({"state": "lost"}, {"state": "must be one of pending, delivered, failed"}),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_reason(query: dict[str, str], fault: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        read_query(DeliveriesQuery, query)
    assert {name: in_words(*wrong) for name, wrong in refused.value.faults.items()} == fault
