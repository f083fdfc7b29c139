"""Secrets that change while the gateway runs: SIGHUP lets it read them again."""

import signal
from pathlib import Path

import pytest

from storage.folder import KEYS, kept_keys
from tests.support.contract import users
from tests.support.forked_gateway import ended
from tests.support.gateways import ProcessGateway, eventually

OLD, NEW = "the-old-operator-token", "the-new-operator-token"
VOTERS = users(30)


def hang_up(gateway: ProcessGateway, said: str) -> None:
    """Let the gateway read its secrets again, and wait until its log has that text."""
    before = len(gateway.log)
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: said in gateway.log[before:])


def statuses(gateway: ProcessGateway) -> list[int]:
    """Return the statuses of requests with the old token and with the new one."""
    headers = [{"Authorization": f"Bearer {token}"} for token in (OLD, NEW)]
    return [gateway.request("GET", "/manage/bots", headers=each).status_code for each in headers]


def test_an_operator_token_is_replaced_without_a_stop(process: ProcessGateway, tmp_path: Path) -> None:
    token, previous = tmp_path / "token", tmp_path / "previous"
    token.write_text(OLD)
    previous.write_text("")
    del process.environment["VOTEGATE_OPERATOR__TOKEN"]
    process.environment |= {
        "VOTEGATE_OPERATOR__TOKEN_FILE": str(token),
        "VOTEGATE_OPERATOR__PREVIOUS_TOKEN_FILE": str(previous),
    }
    process.start()
    assert statuses(process) == [200, 401]
    form = {"token": OLD, "to": "/debug"}
    origin = {"Origin": process.base_url, "Sec-Fetch-Site": "same-origin"}
    signed_in = process.request("POST", "/debug/sign-in", data=form, headers=origin, allow_redirects=False)
    assert signed_in.status_code == 303
    cookie = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}

    def page() -> int:
        return process.request("GET", "/debug", headers=cookie, allow_redirects=False).status_code

    assert page() == 200

    token.write_text(NEW)
    previous.write_text(OLD)
    hang_up(process, "operator tokens that are accepted: 2")
    assert statuses(process) == [200, 200]
    assert page() == 200

    previous.write_text("short")
    hang_up(process, "the secrets stay as they were: operator.previous_token: ")
    assert statuses(process) == [200, 200]

    previous.write_text("")
    hang_up(process, "operator tokens that are accepted: 1")
    assert statuses(process) == [401, 200]
    assert page() == 303
    assert OLD not in process.log
    assert NEW not in process.log


@pytest.mark.parametrize("killed_after", ["rotation", "hang-up", "snapshots", "nothing"])
def test_a_sealing_key_is_replaced_without_a_stop_and_a_kill_loses_nothing(
    process: ProcessGateway, killed_after: str
) -> None:
    def step(name: str) -> None:
        if name == killed_after:
            process.signal(signal.SIGKILL)
            process.start()

    def ids() -> list[str]:
        return [key_id.hex() for key_id in kept_keys(process.folder, needed=True).key_ids]

    process.start()
    process.list_bot()
    for user in VOTERS[:10]:
        process.cast(user)
    (old,) = ids()
    rotated = ended(["rotate-key"], process.environment)
    assert "the gateway seals with it once it gets SIGHUP" in rotated.stdout
    new, older = ids()
    assert older == old
    step("rotation")
    hang_up(process, f"sealing keys: 2; new files use {new}")
    step("hang-up")
    for user in VOTERS[10:20]:
        process.cast(user)

    lines = (process.folder / KEYS).read_text().splitlines()
    (process.folder / KEYS).write_text(lines[0] + "\n")
    hang_up(process, "the sealing keys stay as they were: ")
    (process.folder / KEYS).write_text("\n".join(lines) + "\n")

    for user in VOTERS[20:22]:
        process.done("POST", "/debug/snapshot", {})
        process.cast(user)
    process.done("POST", "/debug/snapshot", {})
    eventually(lambda: f"no file in the data folder needs sealing key {old} any more" in process.log)
    step("snapshots")
    for user in VOTERS[22:]:
        process.cast(user)
    (process.folder / KEYS).write_text(lines[0] + "\n")
    hang_up(process, f"sealing keys: 1; new files use {new}")

    process.signal(signal.SIGKILL)
    process.start()
    checked = process.done("POST", "/manage/bots/111111111111111111/votes/check", {"users": VOTERS})["votes"]
    assert [each["vote"] for each in checked] == [1] * len(VOTERS)
