"""A gateway with pages for people that knows clips, which are listings with a sound and pictures."""

import ctypes
import io
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import requests
from PIL import Image

from decoder.sounds import SoundInfo, library
from tests.support.cutting_proxy import held_port
from tests.support.eighth_kind_gateway import EighthKindGateway
from tests.support.gateways import WAIT_SECONDS
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, standing_in

WRITE, OGG_VORBIS = 0x20, 0x200060


def png(seed: int = 0, width: int = 40, height: int = 30) -> bytes:
    """Return a picture of noise, another one for each seed."""
    chance = random.Random(seed)
    file = io.BytesIO()
    Image.frombytes("RGB", (width, height), chance.randbytes(3 * width * height)).save(file, "PNG")
    return file.getvalue()


def ogg(seed: int = 0, seconds: float = 0.2) -> bytes:
    """Return a sound of noise, another one for each seed."""
    lib, frames, fd = library(), round(8_000 * seconds), os.memfd_create("sound")
    sound = lib.sf_open_fd(fd, WRITE, ctypes.byref(SoundInfo(0, 8_000, 1, OGG_VORBIS, 0, 0)), 0)
    lib.sf_writef_short.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
    assert lib.sf_writef_short(sound, random.Random(seed).randbytes(2 * frames), frames) == frames
    lib.sf_close(sound)
    content = os.pread(fd, 1 << 20, 0)
    os.close(fd)
    return content


class ClipGateway(EighthKindGateway):
    def __init__(self, folder: Path, **settings: object) -> None:
        named = {f"VOTEGATE_{key.upper().replace('.', '__')}": str(value) for key, value in settings.items()}
        super().__init__(folder, **named)

    def person(self, user: str | None) -> Person:
        visitor = Person(self)
        if user is not None:
            assert visitor.sign_in_as(user).status_code == 303
        return visitor

    def upload(self, content: bytes, field: str, user: str = ADA) -> requests.Response:
        """Upload a file for a field of a clip."""
        path = f"/manage/files?user={user}&kind=clips&field={field}"
        headers = {"Authorization": f"Bearer {self.operator_token}"}
        return self.session.request(
            "POST", self.base_url + path, data=content, headers=headers, timeout=WAIT_SECONDS
        )

    def uploaded(self, content: bytes, field: str, user: str = ADA) -> dict[str, Any]:
        """Return the file of an upload that must succeed."""
        answer = self.upload(content, field, user)
        assert answer.status_code == 201, answer.text
        file: dict[str, Any] = answer.json()["file"]
        return file

    def submitted(self, seed: int = 0, user: str = ADA) -> dict[str, Any]:
        """Submit a clip with a sound and a cover."""
        sound, cover = self.uploaded(ogg(seed), "sound", user), self.uploaded(png(seed), "cover", user)
        named = {"name": "Ding", "sound": sound["digest"], "cover": cover["digest"]}
        clip: dict[str, Any] = self.done("POST", "/manage/clips", {"owner_id": user, **named})
        return clip

    def approved(self, seed: int = 0) -> dict[str, Any]:
        clip = self.submitted(seed)
        self.done("POST", f"/manage/clips/{clip['id']}/approve", {})
        return clip


def file_path(file: dict[str, Any]) -> str:
    """Return the path at which a file is served."""
    ending = {"image/png": "png", "image/webp": "webp", "audio/ogg": "ogg", "audio/mpeg": "mp3"}
    return f"/files/{file['digest']}.{ending[file['media_type']]}"


@contextmanager
def serving_clips(folder: Path, **settings: object) -> Iterator[ClipGateway]:
    with closing(held_port()) as held:
        port = held.getsockname()[1]
        home = f"http://127.0.0.1:{port}"
        with standing_in(f"{home}/signin/callback") as stand_in:
            gateway = ClipGateway(
                folder, **{"server.port": port, **site_settings(home, stand_in), **settings}
            )
            try:
                gateway.start()
                yield gateway
            finally:
                gateway.close()
                shutil.rmtree(folder, ignore_errors=True)
