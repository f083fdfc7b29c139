"""The .env file of a gateway for development."""

import os
import stat
from pathlib import Path

import pytest

from dev.env_file import HEAD, MOST_BYTES, Credentials, NotOurs, read_credentials, write_env

OURS = Credentials("vg_" + "k" * 43, "whsec_" + "s" * 43 + "=")
URL, BOT = "http://127.0.0.1:8080", "111111111111111111"
LINES = f"{HEAD}\nAPI={URL}\nBOT_ID={BOT}\nAPI_KEY={OURS.key}\nWEBHOOK_SECRET={OURS.secret}\n"


def test_a_file_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert read_credentials(path) is None
    assert not write_env(path, URL, BOT, OURS)
    assert read_credentials(path) == OURS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == LINES


def test_a_file_that_others_may_read_is_for_its_user_alone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("DISCORD_TOKEN=abc\n")
    path.chmod(0o644)
    write_env(path, URL, BOT, OURS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"DISCORD_TOKEN=abc\n", b"A=1\r\n# \xff\r\nMY_API_KEY=2", b"\n"])
def test_a_file_of_the_user_gets_our_lines_at_its_end(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".env"
    path.write_bytes(content)
    assert read_credentials(path) is None
    assert write_env(path, URL, BOT, OURS)
    before = content if content.endswith(b"\n") else content + b"\n"
    assert path.read_bytes() == before + LINES.encode()
    assert read_credentials(path) == OURS


def test_lines_of_the_user_stay_when_ours_are_written_again(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(f"FIRST=1\n{LINES}DISCORD_TOKEN=abc\n# the end")
    other = "http://127.0.0.1:8081"
    assert not write_env(path, other, BOT, OURS)
    assert path.read_text() == f"FIRST=1\n{LINES.replace(URL, other)}DISCORD_TOKEN=abc\n# the end"


@pytest.mark.parametrize(
    "content",
    [
        "API_KEY=mine\n",
        "API_KEY='of mine' # or not\n",
        "export API=x\n",
        " BOT_ID = 1\n",
        f"{LINES}OTHER=1\nWEBHOOK_SECRET=mine\n",
    ],
)
def test_names_with_the_values_of_somebody_else_are_not_touched(tmp_path: Path, content: str) -> None:
    path = tmp_path / ".env"
    path.write_text(content)
    with pytest.raises(NotOurs):
        read_credentials(path)
    with pytest.raises(NotOurs):
        write_env(path, URL, BOT, OURS)
    assert path.read_text() == content


def test_nothing_is_written_through_a_link_or_into_anything_but_a_small_file(tmp_path: Path) -> None:
    theirs, link, pipe, large = (tmp_path / name for name in ("theirs", "link", "pipe", "large"))
    write_env(theirs, URL, BOT, OURS)
    link.symlink_to(theirs)
    os.mkfifo(pipe)
    large.write_text("x" * (MOST_BYTES + 1))
    for path in (link, pipe, large, tmp_path):
        with pytest.raises(NotOurs):
            write_env(path, URL, BOT, OURS)
    assert link.is_symlink()
    assert large.stat().st_size == MOST_BYTES + 1


@pytest.mark.parametrize("damaged", ["API_KEY=vg_short", f"API_KEY={OURS.key}", "WEBHOOK_SECRET="])
def test_lines_of_ours_without_whole_values_get_new_ones(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"{HEAD}\n{damaged}\n")
    assert read_credentials(path) is None
    write_env(path, URL, BOT, OURS)
    assert path.read_text() == LINES
