"""The readers of files on made-up bytes: they refuse them or take them, and raise nothing else."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from blobs.sealed_blobs import Blob, BlobCorrupt, SealedBlobs
from forms.file_fields import Files
from languages.refusals import Refusal
from storage.sealing import KeyMissing
from tests.support.examples import affordable
from tests.support.journals import on
from tests.support.media_files import BANNER, EMOJI, SOUND, clean, picture, read, sound
from web.form_posts import read_form

SEEDS: list[tuple[str, bytes, Files]] = [
    ("png", picture(size=(40, 30)), EMOJI),
    ("apng", picture(frames=3, size=(40, 30)), EMOJI),
    ("gif", picture("GIF", frames=3, size=(40, 30)), EMOJI),
    ("webp", picture("WEBP", frames=3, size=(40, 30)), EMOJI),
    ("jpeg", picture("JPEG", size=(40, 30)), BANNER),
    ("mp3", sound("mp3", 0.2), SOUND),
    ("vorbis", sound("vorbis", 0.2), SOUND),
    ("opus", sound("opus", 0.2), SOUND),
]


def broken(content: bytes, dice: random.Random) -> bytes:
    """Return the file with a few bytes changed, cut out, doubled, or put in."""
    made = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 8))):
        at = dice.randrange(len(made) + 1)
        end = min(len(made), at + dice.choice((1, 2, 4, 64)))
        match dice.randrange(4):
            case 0:
                made[at:end] = dice.randbytes(end - at)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end]
            case _:
                made[at:at] = dice.choice((b"\xff" * 4, bytes(8), b"\x7f\xff\xff\xff", dice.randbytes(3)))
    return bytes(made) or b"\0"


@pytest.mark.parametrize(("content", "rules"), [each[1:] for each in SEEDS], ids=[each[0] for each in SEEDS])
def test_a_broken_file_is_refused_or_cleaned(content: bytes, rules: Files) -> None:
    dice = random.Random(len(content))
    for _ in range(affordable(2_000)):
        found = read(broken(content, dice), rules)
        if found.file is None:
            assert found.code is not None
        else:
            assert rules.fault(found.file) is None
            again = read(found.content, rules)
            assert again.file is not None, again.code


def test_a_broken_file_on_disk_is_corrupt_or_whole(tmp_path: Path) -> None:
    kept, content = SealedBlobs(on(tmp_path)), picture(size=(40, 30))
    blob = Blob(clean(content, EMOJI)[1], clean(content, EMOJI)[0])
    kept.write(blob)
    path = kept.path / blob.ref.digest
    whole, dice = path.read_bytes(), random.Random(3)
    for _ in range(affordable(5_000)):
        path.write_bytes(broken(whole, dice))
        with suppress(BlobCorrupt, KeyMissing):
            assert kept.read(blob.ref.digest) == blob


def test_a_broken_form_with_files_is_read_or_refused() -> None:
    dice, kind = random.Random(5), "multipart/form-data; boundary=x"
    part = b'--x\r\nContent-Disposition: form-data; name="cover"; filename="../a.png"\r\n\r\nPNG\r\n'
    whole = part + part.replace(b'; filename="../a.png"', b"") + b"--x--\r\n"
    assert set(read_form(whole, 1_000, kind, takes_files=True).files) == {"cover"}
    for _ in range(affordable(20_000)):
        with suppress(Refusal):
            read_form(broken(whole, dice), 1_000, kind, takes_files=True)
