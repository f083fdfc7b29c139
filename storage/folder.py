"""The data folder. Invariant: one process at a time, no files but ours, secrets for one user only.

The gateway refuses to start if others may change the folder or read its secrets. Other users who may write
the folder could plant files and links in it for the gateway to follow, and a sticky bit does not stop them.
The refusal names everything that is wrong at once, with one command that fixes it.

A file that an operator asks for, somewhere else, is whole, durable and for one user only when it has its
name. Until then it has another name, in the same folder. A process that is killed leaves that file behind.
"""

import errno
import fcntl
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from storage.disk import OS_DISK, Disk, write_all, write_file
from storage.sealing import BadKeys, Keyring, keyring_of, new_key

LOCK = "lock"
KEYS = "sealing.keys"
UNFINISHED = ".tmp"
"""The suffix of a file that does not count yet. It is renamed when it is whole."""
DIGEST_SECRET = "key-digest.secret"  # noqa: S105 (the name of its file)
OPERATOR_TOKEN = "operator.token"  # noqa: S105 (the name of its file)
BLOBS = "blobs"
"""The folder of the files of listings."""
WORKERS_FOLDER = re.compile(r"worker-[1-9][0-9]?", re.ASCII)
"""The names of the folders of further workers."""
WORKER_SOCKET = "worker.sock"
"""The socket on which a worker answers the others."""
SEARCH_INDEX = "search-index"
LOST_AND_FOUND = "lost+found"  # a file system's own, where the folder is a mount point
_NUMBER = r"\d{20}"
_WHOLE_ONCE_RENAMED = (KEYS, DIGEST_SECRET, OPERATOR_TOKEN, SEARCH_INDEX)
_OURS = re.compile(
    rf"{LOCK}|{BLOBS}|{re.escape(LOST_AND_FOUND)}|journal-{_NUMBER}-\d+\.torn"
    rf"|({'|'.join(map(re.escape, _WHOLE_ONCE_RENAMED))}|(journal|snapshot|changes)-{_NUMBER})"
    rf"({re.escape(UNFINISHED)})?",
    re.ASCII,
)
_NO_SPACE = "no space is left on this disk; free some"
_NO_RIGHT = "this user may not use it; give it the right to, or choose another folder"
_ADVICE = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: "its file system is read-only; mount it writable, or choose another folder",
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.ENOTDIR: "it is not a folder; choose another",
    errno.EEXIST: "it is not a folder; choose another",
    errno.ELOOP: "it is a symbolic link, which may lead anywhere; put the file itself there",
}


class FolderUnusable(Exception):
    """The data folder cannot be used. The text is one sentence with the reason."""


class FolderInUse(FolderUnusable):
    """Another process has locked the folder."""


def what_to_do(error: Exception, folder: Path) -> str:
    """Return one sentence: the reason why the folder cannot be used, and the remedy."""
    if not isinstance(error, OSError) or (error.errno not in _ADVICE and error.filename is None):
        return str(error)
    return f"{error.filename or folder}: {_ADVICE.get(error.errno or 0, error.strerror)}"


