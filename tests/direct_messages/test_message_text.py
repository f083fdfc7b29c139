"""direct_messages/message_text.py: names and reasons are shown as text, whatever they contain."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.actors import user_actor
from core.rows import Listing, OwnerMessage, Reviewed, Stamp
from direct_messages.message_text import MOST_UNITS, owner_message
from tests.support.examples import examples
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    NOW_MS,
    OTHER_REF,
    OWNER,
    SERVER_PROFILE,
    SERVER_REF,
)

URL = "https://bots.example"
BOT = Listing(BOT_REF, OWNER, BOT_PROFILE, 0, 0, Reviewed("approved", 0))
SERVER = Listing(SERVER_REF, OWNER, SERVER_PROFILE, 0, 0, Reviewed("approved", 0))
APPROVED = OwnerMessage(user_actor(OWNER), "approved", None, NOW_MS, NOW_MS)
DENIED = replace(APPROVED, decision="denied", reason="It is silent. Nobody\nanswers!")


def text_of(listing: Listing, message: OwnerMessage) -> str:
    return owner_message(listing, message, URL).text


def nonce_of(listing: Listing, message: OwnerMessage) -> str:
    return owner_message(listing, message, URL).nonce


def read(text: str) -> str:
    """Return a text as the platform shows it."""
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text)


@pytest.mark.parametrize(
    ("listing", "first"),
    [
        (BOT, "Your bot Test bot was approved: it is listed, and everybody can find it."),
        (SERVER, "Your server Test server was approved: it is listed, and everybody can find it."),
    ],
)
def test_an_approval_says_what_was_approved_and_where_its_page_is(listing: Listing, first: str) -> None:
    assert text_of(listing, APPROVED).splitlines() == [first, f"<{URL}/{listing.ref}/manage>"]


def test_a_denial_says_why_and_what_to_do() -> None:
    assert read(text_of(BOT, DENIED)) == (
        "Your bot Test bot was denied.\n\n"
        "It is silent. Nobody\nanswers!\n\n"
        f"You can edit it and send it again: <{URL}/{BOT_REF}/manage>"
    )


def test_a_withdrawn_approval_says_that_it_is_not_listed_any_more() -> None:
    assert read(text_of(BOT, replace(DENIED, decision="withdrawn", reason="Spam."))) == (
        "The approval of your bot Test bot was withdrawn: it is not listed any more.\n\n"
        "Spam.\n\n"
        f"You can edit it and send it again: <{URL}/{BOT_REF}/manage>"
    )


def test_a_decision_about_a_change_says_which_version_is_listed() -> None:
    agreed = text_of(BOT, replace(APPROVED, decision="change_agreed"))
    assert agreed == (
        f"Your change to the bot Test bot was approved: everybody sees it.\n<{URL}/{BOT_REF}/manage>"
    )
    assert read(text_of(BOT, replace(DENIED, decision="change_refused", reason="Spam."))) == (
        "Your change to the bot Test bot was refused.\n\n"
        "Spam.\n\n"
        f"The previous version is listed. You can change it again: <{URL}/{BOT_REF}/manage>"
    )


def test_a_denial_of_an_older_version_may_have_no_reason() -> None:
    text = text_of(BOT, replace(DENIED, reason=None))
    assert text == (
        f"Your bot Test bot was denied.\n\nYou can edit it and send it again: <{URL}/{BOT_REF}/manage>"
    )


def test_a_name_that_shows_nothing_is_the_id() -> None:
    blank = replace(BOT, profile=replace(BOT_PROFILE, name="\u200b"))
    assert f"Your bot {BOT.id} was approved" in text_of(blank, APPROVED)


names = st.text(min_size=1, max_size=40) | st.sampled_from(["@everyone", "[a](https://evil)", "*" * 32])
reasons = st.text(max_size=1_000) | st.sampled_from(
    ["<@1>" * 250, "# a\n> b\n- c", "😀" * 1_000, "_" * 1_000]
)


@examples(200)
@given(names, reasons)
def test_it_is_never_too_long_and_no_word_of_others_is_markup(name: str, reason: str) -> None:
    listing = replace(BOT, profile=replace(BOT_PROFILE, name=name))
    for message in (APPROVED, replace(DENIED, reason=reason)):
        text = text_of(listing, message)
        assert 0 < len(text.encode("utf-16-le", "surrogatepass")) // 2 <= MOST_UNITS
        ours = text.replace(f"<{URL}/{BOT_REF}/manage>", "").replace("again:", "").replace("approved:", "")
        unescaped = re.sub(r"\\[^0-9A-Za-z\s]", "", ours)
        assert not re.search(r"[\\`*_~|<>@#\[\]()]", unescaped)


def test_all_attempts_at_a_message_have_one_nonce_and_other_messages_have_others() -> None:
    nonce = nonce_of(BOT, APPROVED)
    assert len(nonce) <= 25
    assert nonce_of(BOT, replace(APPROVED, made=3, node="b.1", taken_ms=5)) == nonce
    others = [
        nonce_of(replace(BOT, ref=OTHER_REF), APPROVED),
        nonce_of(BOT, replace(APPROVED, decided_ms=NOW_MS + 1)),
        nonce_of(BOT, replace(APPROVED, stamp=Stamp(NOW_MS, "a.1"))),
        nonce_of(BOT, replace(APPROVED, stamp=Stamp(NOW_MS, "b.1"))),
    ]
    assert len({nonce, *others}) == 5
