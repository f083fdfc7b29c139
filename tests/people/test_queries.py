"""people/queries.py: users in pages."""

from core.actors import OPERATOR
from core.events import Event
from core.ledger import Ledger
from core.state import State
from core.user_rows import user_ref
from people.queries import users_page
from tests.support.sample_rows import NOW_MS
from tests.support.slots_set import role_set

IDS = [str(10**17 + number) for number in range(5)]


def page(state: State, after: str | None, limit: int) -> tuple[list[str], str | None]:
    rows, following = users_page(state, after=after, limit=limit)
    return [row.id for row in rows], following


def test_users_come_in_the_order_of_their_ids_in_pages(ledger: Ledger, state: State) -> None:
    events: list[Event] = [role_set(user_ref(each), "moderator", NOW_MS, by=OPERATOR) for each in IDS]
    assert page(state, None, 2) == ([], None)
    ledger.commit(events[::-1])
    assert page(state, None, 2) == (IDS[:2], IDS[1])
    assert page(state, IDS[1], 2) == (IDS[2:4], IDS[3])
    assert page(state, IDS[3], 2) == (IDS[4:], None)
    assert page(state, None, 5) == (IDS, None)


def test_a_cursor_need_not_exist_any_more(ledger: Ledger, state: State) -> None:
    ledger.commit([role_set(user_ref(each), "moderator", NOW_MS, by=OPERATOR) for each in (IDS[0], IDS[2])])
    assert page(state, IDS[1], 5) == ([IDS[2]], None)
    assert page(state, IDS[4], 5) == ([], None)
