"""decoder/sounds.py and sound_streams.py: sounds are taken apart, measured, and put together again."""

import struct

import pytest

from decoder.sound_streams import OggPage, laced, written
from languages.said import Fault
from tests.support.media_files import (
    PICTURES,
    SOUND,
    clean,
    codes,
    fault,
    long_mp3,
    long_ogg,
    padded_ogg,
    picture,
    sound,
)

PAYLOAD = b"<script>alert(1)</script>"
TOO_LONG = Fault("sound_too_long", {"most": "5.2"})
NO_SOUND = Fault("not_such_a_file", {"types": "MP3 or OGG"})
each_kind = pytest.mark.parametrize("kind", ["mp3", "vorbis", "opus"])


def id3(payload: bytes) -> bytes:
    size = len(payload)
    sizes = bytes((size >> shift) & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x04\0\0" + sizes + payload


@each_kind
def test_a_sound_is_at_most_5_2_seconds_long_by_decoding(kind: str) -> None:
    _, file = clean(sound(kind, 5.2), SOUND)
    assert file.length_ms == 5_200
    assert fault(sound(kind, 5.2 + 1 / 48_000), SOUND) == TOO_LONG


@each_kind
@pytest.mark.parametrize("channels", [1, 2])
def test_a_sound_has_facts(kind: str, channels: int) -> None:
    content, file = clean(sound(kind, 1.0, channels=channels), SOUND)
    assert file.media_type == ("audio/mpeg" if kind == "mp3" else "audio/ogg")
    assert (file.length_ms, file.size, file.width, file.frames) == (1_000, len(content), 0, 0)
    assert len(file.peaks) == 64
    assert int(file.peaks[0], 16) < int(file.peaks[32], 16) < int(file.peaks[-1], 16) == 15


def test_a_sound_has_at_most_512_kib() -> None:
    assert clean(padded_ogg(512 << 10), SOUND)[1].size == 512 << 10
    assert fault(padded_ogg((512 << 10) + 1), SOUND) == Fault("file_too_large", {"most": 512})
    large = id3(bytes(600_000)) + sound()
    assert fault(large, SOUND) is None  # the tag is left out
    assert fault(long_mp3(600_000), SOUND) == TOO_LONG


@pytest.mark.parametrize("content", [long_mp3(200_000), long_ogg(200_000)], ids=["mp3", "ogg"])
def test_hours_of_sound_in_200_kb_are_refused(content: bytes) -> None:
    assert fault(content, SOUND) == TOO_LONG


@each_kind
def test_the_same_file_is_the_same_twice(kind: str) -> None:
    first = clean(sound(kind), SOUND)
    assert clean(first[0], SOUND) == first


def test_tags_and_polyglots_of_an_mp3_are_left_out() -> None:
    frames, _ = clean(sound(), SOUND)
    apart = id3(PAYLOAD) + id3(b"APIC" + PAYLOAD) + bytes(100) + frames
    for tail in (PAYLOAD, b"TAG" + PAYLOAD.ljust(125), b"PK\x05\x06" + bytes(18)):
        assert clean(apart + tail, SOUND)[0] == frames
    with_footer = bytearray(id3(PAYLOAD))
    with_footer[5] = 0x10
    assert clean(bytes(with_footer) + b"3DI\x04\0\x10\0\0\0\0" + frames, SOUND)[0] == frames


def test_an_mp3_that_changes_its_channels_version_or_rate_is_refused() -> None:
    """Such a change writes behind a buffer of mpg123 before 1.32.8: CVE-2024-10573."""
    first = clean(sound(), SOUND)[0]
    for other in (sound(channels=2), sound(rate=44_100), sound(rate=24_000)):
        assert fault(first + clean(other, SOUND)[0], SOUND) == Fault("file_damaged")


@pytest.mark.parametrize("kind", ["vorbis", "opus"])
def test_comments_and_polyglots_of_an_ogg_are_left_out(kind: str) -> None:
    whole = sound(kind)
    content, _ = clean(whole, SOUND)
    names = {"vorbis": b"Xiph.Org", "opus": b"libopus"}
    assert names[kind] in whole
    assert names[kind] not in content
    assert clean(whole + PAYLOAD, SOUND)[0] == content
    second = written(OggPage(2, 0, *laced([b"\x01vorbis" + PAYLOAD])), 0)
    assert clean(whole + second, SOUND)[0] == content


@each_kind
def test_a_cut_file_is_refused(kind: str) -> None:
    whole = sound(kind)
    for part in (0.05, 0.5, 0.97):
        assert fault(whole[: int(part * len(whole))], SOUND) is not None, part
    assert fault(whole[:-1], SOUND) == Fault("file_damaged")


@pytest.mark.parametrize("kind", ["vorbis", "opus"])
def test_a_changed_page_is_refused(kind: str) -> None:
    whole = bytearray(sound(kind))
    whole[-20] ^= 1
    assert fault(bytes(whole), SOUND) == Fault("file_damaged")


def test_another_type_is_refused() -> None:
    wave = b"RIFF" + struct.pack("<I", 100) + b"WAVEfmt " + bytes(92)
    others = [b"", b"OggX", picture(), PAYLOAD, wave, b"fLaC" + bytes(100), b"\xff\xfb", id3(PAYLOAD)]
    assert codes(others, SOUND) == {"not_such_a_file"}
    assert fault(PAYLOAD, SOUND) == NO_SOUND


def test_an_ogg_of_another_codec_is_refused() -> None:
    pages = [OggPage(2, 0, *laced([b"\x80theora" + bytes(40)])), OggPage(4, 0, *laced([b"x"]))]
    assert codes([b"".join(written(page, at) for at, page in enumerate(pages))], SOUND) == {"file_damaged"}


def test_a_bomb_of_empty_pages_is_refused() -> None:
    head, tags = laced([b"OpusHead" + bytes(11)]), laced([b"OpusTags" + bytes(8)])
    pages = [OggPage(2, 0, *head), OggPage(0, 0, *tags)] + [OggPage(0, 0, b"", b"")] * 10_000
    assert codes([b"".join(written(page, at) for at, page in enumerate(pages))], SOUND) == {"file_damaged"}


def test_a_picture_is_no_sound() -> None:
    assert "image/png" in PICTURES
    assert fault(picture(), SOUND) == NO_SOUND
