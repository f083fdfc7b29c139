"""API keys: created, shown once, rotated, deleted."""

import re
from pathlib import Path

import pytest

from journal.segments import JournalReader
from storage.folder import Folder, kept_keys
from tests.support.contract import BOT_NOT_FOUND, BOT_PATH, INVALID_KEY, refusal, wrong_fields
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER, ThreadGateway, running

KEYS = f"{BOT_PATH}/keys"
OVERLAP = 600


def issue(gateway: ThreadGateway, name: str = "second") -> tuple[str, str]:
    """The id and the value of a new key."""
    made = gateway.done("POST", KEYS, {"name": name})
    return made["id"], made["key"]


def rotate(gateway: ThreadGateway, key_id: str, **body: int) -> str:
    """The new value of a key."""
    value: str = gateway.done("POST", f"{KEYS}/{key_id}/rotate", body)["key"]
    return value


def works(gateway: ThreadGateway, key: str) -> bool:
    response = gateway.voters(key)
    if response.status_code == 200:
        return True
    assert refusal(response) == INVALID_KEY
    return False


@pytest.mark.usefixtures("key")
def test_a_key_is_created_with_a_name_and_shown(gateway: ThreadGateway) -> None:
    response = gateway.operate("POST", KEYS, {"name": "production"})

    made = response.json()
    assert response.status_code == 201
    assert made == {"success": True, "id": made["id"], "name": "production", "key": made["key"]}
    assert works(gateway, made["key"])


@pytest.mark.usefixtures("key")
def test_a_key_is_vg_and_43_url_safe_characters(gateway: ThreadGateway) -> None:
    values = {issue(gateway, f"key {number}")[1] for number in range(10)}

    assert len(values) == 10
    assert all(re.fullmatch(r"vg_[A-Za-z0-9_-]{43}", value) for value in values)


def test_a_key_is_shown_once(gateway: ThreadGateway, key: str) -> None:
    pages = [KEYS, BOT_PATH, "/manage/bots", f"/debug/listings/bots/{BOT}.json"]
    shown = [gateway.operate("GET", path).text for path in pages]

    assert "tests" in shown[0]
    assert all(key not in text and key[3:] not in text for text in shown)


def test_the_value_of_a_key_is_nowhere_on_disk(gateway: ThreadGateway, key: str) -> None:
    gateway.stop()

    folder = Folder(gateway.folder, kept_keys(gateway.folder, needed=True))
    unsealed = b"".join(record for _, record in JournalReader(folder).records(0))
    files = b"".join(path.read_bytes() for path in gateway.folder.rglob("*") if path.is_file())
    assert BOT.encode() in unsealed
    assert key[3:].encode() not in unsealed + files


def test_keys_are_listed_with_names_fingerprints_and_dates(gateway: ThreadGateway, key: str) -> None:
    gateway.advance(60)
    issue(gateway)

    listed = gateway.done("GET", KEYS)

    first, second = listed["keys"]
    assert (listed["success"], listed["next"]) == (True, None)
    assert set(first) == {
        *("id", "name", "fingerprint", "created_at", "rotated_at", "old_key_until", "last_used"),
        "made_by",
    }
    assert [first["name"], second["name"]] == ["tests", "second"]
    assert first["fingerprint"] != second["fingerprint"]
    assert second["created_at"] - first["created_at"] == 60_000
    assert (first["rotated_at"], first["last_used"]) == (None, None)
    assert works(gateway, key)


def test_a_key_shows_the_day_on_which_it_was_last_accepted(gateway: ThreadGateway, key: str) -> None:
    _, pushing = issue(gateway, "pushes")
    _, idle = issue(gateway, "refused")
    assert works(gateway, key)
    assert gateway.stats(pushing, {"command_count": 1}).status_code == 200
    gateway.voters(f"Bearer {idle}")

    gateway.restart(seconds_down=24 * 3_600)

    listed = gateway.done("GET", KEYS)["keys"]
    assert [(each["name"], each["last_used"]) for each in listed] == [
        ("tests", "2025-06-15"),
        ("pushes", "2025-06-15"),
        ("refused", None),
    ]
    assert works(gateway, key)
    gateway.restart()
    assert gateway.done("GET", KEYS)["keys"][0]["last_used"] == "2025-06-16"


def test_a_bot_may_have_several_keys_at_once(gateway: ThreadGateway, key: str) -> None:
    _, second = issue(gateway)

    assert works(gateway, key)
    assert works(gateway, second)


def test_the_number_of_keys_is_limited(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"keys.per_listing": 2}) as gateway:
        gateway.list_bot()
        issue(gateway)

        assert refusal(gateway.operate("POST", KEYS, {"name": "third"}))[0] == 409


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("name", ["k", "k" * 100, "ключ 🔑"])
def test_the_name_is_chosen_by_its_creator(gateway: ThreadGateway, name: str) -> None:
    assert gateway.done("POST", KEYS, {"name": name})["name"] == name


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": " "}, {"name": "k" * 101}, {"name": "a\nb"}])
def test_a_name_is_1_to_100_visible_characters(gateway: ThreadGateway, body: dict[str, str]) -> None:
    assert wrong_fields(gateway.operate("POST", KEYS, body)) == {"name"}


def test_a_bot_in_review_gets_no_key(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)

    assert refusal(gateway.operate("POST", KEYS, {"name": "early"}))[0] == 409


def test_a_denied_bot_gets_no_key(gateway: ThreadGateway) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    gateway.done("POST", f"{BOT_PATH}/deny", {"reason": "Not yet"})

    assert refusal(gateway.operate("POST", KEYS, {"name": "early"}))[0] == 409


