"""Emojis of Ada, single ones and packages."""

from tests.support.gateways import WAIT_SECONDS
from tests.support.media_files import picture
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA

FIELDS = {"owner_id": ADA, "name": "shroom", "categories": ["Cute"]}


def digest(gateway: PeopleGateway, number: int, frames: int = 1) -> str:
    """Upload a picture, another one for each number, and return its digest."""
    return uploaded(gateway, picture("GIF" if frames > 1 else "PNG", frames, (60 + number, 40)))


def uploaded(gateway: PeopleGateway, content: bytes) -> str:
    url = f"{gateway.base_url}/manage/files?user={ADA}&kind=emojis&field=pictures"
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    answer = gateway.session.post(url, data=content, headers=headers, timeout=WAIT_SECONDS)
    return str(answer.json()["file"]["digest"])


def submitted(gateway: PeopleGateway, *pictures: str, name: str = "shroom") -> str:
    """Submit emojis, and return their path in the management API."""
    body = {**FIELDS, "name": name, "pictures": pictures}
    return f"/manage/emojis/{gateway.done('POST', '/manage/emojis', body)['id']}"


def approved(gateway: PeopleGateway, *pictures: str, name: str = "shroom") -> str:
    """Submit emojis and approve them. Return the path of their page."""
    here = submitted(gateway, *pictures, name=name)
    gateway.done("POST", f"{here}/approve", {})
    return here.removeprefix("/manage")
