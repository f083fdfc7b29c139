"""A site that offers one kind: the public API of bots is off, and every page does without the others."""

from pathlib import Path

from tests.support.gateways import BOT, BOT_SUBMISSION, USER
from tests.support.listed_emojis import approved, digest
from tests.support.people_gateway import serving
from tests.support.platform_stand_in import ADA


def test_without_bots_nobody_checks_a_vote_and_their_keys_are_kept(tmp_path: Path) -> None:
    check = f"/bots/{BOT}/voters/{USER}"
    with serving(tmp_path) as gateway:
        key = gateway.list_bot()
        assert gateway.request("GET", check, headers={"Authorization": key}).status_code == 200
    with serving(tmp_path, **{"kinds.enabled": "profiles"}) as gateway:
        assert gateway.request("GET", check, headers={"Authorization": key}).status_code == 404
        assert gateway.operate("POST", "/manage/bots", BOT_SUBMISSION).status_code == 404
        ada = gateway.person(ADA)
        for path in ("/", "/me", "/me/votes", "/profiles", "/nothing", "/docs"):
            assert ada.get(path).status_code == (404 if path == "/nothing" else 200)
        assert "/bots" not in ada.page("/")
        assert "It also removes your profile." in ada.page("/me/data")
    with serving(tmp_path) as gateway:
        assert gateway.request("GET", check, headers={"Authorization": key}).status_code == 200


def test_without_emojis_nobody_gets_their_files_which_are_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as gateway:
        file = digest(gateway, 1)
        approved(gateway, file)
        assert gateway.request("GET", f"/files/{file}.png").status_code == 200
    with serving(tmp_path, **{"kinds.enabled": "bots"}) as gateway:
        assert gateway.request("GET", f"/files/{file}.png").status_code == 404
        assert "your profile" not in gateway.person(ADA).page("/me/data")
    with serving(tmp_path) as gateway:
        assert gateway.request("GET", f"/files/{file}.png").status_code == 200