def test_a_rotated_key_stops_at_once(gateway: ThreadGateway, key: str) -> None:
    key_id, value = issue(gateway)

    response = gateway.operate("POST", f"{KEYS}/{key_id}/rotate", {})

    rotated = response.json()["key"]
    assert (response.status_code, response.json()) == (200, {"success": True, "id": key_id, "key": rotated})
    assert not works(gateway, value)
    assert works(gateway, rotated)
    assert works(gateway, key)


@pytest.mark.usefixtures("key")
def test_a_rotated_key_keeps_its_name_and_shows_when_it_was_rotated(gateway: ThreadGateway) -> None:
    key_id, _ = issue(gateway)
    before = gateway.done("GET", KEYS)["keys"][1]
    gateway.advance(60)

    rotate(gateway, key_id)

    after = gateway.done("GET", KEYS)["keys"][1]
    assert after["rotated_at"] == before["created_at"] + 60_000
    assert after["fingerprint"] != before["fingerprint"]
    assert [after[name] for name in ("id", "name", "created_at")] == [key_id, "second", before["created_at"]]


@pytest.mark.usefixtures("key")
def test_with_an_overlap_the_old_key_goes_on_for_so_long_to_the_millisecond(gateway: ThreadGateway) -> None:
    key_id, old = issue(gateway)

    new = rotate(gateway, key_id, overlap_seconds=OVERLAP)

    gateway.clock.advance_ms(OVERLAP * 1_000 - 1)
    assert works(gateway, old)
    gateway.clock.advance_ms(1)
    assert not works(gateway, old)
    assert works(gateway, new)


@pytest.mark.usefixtures("key")
def test_an_overlap_survives_a_restart(gateway: ThreadGateway) -> None:
    key_id, old = issue(gateway)
    new = rotate(gateway, key_id, overlap_seconds=OVERLAP)

    gateway.restart(seconds_down=OVERLAP - 1)

    assert works(gateway, old)
    gateway.advance(1)
    assert not works(gateway, old)
    assert works(gateway, new)


@pytest.mark.usefixtures("key")
def test_rotating_again_ends_an_overlap(gateway: ThreadGateway) -> None:
    key_id, oldest = issue(gateway)
    old = rotate(gateway, key_id, overlap_seconds=OVERLAP)

    new = rotate(gateway, key_id, overlap_seconds=OVERLAP)

    assert [works(gateway, value) for value in (oldest, old, new)] == [False, True, True]


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("overlap", [0, 604_800])
def test_an_overlap_is_a_week_at_most(gateway: ThreadGateway, overlap: int) -> None:
    key_id, old = issue(gateway)

    rotate(gateway, key_id, overlap_seconds=overlap)

    assert works(gateway, old) is (overlap > 0)


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("overlap", [-1, 604_801, 1.5, "1", True])
def test_any_other_overlap_is_400_and_rotates_nothing(gateway: ThreadGateway, overlap: object) -> None:
    key_id, value = issue(gateway)

    response = gateway.operate("POST", f"{KEYS}/{key_id}/rotate", {"overlap_seconds": overlap})

    assert wrong_fields(response) == {"overlap_seconds"}
    assert works(gateway, value)


def test_a_deleted_key_stops_at_once(gateway: ThreadGateway, key: str) -> None:
    key_id, value = issue(gateway)

    assert gateway.done("DELETE", f"{KEYS}/{key_id}") == {"success": True}

    assert not works(gateway, value)
    assert works(gateway, key)
    assert [row["name"] for row in gateway.done("GET", KEYS)["keys"]] == ["tests"]


@pytest.mark.usefixtures("key")
def test_deleting_a_key_ends_its_overlap(gateway: ThreadGateway) -> None:
    key_id, old = issue(gateway)
    rotate(gateway, key_id, overlap_seconds=OVERLAP)

    gateway.done("DELETE", f"{KEYS}/{key_id}")

    assert not works(gateway, old)


def test_the_keys_of_a_removed_bot_stay_dead_when_it_is_listed_again(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.done("DELETE", BOT_PATH)
    assert refusal(gateway.voters(key)) == BOT_NOT_FOUND

    again = gateway.list_bot()

    assert not works(gateway, key)
    assert works(gateway, again)


def test_keys_survive_a_restart(gateway: ThreadGateway, key: str) -> None:
    key_id, value = issue(gateway)
    rotated = rotate(gateway, key_id)

    gateway.restart()

    assert [works(gateway, each) for each in (key, value, rotated)] == [True, False, True]


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(("method", "path"), [("DELETE", "/none"), ("POST", "/none/rotate")])
def test_a_key_that_does_not_exist_is_404(gateway: ThreadGateway, method: str, path: str) -> None:
    assert refusal(gateway.operate(method, KEYS + path)) == (404, "The listing has no such key.")


@pytest.mark.usefixtures("key")
def test_a_key_of_another_bot_is_404(gateway: ThreadGateway) -> None:
    gateway.list_bot(OTHER_BOT)
    key_id, value = issue(gateway)

    response = gateway.operate("DELETE", f"/manage/bots/{OTHER_BOT}/keys/{key_id}")

    assert refusal(response) == (404, "The listing has no such key.")
    assert works(gateway, value)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_keys_of_an_unknown_bot_are_404(gateway: ThreadGateway, method: str) -> None:
    assert refusal(gateway.operate(method, KEYS, {"name": "x"})) == (404, "There is no such listing.")


def test_a_server_has_no_keys(gateway: ThreadGateway) -> None:
    gateway.list_server()

    assert refusal(gateway.operate("GET", f"/manage/servers/{SERVER}/keys")) == (404, "Not found.")