@dataclass(frozen=True)
class Folder:
    """The folder of journal and snapshots, the keys that seal them, and the disk that writes them."""

    path: Path
    keys: Keyring
    disk: Disk = OS_DISK


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process. Raises FolderInUse at once when another process has it.

    The lock is the kernel's (flock): it ends with the process, however that ends.
    """
    path = folder / LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_nlink > 1:  # the pid would overwrite a file that somebody may need
            raise FolderUnusable(f"{path} is a hard link: its file has another name; delete {path}")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise FolderInUse(
                f"{folder} is in use by another process (pid {owner}); stop it, or choose another data_dir"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other command changes the secrets of the folder, whose gateway may run meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def made_folder(path: Path, disk: Disk = OS_DISK) -> None:
    """Make the folder and its missing parents, for one user only.

    Its entry in the parent folder is durable afterwards, also if another process made the folder.
    """
    refuse_fileless(path)
    if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing or [path]):  # `parents=True` would leave the mode of parents to the umask
        folder.mkdir(mode=0o700, exist_ok=True)
    for folder in missing or [path]:
        with suppress(PermissionError):  # a parent of another user, whose entries this process cannot sync
            disk.sync_folder(folder.parent)


def refuse_fileless(path: Path) -> None:
    """Raise FolderUnusable if the path is in a file system that the kernel makes up, such as /proc or /sys.

    Such a file system has no blocks and no free files. Any other error of the path is left to the caller.
    """
    whole = path.absolute()
    with suppress(OSError):
        room = os.statvfs(next(folder for folder in (whole, *whole.parents) if folder.is_dir()))
        if room.f_blocks == room.f_files == 0:
            raise FolderUnusable(
                f"{path}: its file system stores no files, like /proc and /sys; choose another folder"
            )


def refuse_foreign_files(folder: Path) -> None:
    """Raise FolderUnusable if the folder holds a foreign file: it may be the wrong folder."""
    foreign = sorted(path.name for path in folder.iterdir() if not _is_ours(path))
    if foreign:
        name = ascii(str(folder / foreign[0]))[1:-1]  # in one line, whatever it is
        if (_OURS.fullmatch(foreign[0]) or WORKERS_FOLDER.fullmatch(foreign[0])) and (
            folder / foreign[0]
        ).is_symlink():
            raise FolderUnusable(
                f"{name} is not a file of Votegate's but a symbolic link; put the file itself there"
            )
        raise FolderUnusable(f"{name} is not a file of Votegate's; move it away, or choose another data_dir")


def _is_ours(path: Path) -> bool:
    """Return true for a file of ours.

    A pipe or a folder with one of our names is foreign, because a read of it might never return. So is a
    symbolic link, because it may lead anywhere.
    """
    is_file = path.is_file() and not path.is_symlink()
    if path.name == WORKER_SOCKET:
        return path.is_socket() and not path.is_symlink()
    if WORKERS_FOLDER.fullmatch(path.name):
        return path.is_dir() and not path.is_symlink()
    is_folder = path.name == LOST_AND_FOUND or (
        path.name == BLOBS and path.is_dir() and not path.is_symlink()
    )
    return bool(_OURS.fullmatch(path.name)) and (
        is_folder if path.name in {LOST_AND_FOUND, BLOBS} else is_file
    )


def list_numbered(folder: Path, prefix: str) -> list[tuple[int, Path]]:
    """Return (number, path) of the files named with the prefix and 20 digits, by number. Those are whole."""
    name = re.compile(rf"{re.escape(prefix)}({_NUMBER})", re.ASCII)
    found = ((name.fullmatch(path.name), path) for path in folder.glob(prefix + "*") if path.is_file())
    return sorted((int(match[1]), path) for match, path in found if match)


def remove_unfinished(folder: Folder) -> None:
    """Delete the files that an interrupted process had not finished."""
    for path in folder.path.glob("*" + UNFINISHED):
        folder.disk.unlink(path)


def kept_keys(folder: Path, *, needed: bool, disk: Disk = OS_DISK) -> Keyring:
    """Return the sealing keys of the folder. Without any, make one.

    Raises FolderUnusable if keys are `needed` to read existing files and there are none, or if they are bad.
    """
    path = folder / KEYS
    if needed and not path.exists():
        raise FolderUnusable(f"{path} is missing, and nothing here can be read without it; restore it")
    try:
        return keyring_of(kept_secret(folder, KEYS, lambda: Keyring([new_key()]).to_text(), disk))
    except BadKeys as error:
        raise FolderUnusable(f"{path}: {error}; restore it") from None


def keep_keys(folder: Path, keys: Keyring, disk: Disk = OS_DISK) -> None:
    """Replace the sealing keys of the folder, all at once and durably."""
    keep_secret(folder, KEYS, keys.to_text(), disk)


def kept_secret(folder: Path, name: str, make: Callable[[], str], disk: Disk = OS_DISK) -> str:
    """Return the secret in a file of the folder. Without the file, make it, with mode 0600.

    Raises FolderUnusable for a file that is empty or holds no ASCII text.
    """
    path = folder / name
    try:
        # Not as text: a codec is a module that may be imported only now. If its file is gone, that is a
        # FileNotFoundError, too, and another secret would take the place of this one.
        with open(path, "rb", opener=_not_followed) as file:
            content = file.read()
    except FileNotFoundError:
        secret = make()
        keep_secret(folder, name, secret, disk)
        return secret
    try:
        secret = content.decode("ascii").strip()
    except UnicodeDecodeError:
        raise FolderUnusable(f"{path} is no ASCII text; restore it") from None
    if not secret:
        raise FolderUnusable(f"{path} is empty; restore it")
    return secret


def keep_secret(folder: Path, name: str, secret: str, disk: Disk = OS_DISK) -> None:
    """Put a secret into a file of the folder, with mode 0600.

    The write is durable and happens at once: a file of that name always has a whole secret.
    """
    path = folder / name
    unfinished = path.with_name(path.name + UNFINISHED)
    write_file(disk, unfinished, [f"{secret}\n".encode("ascii")])
    disk.rename(unfinished, path)
    disk.sync_folder(folder)


def _not_followed(path: str, flags: int) -> int:
    """Open a file. A symbolic link raises OSError. A pipe reads as empty, without waiting for a writer."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


