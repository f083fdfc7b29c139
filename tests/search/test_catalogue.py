"""search/catalogue.py: the catalogue has exactly the public listings, after any history."""

from hypothesis import given

from core.events import Event, ListingRemoved, ListingReviewed, ListingSaved
from core.packing import pack
from core.rows import Listing
from core.state import State
from grammars.tags import tag_of
from kinds.registry import kind_of
from kinds.servers import ServerProfile
from search.catalogue import Catalogue, IndexKey, folded
from tests.support.examples import examples
from tests.support.generated_events import sequences
from tests.support.memory_ledger import empty_state, state_after
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF, listed
from tests.support.slots_set import eligibility_checked

SERVER = ServerProfile("Café", "", ("Chat", "CHAT", "Ｔａｌｋ"), "Gaming")


def is_listed(row: Listing) -> bool:
    return row.is_public and not kind_of(row.ref).is_unlisted(row.profile)


def surveyed(state: State) -> Catalogue:
    catalogue = Catalogue(state)
    for _ in catalogue.survey():
        pass
    return catalogue


def keys_of(row: Listing) -> set[IndexKey]:
    kind, prefix = kind_of(row.ref), row.ref.partition("/")[0] + "/"
    return {
        IndexKey(prefix),
        *(IndexKey(prefix, category=each) for each in kind.values(row.profile, "category")),
        *(IndexKey(prefix, keyword=tag_of(each)) for each in kind.values(row.profile, "keyword")),
        *(IndexKey(prefix, language=each) for each in kind.values(row.profile, "language") if each),
    }


@examples(100)
@given(sequences)
def test_the_log_leads_to_what_a_look_at_everything_finds(sequence: list[Event]) -> None:
    state = empty_state()
    reading = Catalogue(state)
    for event in sequence:
        state.apply(event)
        reading.on_record(1, [event])
    shown = {row.ref: row for row in state.listings.values() if is_listed(row)}
    every = {key for row in shown.values() for key in keys_of(row)}
    for catalogue in (reading, surveyed(state)):
        assert {*catalogue.entries} == {*shown}
        for ref, row in shown.items():
            entry = catalogue.entries[ref]
            assert (entry.name, {*entry.keys}) == (folded(row.profile.name), keys_of(row))
            assert entry.since_ms == (row.created_ms if row.decided_ms is None else row.decided_ms)
        for key in every:
            assert [*catalogue.refs_of(key)] == sorted(
                ref for ref, row in shown.items() if key in keys_of(row)
            )


def test_a_survey_leaves_packed_rows_packed_and_is_made_once() -> None:
    source, state = empty_state(), empty_state()
    for event in (*listed(), *listed(OTHER_REF), ListingSaved(SERVER_REF, OWNER, SERVER, "approved", 5)):
        source.apply(event)
    refs = list(source.listings.refs)
    state.load_packed(refs, [pack(source.listings[ref]) for ref in refs], 0, ())
    state.loaded()
    catalogue = surveyed(state)
    assert catalogue.refs_of(IndexKey("bots/")) == [BOT_REF, OTHER_REF]
    assert catalogue.refs_of(IndexKey("servers/", keyword="talk")) == [SERVER_REF]
    assert catalogue.refs_of(IndexKey("servers/", category="Gaming")) == [SERVER_REF]
    assert catalogue.entries[SERVER_REF].since_ms == 5
    assert catalogue.entries[BOT_REF].since_ms == NOW_MS
    assert not list(state.listings.unpacked())
    assert list(catalogue.survey()) == []


def test_what_is_hidden_is_under_no_key_until_it_is_shown_again() -> None:
    state = state_after([ListingSaved(SERVER_REF, OWNER, SERVER, "approved", 5)])
    catalogue = surveyed(state)
    for hidden_ms in (NOW_MS, None):
        event = eligibility_checked(SERVER_REF, (), NOW_MS, hidden_ms, hidden_ms)
        state.apply(event)
        catalogue.on_record(1, [event])
        assert [*catalogue.refs_of(IndexKey("servers/"))] == ([SERVER_REF] if hidden_ms is None else [])


def test_what_is_no_longer_approved_is_under_no_key() -> None:
    for event in (
        ListingRemoved(BOT_REF, NOW_MS),
        ListingReviewed(BOT_REF, "denied", "It is silent.", NOW_MS),
    ):
        state = state_after(listed())
        catalogue = surveyed(state)
        assert BOT_REF in catalogue.entries
        state.apply(event)
        catalogue.on_record(1, [event])
        assert (catalogue.entries, catalogue.refs_of(IndexKey("bots/"))) == ({}, ())
