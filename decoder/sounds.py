"""Sounds, decoded to measure them. Runs in the decoder's process.

libsndfile decodes MP3, and Ogg with Vorbis or Opus. It comes with the package soundfile; the module of that
package would import numpy, which this process does not need, so it is called directly. A sound is decoded in
pieces up to the longest length of its field, however long it is.
"""

import ctypes
import os
from array import array
from functools import cache
from pathlib import Path
from typing import Any

import _soundfile_data

from decoder.decoder_messages import DAMAGED, FileRefused
from decoder.sound_streams import clean_mp3, clean_ogg, is_mp3, is_ogg
from forms.file_fields import Files

READ = 0x10
MOST_CHANNELS, MOST_RATE = 2, 48_000
PIECE_FRAMES = 4_096
PARTS, LEVELS = 64, 15


class SoundInfo(ctypes.Structure):
    """SF_INFO of sndfile.h."""

    _fields_ = (
        ("frames", ctypes.c_int64),
        ("samplerate", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("format", ctypes.c_int),
        ("sections", ctypes.c_int),
        ("seekable", ctypes.c_int),
    )


@cache
def library() -> ctypes.CDLL:
    """Return libsndfile."""
    (path,) = Path(_soundfile_data.__file__).parent.glob("libsndfile*")
    found = ctypes.CDLL(str(path))
    found.sf_open_fd.restype = ctypes.c_void_p
    found.sf_open_fd.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(SoundInfo), ctypes.c_int)
    found.sf_readf_short.restype = ctypes.c_int64
    found.sf_readf_short.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    found.sf_close.argtypes = (ctypes.c_void_p,)
    return found


def load_sounds() -> None:
    """Load the library: the confined process can open nothing."""
    library()


def decode_sound(content: bytes, rules: Files) -> tuple[bytes, dict[str, Any]]:
    """Return the clean sound, and its facts. Raises FileRefused."""
    if is_ogg(content) and "audio/ogg" in rules.media_types:
        media_type, clean = "audio/ogg", clean_ogg(content)
    elif is_mp3(content) and "audio/mpeg" in rules.media_types:
        media_type, clean = "audio/mpeg", clean_mp3(content)
    else:
        raise FileRefused(rules.other_type)
    samples, rate, channels = _samples(clean, rules)
    frames = len(samples) // channels
    facts = {"media_type": media_type, "length_ms": -(-frames * 1_000 // rate), "peaks": _peaks(samples)}
    return clean, facts


def _samples(content: bytes, rules: Files) -> tuple["array[int]", int, int]:
    """Return the samples, their rate, and the number of channels. Raises FileRefused."""
    lib, info, fd = library(), SoundInfo(), os.memfd_create("sound")
    try:
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        sound = lib.sf_open_fd(fd, READ, ctypes.byref(info), 0)
        if not sound:
            raise FileRefused(DAMAGED)
        try:
            return _read(lib, sound, info, rules)
        finally:
            lib.sf_close(sound)
    finally:
        os.close(fd)


def _read(lib: ctypes.CDLL, sound: int, info: SoundInfo, rules: Files) -> tuple["array[int]", int, int]:
    rate, channels = info.samplerate, info.channels
    if not (0 < rate <= MOST_RATE and 0 < channels <= MOST_CHANNELS):
        raise FileRefused(DAMAGED)
    most = rules.most_ms * rate // 1_000
    piece = (ctypes.c_short * (PIECE_FRAMES * channels))()
    samples, frames = array("h"), 0
    while (count := lib.sf_readf_short(sound, piece, PIECE_FRAMES)) > 0:
        frames += count
        if frames > most:
            raise FileRefused(rules.too_long)
        samples.frombytes(bytes(piece)[: 2 * channels * count])
    if not frames:
        raise FileRefused(DAMAGED)
    return samples, rate, channels


def _peaks(samples: "array[int]") -> str:
    """Return the greatest sample of each part, beside the greatest of all, as a hexadecimal digit."""
    size = -(-len(samples) // PARTS)
    parts = [samples[at : at + size] for at in range(0, size * PARTS, size)]
    peaks = [max(max(part), -min(part)) if part else 0 for part in parts]
    most = max(*peaks, 1)
    return "".join(f"{round(LEVELS * peak / most):x}" for peak in peaks)
