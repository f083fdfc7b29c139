"""The readers of files on made-up bytes: they refuse a file or clean it, and raise nothing else."""

import random

import pytest

from forms.file_fields import Files
from tests.support.examples import affordable
from tests.support.media_files import BANNER, EMOJI, SOUND, picture, read, sound

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
