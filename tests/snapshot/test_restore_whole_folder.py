"""A folder that is made whole or not at all."""

from pathlib import Path

import pytest

from snapshot.restore import whole_folder
from storage.folder import DIGEST_SECRET, KEYS, LOCK
from tests.support.folder_bytes import bytes_of


def test_a_folder_gets_its_name_when_it_is_whole_and_is_for_one_user_only(tmp_path: Path) -> None:
    new = tmp_path / "above" / "new"
    with whole_folder(new) as folder:
        (folder / KEYS).touch()
        assert not new.exists()
    assert [path.name for path in new.iterdir()] == [KEYS]
    assert [each.stat().st_mode & 0o777 for each in (new, new.parent)] == [0o700, 0o700]
    assert list(new.parent.iterdir()) == [new]


def fail(path: Path, error: BaseException) -> None:
    with whole_folder(path) as folder:
        for name in (DIGEST_SECRET, LOCK):
            (folder / name).touch()
        raise error


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_a_folder_that_could_not_be_filled_is_not_made_nor_are_its_parents(
    tmp_path: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        fail(tmp_path / "above" / "new", error)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_have_made_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    new = tmp_path / "new"
    with pytest.raises(OSError, match="not empty"), whole_folder(new):
        others_make(new)
    assert [path.name for path in new.iterdir()] == ["theirs"]
    assert list(tmp_path.iterdir()) == [new]


def others_make(folder: Path) -> None:
    folder.mkdir()
    (folder / "theirs").touch()


def test_a_folder_that_was_there_stays_with_what_was_in_it(tmp_path: Path) -> None:
    (tmp_path / KEYS).write_text("mine")
    with pytest.raises(OSError, match="full"):
        fail(tmp_path, OSError("full"))
    assert bytes_of(tmp_path) == {KEYS: b"mine"}
