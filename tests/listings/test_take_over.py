"""listings/owners.py: a take-over needs a proof, and ends keys, webhook and co-owners of the owner before."""

import re

import pytest

from core.actors import user_actor
from core.events import UserErased
from core.ledger import Ledger
from core.state import State
from languages.refusals import Refusal
from listings.keys import KeyDigester
from listings.notices import NoticeSearch
from listings.owners import Evidence, code_maker, is_proven, take_over
from listings.ownership import Ownership
from tests.support.committed_rows import a_delivery, a_key, a_listing, a_webhook
from tests.support.sample_rows import BOT_REF, NOW_MS, OWNER, SERVER_REF, USER, voted
from tests.support.slots_set import ownership_proven
from votes.queries import Search

LATER_MS = NOW_MS + 1


def proven(ledger: Ledger, ref: str) -> None:
    ledger.commit([ownership_proven(ref, NOW_MS, by=user_actor(OWNER))])


def taken(ledger: Ledger, ref: str = BOT_REF, evidence: Evidence = "code") -> None:
    ledger.commit(take_over(ledger.state.listings[ref], USER, evidence, LATER_MS))


@pytest.mark.parametrize(
    ("ref", "evidence"), [(BOT_REF, "code"), (SERVER_REF, "server owner"), (SERVER_REF, "server manager")]
)
def test_an_unproven_listing_goes_to_who_proves_to_own_it(
    ledger: Ledger, state: State, ref: str, evidence: Evidence
) -> None:
    a_listing(ledger, ref)
    taken(ledger, ref, evidence)
    row = state.listings[ref]
    assert (row.owner_id, is_proven(row), row.audit_log[-1].action) == (USER, True, "taken_over")


@pytest.mark.parametrize(("ref", "evidence"), [(BOT_REF, "code"), (SERVER_REF, "server manager")])
def test_an_owner_who_has_proven_it_keeps_it(
    ledger: Ledger, state: State, ref: str, evidence: Evidence
) -> None:
    a_listing(ledger, ref)
    proven(ledger, ref)
    with pytest.raises(Refusal, match="owner_proven"):
        take_over(state.listings[ref], USER, evidence, LATER_MS)


def test_the_owner_of_a_server_at_the_platform_takes_it_from_a_proven_manager(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger, SERVER_REF)
    proven(ledger, SERVER_REF)
    taken(ledger, SERVER_REF, "server owner")
    assert state.listings[SERVER_REF].owner_id == USER


def test_nobody_takes_their_own(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    with pytest.raises(Refusal, match="own_listing"):
        take_over(state.listings[BOT_REF], OWNER, "code", LATER_MS)


@pytest.mark.parametrize("review", ["in_review", "approved", "denied"])
def test_votes_profile_and_review_stay_and_keys_webhook_and_deliveries_end(
    ledger: Ledger, state: State, review: str
) -> None:
    before = a_listing(ledger, review=review)  # type: ignore[arg-type]
    a_key(ledger)
    a_webhook(ledger)
    a_delivery(ledger, "waiting")
    ledger.commit([voted(1, count=3)])
    taken(ledger)
    row = state.listings[BOT_REF]
    assert (row.review, row.reason, row.profile) == (before.review, before.reason, before.profile)
    assert state.votes.get(BOT_REF, 1) == (3, NOW_MS)
    assert (row.keys, dict(state.listings.grants), row.webhook) == ((), {}, None)
    assert [*state.deliveries.of(BOT_REF)] == []


def notices_of(state: State, user: str) -> list[tuple[str, bool]]:
    ownership = Ownership(state)
    for _ in ownership.survey():
        pass
    search = NoticeSearch(state, user, ownership.told_of(user), 50, NOW_MS)
    for _ in search.slices():
        pass
    return [(each.act.action, each.is_lost) for each in search.newest]


def test_both_owners_read_a_notice_and_the_one_before_reads_no_more(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="denied")
    taken(ledger)
    assert notices_of(state, OWNER) == [("taken_over", True)]
    assert ("taken_over", False) in notices_of(state, USER)


def test_the_one_before_is_forgotten_when_erased(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    taken(ledger)
    search = Search(state, OWNER)
    for _ in search.slices():
        pass
    assert BOT_REF in search.refs
    ledger.commit([UserErased(OWNER, tuple(search.refs))])
    row = state.listings[BOT_REF]
    assert OWNER not in repr(row)
    assert row.owner_id == USER


def test_a_search_that_runs_meanwhile_finds_both(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    searches = [Search(state, user) for user in (OWNER, USER)]
    events = take_over(state.listings[BOT_REF], USER, "code", LATER_MS)
    ledger.commit(events)
    for search in searches:
        search.on_record(events)
        assert search.refs == {BOT_REF}


def test_each_user_has_a_code_of_their_own_for_each_listing_and_each_deployment() -> None:
    code_of, elsewhere = (code_maker(KeyDigester(secret).digest) for secret in (b"s", b"t"))
    codes = [code_of("bots/1", "2"), code_of("bots/1", "3"), code_of("bots/2", "2"), elsewhere("bots/1", "2")]
    assert len({*codes}) == 4
    assert code_of("bots/1", "2") == codes[0]
    assert all(re.fullmatch("verify-[0-9a-f]{10}", code) for code in codes)
