"""The checks of `votegate dev` before it starts, and the folder that it throws away."""

from pathlib import Path

import pytest

from gateway.development import (
    PREFIX,
    DevOptions,
    DevRefused,
    dev_settings,
    refuse_beyond_loopback,
    remove_leftovers,
    thrown_away_folder,
)
from settings.model import Settings
from storage.folder import LOCK, locked

BEYOND = ["0.0.0.0", "[::]", "192.0.2.1", "10.0.0.1", "votegate.example", "localhost.example"]
LOOPBACK = ["127.0.0.1", "127.1.2.3", "[::1]", "localhost", "bot.localhost"]


def options(address: str = "127.0.0.1", webhook_host: str = "127.0.0.1") -> DevOptions:
    return DevOptions(
        address=address,
        port=0,
        webhook=f"http://{webhook_host}:9000/votes",
        env_file=Path(".env"),
        data_dir=None,
        servers=None,
        real_limits=False,
        as_json=False,
    )


@pytest.mark.parametrize("host", BEYOND)
def test_any_address_but_loopback_is_refused(host: str) -> None:
    with pytest.raises(DevRefused, match=r"--address .* is not on loopback"):
        refuse_beyond_loopback(options(address=host.strip("[]")))
    with pytest.raises(DevRefused, match=r"--webhook .* is not on loopback"):
        refuse_beyond_loopback(options(webhook_host=host))


@pytest.mark.parametrize("host", LOOPBACK)
def test_every_address_of_loopback_is_taken(host: str) -> None:
    refuse_beyond_loopback(options(host.strip("[]"), host))


@pytest.mark.parametrize("host", ["", "user@127.0.0.1", "127.0.0.1:1:2"])
def test_a_webhook_that_is_no_url_is_refused(host: str) -> None:
    with pytest.raises(DevRefused, match="--webhook"):
        refuse_beyond_loopback(options(webhook_host=host))


def test_only_the_limits_of_development_differ_from_those_of_production() -> None:
    ours, theirs = dev_settings(options(), Path("data"), "t" * 64).limits, Settings().limits
    for name in ("stats", "voters", "failures"):
        assert getattr(ours, name).requests == 1_000
        assert getattr(ours, name).window_seconds == getattr(theirs, name).window_seconds


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_data_folder_that_exists_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "data", tmp_path / "target"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.touch()
    else:
        path.symlink_to(target)
    with pytest.raises(DevRefused, match="is there already"), thrown_away_folder(path):
        pass
    assert path.is_symlink() or path.exists()
    assert not target.exists()


def test_a_data_folder_is_deleted_after_a_failure_too(tmp_path: Path) -> None:
    path = tmp_path / "data"

    def fail() -> None:
        with thrown_away_folder(path):
            (path / "file").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not path.exists()


def test_only_folders_of_ours_that_nobody_holds_are_left_behind(tmp_path: Path) -> None:
    ended, held, starting, other = (
        tmp_path / name for name in (f"{PREFIX}ended", f"{PREFIX}held", f"{PREFIX}starting", "other")
    )
    for folder in (ended, held, starting, other):
        folder.mkdir()
    for folder in (ended, other):
        (folder / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    with locked(held):
        remove_leftovers(tmp_path)
        assert not ended.exists()
        assert held.exists()
    assert starting.exists()
    assert (other / LOCK).exists()
