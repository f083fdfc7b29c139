"""core/sharing.py: a shared listing leaves out what concerns one node, or labels it with the node."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from core.actors import user_actor
from core.events import ListingMerged
from core.rows import (
    Listing,
    NodeDownloads,
    NodeWindow,
    OwnerMessage,
    Reviewed,
    StatsWindow,
    Suspension,
    Webhook,
)
from core.sharing import as_own, shared, without_health
from tests.support.examples import examples
from tests.support.generated_events import OF_TYPE, labels
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
HEALTHY = Webhook("https://receiver.example/votes", NOW_MS, "a token", secret="a secret")
ILL = replace(HEALTHY, failed=10, suspension=Suspension(NOW_MS, "timeout", 1, NOW_MS + 60_000))


def test_the_own_window_is_told_under_the_node_s_label_among_those_of_others() -> None:
    others = (NodeWindow("a.1", NOW_MS, 3), NodeWindow("c.1", NOW_MS, 4))
    row = replace(ROW, window=StatsWindow(NOW_MS + 1, 2), windows=others)
    told = shared(row, "b.1")
    assert told.window is None
    assert told.windows == (others[0], NodeWindow("b.1", NOW_MS + 1, 2), others[1])
    assert replace(told, window=row.window, windows=others) == row


@pytest.mark.parametrize("webhook", [ILL, replace(HEALTHY, failed=1)])
def test_how_sending_goes_at_this_node_is_told_to_nobody(webhook: Webhook) -> None:
    assert shared(replace(ROW, webhook=webhook), "a.1") == replace(ROW, webhook=HEALTHY)
    assert without_health(webhook) == HEALTHY


def test_a_node_finds_its_own_window_among_all() -> None:
    windows = tuple(NodeWindow(label, NOW_MS, number) for number, label in enumerate(["a.1", "b.1", "c.1"]))
    own = as_own(replace(ROW, windows=windows), "b.1")
    assert own == replace(ROW, window=StatsWindow(NOW_MS, 1), windows=(windows[0], windows[2]))


def test_a_node_that_has_no_window_among_them_keeps_all_as_those_of_others() -> None:
    row = replace(ROW, windows=(NodeWindow("a.1", NOW_MS, 1),))
    assert as_own(row, "a.2") == row


def test_own_downloads_are_told_under_the_node_s_label() -> None:
    others = (NodeDownloads("a.1", 3), NodeDownloads("c.1", 4))
    own = replace(ROW, downloads=(NodeDownloads("", 2), *others))
    told = shared(own, "b.1")
    assert told.downloads == (others[0], NodeDownloads("b.1", 2), others[1])
    assert as_own(told, "b.1") == own
    assert (own.download_count, told.download_count, told.own_downloads) == (9, 9, 0)


def test_a_message_is_told_under_the_label_of_the_node_that_sends_it() -> None:
    message = OwnerMessage(user_actor(OWNER), "approved", None, NOW_MS, NOW_MS)
    elsewhere = replace(ROW, message=replace(message, node="b.1"))
    own = replace(ROW, message=message)
    assert shared(own, "b.1") == elsewhere
    assert shared(elsewhere, "a.1") == as_own(elsewhere, "a.1") == elsewhere
    assert as_own(elsewhere, "b.1") == own


@examples(100)
@given(OF_TYPE[ListingMerged], labels)
def test_a_shared_row_is_told_again_as_it_was(event: ListingMerged, label: str) -> None:
    others = tuple(window for window in event.row.windows if window.node != label)
    message = event.row.message
    if message is not None and message.node == label:
        message = None
    downloads = tuple(each for each in event.row.downloads if each.node != label)
    row = replace(event.row, windows=others, message=message, downloads=downloads)
    told = shared(row, label)
    kept = as_own(told, label)
    webhook = without_health(row.webhook) if row.webhook is not None else None
    assert kept == replace(row, webhook=webhook)
    assert shared(kept, label) == told