SECRETS = (KEYS, DIGEST_SECRET, OPERATOR_TOKEN)
_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ANY = stat.S_IRWXG | stat.S_IRWXO


def refuse_exposed(folder: Path) -> None:
    """Raise FolderUnusable if others may write the folder, or read or change a secret in it."""
    user, whole = os.geteuid(), folder.stat()
    if whole.st_uid not in {0, user}:
        raise FolderUnusable(
            f"{folder} belongs to user {whole.st_uid}, and this process is user {user}; run it as the "
            f"folder's user, or fix it with: {_command(f'chown -R {user}', folder)}"
        )
    is_open = bool(whole.st_mode & _WRITE)
    if is_open and whole.st_mode & stat.S_ISVTX:
        raise FolderUnusable(
            f"{folder} is shared with others, who could plant files in it; name a folder in it as data_dir, "
            f"such as {folder / 'votegate'}: it is made for this user alone"
        )
    problems, given, shut = [], [], []
    if is_open:
        problems.append(f"{folder} can be written by others ({_mode(whole)}), who could plant files in it")
    for path, status in _secrets(folder):
        is_foreign, is_exposed = status.st_uid not in {0, user}, bool(status.st_mode & _ANY)
        if is_foreign:
            problems.append(f"{path} belongs to user {status.st_uid}")
        if is_exposed:
            problems.append(f"{path} can be read or changed by others ({_mode(status)})")
        if (is_foreign or is_exposed) and status.st_uid != user:
            given.append(path)
        if is_exposed:
            shut.append(path)
    if problems:
        commands = [
            *([_command(f"chown {user}", folder)] if is_open and whole.st_uid != user else []),
            *([_command("chmod go-w", folder)] if is_open else []),
            *([_command(f"chown {user}", *given)] if given else []),
            *([_command("chmod go=", *shut)] if shut else []),
        ]
        raise FolderUnusable(f"{', and '.join(problems)}; fix it with: {' && '.join(commands)}")


def _secrets(folder: Path) -> list[tuple[Path, os.stat_result]]:
    paths = [folder / name for name in SECRETS]
    return [(path, path.lstat()) for path in paths if os.path.lexists(path)]


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"


def _command(command: str, *paths: Path) -> str:
    return f"{command} {shlex.join(map(str, paths))}"


class NewFile:
    """The file while it is written. `path` is its temporary name."""

    def __init__(self, path: Path, file: int, disk: Disk) -> None:
        self.path = path
        self.size = 0
        self._file = file
        self._disk = disk

    def write(self, piece: bytes) -> None:
        write_all(self._disk, self._file, piece, self.size)
        self.size += len(piece)

    def sync(self) -> None:
        self._disk.sync(self._file)


@contextmanager
def new_file(path: Path, *, force: bool = False, disk: Disk = OS_DISK) -> Iterator[NewFile]:
    """Write a file. It gets its name when the block ends, and is deleted when that raises.

    Raises FileExistsError for a name that is taken, unless `force` is set, and OSError.
    """
    refuse_taken(path, force=force)
    file, name = tempfile.mkstemp(UNFINISHED, f".{path.name}.", path.parent)
    unfinished = Path(name)
    try:
        try:
            written = NewFile(unfinished, file, disk)
            yield written
            written.sync()
        finally:
            disk.close(file)
        refuse_taken(path, force=force)
        disk.rename(unfinished, path)
        disk.sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):  # the caller gets the error that made it fail
            disk.unlink(unfinished)
        raise


def refuse_taken(path: Path, *, force: bool) -> None:
    """Raise FileExistsError for a name that is taken; with `force` only if it is no file."""
    if os.path.lexists(path) and not (force and path.is_file() and not path.is_symlink()):
        raise FileExistsError(
            f"{path} is there already; name another file" + ("" if force else ", or add --force")
        )
