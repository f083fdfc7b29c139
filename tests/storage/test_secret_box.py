"""Secrets in one file: without the passphrase nobody reads or changes them unseen."""

import pytest

from storage import sealing
from storage.sealing import NotOpened, opened_secrets, sealed_secrets

SECRETS = {"operator.token": "a-token-to-keep", "sealing.keys": "one\ntwo"}
PASSPHRASE = "a passphrase of the tests"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a guess cheap. A file names its own cost, so it still opens."""
    monkeypatch.setattr(sealing, "_COST", (4, 1, 1))


def test_sealed_secrets_are_opened_with_their_passphrase() -> None:
    sealed = sealed_secrets(SECRETS, PASSPHRASE)
    assert opened_secrets(sealed, PASSPHRASE) == SECRETS
    assert b"a-token-to-keep" not in sealed
    assert b"operator" not in sealed
    assert sealed_secrets(SECRETS, PASSPHRASE) != sealed


def test_the_cost_of_a_guess_is_what_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert sealing._COST == (17, 8, 1)


@pytest.mark.parametrize("passphrase", ["", "another passphrase", PASSPHRASE + " ", PASSPHRASE.upper()])
def test_another_passphrase_opens_nothing(passphrase: str) -> None:
    sealed = sealed_secrets(SECRETS, PASSPHRASE)
    with pytest.raises(NotOpened, match="the passphrase is wrong, or the file is damaged"):
        opened_secrets(sealed, passphrase)


def test_every_bit_that_flips_is_noticed() -> None:
    sealed = sealed_secrets(SECRETS, PASSPHRASE)
    in_cost = range(8 * 8, 11 * 8)  # other bits of these make a guess dear, and this test with it
    for bit in set(range(len(sealed) * 8)) - set(in_cost):
        damaged = bytearray(sealed)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(NotOpened):
            opened_secrets(bytes(damaged), PASSPHRASE)


def test_a_cost_that_would_take_all_memory_is_refused_and_not_paid() -> None:
    sealed = sealed_secrets(SECRETS, PASSPHRASE)
    for at in (8, 9, 10):
        for cost in (0, 21, 255):
            damaged = bytearray(sealed)
            damaged[at] = cost
            with pytest.raises(NotOpened, match="it is damaged"):
                opened_secrets(bytes(damaged), PASSPHRASE)


def test_a_file_that_is_cut_or_longer_is_refused() -> None:
    sealed = sealed_secrets(SECRETS, PASSPHRASE)
    for content in [sealed[:length] for length in range(len(sealed))] + [sealed + b"x"]:
        with pytest.raises(NotOpened):
            opened_secrets(content, PASSPHRASE)


@pytest.mark.parametrize("content", [b"", b"VGSNAP\x00\x02 something", b"VGSECR\x00\x02" + b"x" * 99])
def test_a_file_of_another_kind_or_version_is_told(content: bytes) -> None:
    with pytest.raises(NotOpened, match=r"no file of secrets|another version"):
        opened_secrets(content, PASSPHRASE)
