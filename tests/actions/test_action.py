"""actions/action.py: a row is one operation for each kind with its part; a call commits before it answers."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from actions.action import Access, Action, Call, Command, operations
from actions.keys import KEY_ACTIONS
from actions.table import ACTIONS
from actions.tools import Tools
from actions.views import Success
from core.actors import OPERATOR
from kinds.registry import KINDS
from kinds.servers import SERVERS
from languages.refusals import Invalid
from tests.support.sample_rows import NOW_MS, USER


def approve(_: Call, __: None) -> Success:
    return Success()


APPROVE = Action(
    name="approve{Thing}",
    run=approve,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/approve",
    summary="Approve a {thing} in review",
    about={kind.plural: f"{kind.title}s can be voted for." for kind in KINDS},
    outcome="The {thing}.",
    command=Command("{kind} approve"),
)
SWEEP = replace(APPROVE, name="sweep", route="POST /manage/sweep", about="Sweeps.", command=Command("sweep"))


def test_an_action_is_one_operation_for_each_kind_of_listing() -> None:
    bots, servers, *_ = operations([APPROVE])
    assert (bots.name, bots.path, bots.summary, bots.about, bots.command.words) == (
        *("approveBot", "/manage/bots/{id}/approve", "Approve a bot in review"),
        *("Bots can be voted for.", "bots approve"),
    )
    assert (servers.name, servers.about) == ("approveServer", "Servers can be voted for.")
    assert (bots.form, bots.view, bots.refusals) == (None, Success, ("no_such_listing",))


def test_operations_have_different_names_even_if_their_action_names_no_kind() -> None:
    unnamed = replace(APPROVE, name="approve")
    assert [each.name for each in operations([unnamed])][:2] == ["approve", "approveOfServer"]


def test_an_action_of_a_part_is_for_the_kinds_that_have_it() -> None:
    having = {kind for kind in KINDS if kind.keys is not None}
    assert {operation.kind for operation in operations(KEY_ACTIONS)} == having


def test_an_action_on_no_listing_is_one_operation() -> None:
    (operation,) = operations([SWEEP])
    assert (operation.kind, operation.path, operation.refusals) == (None, "/manage/sweep", ())


def test_the_ids_of_a_path_and_a_commit_add_their_refusals() -> None:
    by_name = {operation.name: operation.refusals for operation in operations(ACTIONS)}
    assert by_name["rotateKey"] == ("no_such_listing", "no_such_key", "unavailable")
    assert by_name["quarantineUser"] == ("invalid_id", "invalid_act", "unavailable")
    assert by_name["inviteExtraOwner"][:2] == ("no_such_listing", "invalid_id")
    assert by_name["checkBotVotes"] == ("no_such_listing",)


def test_a_group_comes_kind_by_kind() -> None:
    other = replace(APPROVE, name="deny{Thing}")
    names = [operation.name for operation in operations([APPROVE, other])]
    assert names[:4] == ["approveBot", "denyBot", "approveServer", "denyServer"]


class _Ledger:
    """Notes what happens to it, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def commit(self, _: object) -> int:
        self.seen.append("committed")
        return 7

    async def durable(self, position: int) -> None:
        self.seen.append(f"durable {position}")


def called(**changes: Any) -> Call:
    clock = SimpleNamespace(now_ms=lambda: NOW_MS + 5)
    tools = cast(Tools, SimpleNamespace(ledger=_Ledger(), clock=clock))
    return structs.replace(Call(tools, OPERATOR, NOW_MS), **changes)


def test_a_view_is_made_before_the_wait_for_the_disk_and_returned_after_it() -> None:
    call = called()
    seen = cast(_Ledger, call.tools.ledger).seen

    def view() -> Success:
        seen.append("viewed")
        return Success()

    assert asyncio.run(call.commit([], view)) == Success()
    assert seen == ["committed", "viewed", "durable 7"]


def test_a_call_is_checked_again_and_goes_on_as_of_now() -> None:
    assert called().rechecked().now_ms == NOW_MS + 5

    def ended() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        called(still_allowed=ended).rechecked()


def test_an_id_of_a_user_is_a_snowflake() -> None:
    assert called(ids=("1", USER)).user_id(1) == USER
    with pytest.raises(Invalid):
        called(ids=("1", USER)).user_id()


def test_a_call_on_no_listing_has_no_ref() -> None:
    assert called(kind=SERVERS, ids=("5",)).ref == "servers/5"
    with pytest.raises(TypeError):
        _ = called(ids=("5",)).ref
