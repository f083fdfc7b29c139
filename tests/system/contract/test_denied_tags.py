"""No listing gets a tag or a keyword that the settings forbid, however it is written."""

from collections.abc import Iterator

import pytest

from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.people_gateway import PeopleGateway, serving

DENIED = "is a word that this site does not allow"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    folder = tmp_path_factory.mktemp("tags") / "data"
    with serving(folder, **{"review.denied_tags": "Free Nitro, spam"}) as gateway:
        yield gateway


@pytest.mark.parametrize("tag", ["free-nitro", "Free  Nitro", "ＦＲＥＥ－ＮＩＴＲＯ", "SPAM"])
def test_a_forbidden_tag_is_refused_in_every_spelling(gateway: PeopleGateway, tag: str) -> None:
    gateway.operate("DELETE", f"/manage/bots/{BOT}")
    refused = gateway.operate("POST", "/manage/bots", {**BOT_SUBMISSION, "tags": ["fine", tag]})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"tags.1": DENIED})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "tags": ["fine"]})
    edit = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
    refused = gateway.operate("PUT", f"/manage/bots/{BOT}", {**edit, "tags": [tag]})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"tags.0": DENIED})
    assert gateway.done("GET", f"/manage/bots/{BOT}")["tags"] == ["fine"]


def test_a_forbidden_keyword_of_a_server_is_refused(gateway: PeopleGateway) -> None:
    gateway.operate("DELETE", f"/manage/servers/{SERVER}")
    refused = gateway.operate("POST", "/manage/servers", {**SERVER_SUBMISSION, "keywords": ["Spam"]})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"keywords.0": DENIED})
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "keywords": ["spam-free"]})
