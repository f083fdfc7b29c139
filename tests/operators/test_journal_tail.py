"""operators/journal_tail.py: the newest events of the log, without secrets."""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from msgspec import Struct
from msgspec.structs import fields

from core.actors import user_actor
from core.events import (
    DeliveryMerged,
    DeliveryQueued,
    Event,
    ListingRemoved,
    OwnerMessageQueued,
    UserErased,
    VoteCast,
)
from core.rows import Policy, Webhook
from core.user_rows import user_ref
from operators.journal_tail import EVENTS, PAGE_EVENTS, SHOWN, EventView, JournalPage, JournalTail
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, USER, voted
from tests.support.slots_set import limits_set, listing_claimed, role_set, webhook_saved

ALL_EVENTS = get_args(Event)
SECRET_FIELDS = {"digest", "old_digest", "token", "secret", "old_secret", "url", "excerpt"}


def shown_of(*events: Event) -> list[str]:
    """The texts of one record with these events, in their order."""
    tail = JournalTail(FakeClock())
    tail.on_record(1, events)
    return [each.text for each in tail.page().events][::-1]


def made(kind: Any, path: str = "") -> Any:
    """A value of a type. Each text in it is its own path, and cannot be mistaken for another."""
    kind = getattr(kind, "__supertype__", kind)  # that of a NewType
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Annotated, Literal}:
        return made(parts[0], path) if origin is Annotated else parts[0]
    if origin in {Union, UnionType}:
        return made(next(part for part in parts if part is not NoneType), path)
    if origin is tuple:
        return tuple(made(part, path) for part in parts if part is not Ellipsis)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind(**{each.name: made(each.type, f"{path}.{each.name}") for each in fields(kind)})
    return {str: f"<{path.removeprefix('.')}>", int: 7, bool: True, bytes: b"<leaf>"}[kind]


def texts_of(kind: Any, path: str = "") -> set[str]:
    """The paths of all texts in a type."""
    kind = getattr(kind, "__supertype__", kind)
    if get_origin(kind) is Annotated:
        return texts_of(get_args(kind)[0], path)
    parts = [part for part in get_args(kind) if part is not Ellipsis]
    if get_origin(kind) in {Union, UnionType}:
        parts = [next(part for part in parts if part is not NoneType)]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {text for each in fields(kind) for text in texts_of(each.type, f"{path}.{each.name}")}
    if kind is str:
        return {path.removeprefix(".")}
    return {text for part in parts if get_origin(kind) is not Literal for text in texts_of(part, path)}


def dict_of(kind: type[Any]) -> dict[str, Any]:
    return {each.name: each.type for each in fields(kind)}


@pytest.mark.parametrize("kind", ALL_EVENTS, ids=lambda kind: kind.__name__)
def test_an_event_shows_the_fields_of_the_list_and_no_other(kind: type[Any]) -> None:
    shown = shown_of(made(kind))[0]

    for path in texts_of(kind):
        is_one_of_many = get_origin(dict_of(kind).get(path)) is tuple
        assert (f"<{path}>" in shown) == (path in SHOWN[kind] and not is_one_of_many), path


def test_every_event_is_in_the_list_and_no_secret_field() -> None:
    assert SHOWN.keys() == set(ALL_EVENTS)
    for paths in SHOWN.values():
        assert not {path.rpartition(".")[2] for path in paths} & SECRET_FIELDS


def test_of_a_webhook_only_the_host_is_shown() -> None:
    chat = Webhook("https://chat.example/api/webhooks/1/the-token", NOW_MS, language="de")
    own = Webhook("https://owner:password@hooks.example:8443/secret?key=1", NOW_MS, "token", secret="whsec_x")

    assert shown_of(webhook_saved(BOT_REF, chat), webhook_saved(BOT_REF, own)) == [
        "action webhook_saved, webhook.host chat.example, webhook.language de, by operator",
        "action webhook_saved, webhook.host hooks.example, by operator",
    ]


def test_limits_and_flags_read_as_people_write_them() -> None:
    assert shown_of(
        limits_set(BOT_REF, Policy(5, 60), None), DeliveryQueued("d", BOT_REF, USER, test=True, at_ms=NOW_MS)
    ) == [
        "action limits_set, limits.stats 5 in 60 s, by operator",
        f"delivery_id d, kind vote, user {USER}, test true",
    ]


def test_a_claim_and_a_role_say_whether_they_were_given_or_taken_away() -> None:
    assert shown_of(
        *(listing_claimed(BOT_REF, True, NOW_MS), listing_claimed(BOT_REF, False, NOW_MS)),
        *(role_set(user_ref(USER), "moderator", NOW_MS), role_set(user_ref(USER), None, NOW_MS)),
    ) == [
        *("claim set, by operator", "claim none, by operator"),
        *("role moderator, by operator", "role none, by operator"),
    ]


def test_a_long_text_is_cut() -> None:
    assert len(shown_of(made(ListingRemoved), VoteCast(BOT_REF, "9" * 1_000, 1, NOW_MS))[1]) < 200


def test_the_newest_event_comes_first_with_its_place_and_time() -> None:
    clock = FakeClock()
    tail = JournalTail(clock)
    tail.on_record(7, [voted(int(USER))])
    clock.advance(2)
    tail.on_record(8, [voted(int(OTHER_USER), count=3)])

    newest, oldest = tail.page().events

    text = f"user {OTHER_USER}, count 3"
    assert newest == EventView(position=8, at=clock.now_ms(), type="vote_cast.1", ref=BOT_REF, text=text)
    assert (oldest.position, oldest.at) == (7, clock.now_ms() - 2_000)


def test_only_the_last_events_are_kept_and_the_pages_join() -> None:
    tail = JournalTail(FakeClock())
    for position in range(1, EVENTS + 200):
        tail.on_record(position, [voted(int(USER)), voted(int(OTHER_USER))])

    found: list[int] = []
    page = tail.page()
    while True:
        assert len(page.events) <= PAGE_EVENTS + 1
        found += [each.position for each in page.events]
        if page.next is None:
            break
        page = tail.page(page.next)

    assert found == sorted(found, reverse=True)
    assert len(found) == EVENTS
    assert found[0] == EVENTS + 199


def test_a_page_may_hold_a_record_longer_than_itself() -> None:
    tail = JournalTail(FakeClock())
    tail.on_record(1, [voted(user) for user in range(10**17, 10**17 + 3)])
    tail.on_record(2, [voted(user) for user in range(10**17, 10**17 + PAGE_EVENTS + 50)])

    page = tail.page()

    assert {each.position for each in page.events} == {2}
    assert len(page.events) == PAGE_EVENTS + 50
    assert [each.position for each in tail.page(page.next).events] == [1, 1, 1]
    assert tail.page(1) == JournalPage(events=(), next=None)


def test_an_erased_user_is_erased_here_too() -> None:
    row: Any = made(DeliveryMerged)
    tail = JournalTail(FakeClock())
    tail.on_record(1, [voted(int(USER)), DeliveryQueued("d", BOT_REF, USER, test=False, at_ms=NOW_MS), row])
    tail.on_record(1, [OwnerMessageQueued(BOT_REF, user_actor(USER), "approved", None, NOW_MS)])
    tail.on_record(1, [ListingRemoved(BOT_REF, by=user_actor(USER))])
    tail.on_record(2, [UserErased(USER, (BOT_REF,), "mark")])

    page = tail.page().events

    assert USER not in str(page)
    assert page[0].text == "refs (1), by operator"
    assert page[1].text == "by erased"
    assert page[2].text == "to erased, decision approved"
    assert "user erased" in page[4].text
