"""pages/public/robots.py, and the first page's description for sites that link to it."""

from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest

from tests.support.people_gateway import serving


def test_robots_are_told_what_is_nobody_s_search_result(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        answer = gateway.person(None).get("/robots.txt")
    parser = RobotFileParser()
    parser.parse(answer.text.splitlines())
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    for path in ("/me", "/me/data", "/review", "/signin", "/debug", "/manage/bots", "/servers/new"):
        assert not parser.can_fetch("a robot", path), path
    for path in ("/", "/docs", "/bots/111111111111111111"):
        assert parser.can_fetch("a robot", path), path


@pytest.mark.parametrize("secure", [True, False])
def test_the_first_page_says_what_it_is_to_those_who_link_to_it(tmp_path: Path, secure: bool) -> None:
    public = {"web.public_url": "https://bots.example"} if secure else {}
    platform = {
        "chat_platform.authorize_url": "https://platform.example/authorize",
        "chat_platform.api_url": "https://platform.example/api",
    }
    with serving(tmp_path / "data", **public, **platform if secure else {}) as gateway:
        page = gateway.person(None).page("/")
    canonical = '<link rel="canonical" href="https://bots.example/">'
    assert (canonical in page) is secure
    assert '<meta property="og:title" content="Made by chat communities, chosen by their users">' in page
    assert '<meta name="description" content="Owners list what they make' in page
