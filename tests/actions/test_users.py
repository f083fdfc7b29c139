"""actions/users.py: nobody is forgotten for a person who was signed out during the search."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actions.action import Call
from actions.users import forget
from core.actors import user_actor
from core.ledger import Ledger
from handlers.slices import in_slices
from languages.refusals import Refusal
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.people import signed_in
from tests.support.sample_rows import NOW_MS, USER


def test_a_session_that_ends_during_the_search_ends_the_erasure(ledger: Ledger) -> None:
    ledger.commit([signed_in(USER, "1" * 64, NOW_MS)])
    before = ledger.head
    search = SimpleNamespace(slices=lambda: iter([None]), refs=())

    def still_allowed() -> None:
        raise Refusal("sign_in_required")

    tools = SimpleNamespace(
        ledger=ledger,
        clock=FakeClock(NOW_MS),
        in_slices=in_slices,
        searches=SimpleNamespace(of=lambda _: nullcontext(search)),
    )
    call = Call(cast(Any, tools), user_actor(USER), NOW_MS, None, (USER,), still_allowed)
    with pytest.raises(Refusal, match="sign_in_required"):
        run(forget(call, None))
    assert ledger.head == before
    assert f"users/{USER}" in ledger.state.users
