"""The redaction of a log's lines: everything that is shaped like a key, and the operator token."""

import string
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from listings.keys import KEY_BYTES, key_value
from tests.support.examples import examples
from watchers.redaction import HIDDEN, ROUNDS, Redactor

KEY = "vg_3q2-7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWc"
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
CHAT = "a-token_of-the-chat-platform"
TOKEN = "an operator's \\token/with?all"


def encoded(text: str) -> str:
    """Every character percent-encoded."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (KEY, HIDDEN),
        (f"/bots/{KEY}/stats", f"/bots/{HIDDEN}/stats"),
        (f"/{KEY}/{KEY}", f"/{HIDDEN}/{HIDDEN}"),
        (f"/{KEY[:30]}", f"/{HIDDEN}"),
        (f"GET /{encoded(KEY)} failed", f"GET {HIDDEN} failed"),
        (f"/bots/%76{KEY[1:]}/stats", HIDDEN),
        (f"/{KEY[:10]}%{ord(KEY[10]):02X}{KEY[11:]}", HIDDEN),
        (f"/{KEY[:20]}%{ord(KEY[20]):02x}{KEY[21:]}", HIDDEN),
        (encoded(encoded(KEY)), HIDDEN),
        (f"{{'path': '/{KEY}'}}", f"{{'path': '/{HIDDEN}'}}"),
        (f"/a/{SIGNING}/b", f"/a/{HIDDEN}/b"),
        (f"{SIGNING} failed", f"{HIDDEN} failed"),
        (f"https://chat.example/api/webhooks/123/{CHAT}", f"https://chat.example/api/webhooks/{HIDDEN}"),
        (f"/api/webhooks/123/{CHAT}/slack", f"/api/webhooks/{HIDDEN}/slack"),
        (f"/%61pi/webhooks/123/{CHAT}", HIDDEN),
    ],
)
def test_what_is_shaped_like_a_key_is_hidden(text: str, left: str) -> None:
    assert Redactor()(text) == left


@pytest.mark.parametrize(
    "written", [TOKEN, repr(TOKEN), repr(TOKEN.encode()), encoded(TOKEN), quote(TOKEN), quote(quote(TOKEN))]
)
def test_the_operator_token_is_hidden_however_it_is_written(written: str) -> None:
    hidden = Redactor(TOKEN)(f"GET /{written} failed")
    assert HIDDEN in hidden
    assert "token" not in unquote(unquote(hidden))


@pytest.mark.parametrize(
    "text",
    [
        "/bots/111111111111111111/stats",
        "/dev/mapper/vg_data",
        "/api/webhooks/discord",
        "/api/webhooks/123",
        "100% done",
        "/caf%C3%A9/%zz%",
        "%",
        "a\tb\n c",
    ],
)
def test_every_other_text_stays_as_it_is(text: str) -> None:
    assert Redactor(TOKEN)(text) == text


def test_what_is_encoded_more_often_than_anybody_needs_is_hidden_unread() -> None:
    word = KEY
    for _ in range(ROUNDS):
        word = quote(word.replace("v", "%76"))
    assert Redactor()(f"a {word} z") == f"a {HIDDEN} z"
    assert Redactor()("%" + "25" * 3_000) == HIDDEN


@examples(300)
@given(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), st.data())
def test_no_key_is_left_whichever_of_its_characters_are_encoded(random: bytes, data: st.DataObject) -> None:
    key = word = key_value(random)
    for _ in range(data.draw(st.integers(0, 3))):
        chosen = data.draw(st.sets(st.integers(0, len(word) - 1)))
        word = "".join(encoded(each) if at in chosen else each for at, each in enumerate(word))
    before, behind = (data.draw(st.text(string.printable + "é%", max_size=9)) for _ in range(2))
    hidden = Redactor()(f"{before} /{word}/ {behind}")
    assert HIDDEN in hidden
    for _ in range(5):
        assert key not in hidden
        hidden = unquote(hidden)
