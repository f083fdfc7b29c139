"""The .env file of a gateway for development."""

import os
import stat
from pathlib import Path

import pytest

from dev.env_file import HEAD, MOST_BYTES, Credentials, NotOurs, read_credentials, write_env

OURS = Credentials("vg_" + "k" * 43, "whsec_" + "s" * 43 + "=")
URL, BOT = "http://127.0.0.1:8080", "111111111111111111"


def test_a_file_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert read_credentials(path) is None
    write_env(path, URL, BOT, OURS)
    assert read_credentials(path) == OURS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().splitlines() == [
        HEAD,
        f"API={URL}",
        f"BOT_ID={BOT}",
        f"API_KEY={OURS.key}",
        f"WEBHOOK_SECRET={OURS.secret}",
    ]


def test_a_file_of_ours_that_others_may_read_is_for_its_user_alone_again(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    write_env(path, URL, BOT, OURS)
    path.chmod(0o644)
    write_env(path, URL, BOT, OURS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "API_KEY=mine\n", f"X=1\n{HEAD}\n"])
def test_a_file_of_somebody_else_is_not_changed(tmp_path: Path, content: str) -> None:
    path = tmp_path / ".env"
    path.write_text(content)
    with pytest.raises(NotOurs):
        read_credentials(path)
    with pytest.raises(NotOurs):
        write_env(path, URL, BOT, OURS)
    assert path.read_text() == content


def test_nothing_is_written_through_a_link_or_into_anything_but_a_file(tmp_path: Path) -> None:
    theirs, link, pipe = tmp_path / "theirs", tmp_path / "link", tmp_path / "pipe"
    write_env(theirs, URL, BOT, OURS)
    link.symlink_to(theirs)
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(NotOurs):
            write_env(path, URL, BOT, OURS)
    assert link.is_symlink()


def test_lines_that_a_developer_has_added_stay(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    write_env(path, URL, BOT, OURS)
    added = b"\nDISCORD_TOKEN=abc # caf\xe9\nAPI_KEY_OF_ANOTHER=1\r\nLAST=1"
    path.write_bytes(path.read_bytes() + added)
    write_env(path, "http://127.0.0.1:8081", BOT, OURS)
    ours = f"{HEAD}\nAPI=http://127.0.0.1:8081\nBOT_ID={BOT}\nAPI_KEY={OURS.key}\n"
    content = f"{ours}WEBHOOK_SECRET={OURS.secret}\n".encode() + added + b"\n"
    assert path.read_bytes() == content
    write_env(path, "http://127.0.0.1:8081", BOT, OURS)
    assert path.read_bytes() == content


def test_a_file_that_has_grown_too_large_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    content = f"{HEAD}\n{'#' * MOST_BYTES}"
    path.write_text(content)
    with pytest.raises(NotOurs):
        write_env(path, URL, BOT, OURS)
    assert path.read_text() == content


@pytest.mark.parametrize("damaged", ["API_KEY=vg_short", f"API_KEY={OURS.key}", "WEBHOOK_SECRET="])
def test_a_file_of_ours_without_whole_values_gets_new_ones(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"{HEAD}\n{damaged}\n")
    assert read_credentials(path) is None
    write_env(path, URL, BOT, OURS)
    assert read_credentials(path) == OURS
