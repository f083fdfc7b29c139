"""If browsers reach the gateway by https, it tells them to use only https; otherwise it does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import BOT, USER, running
from tests.support.people_gateway import PeopleGateway, serving

ASKED = (
    *(("GET", path) for path in ("/", "/bots", "/bots.json", "/me", "/signin", "/signin/callback", "/docs")),
    *(("GET", path) for path in ("/debug", "/debug/sign-in", "/nothing", "/static/nothing", "/healthz")),
    *(("POST", path) for path in ("/signin", "/signout", "/bots", "/debug/sign-in")),
    *(("GET", "/manage/bots"), ("PUT", "/me"), ("OPTIONS", "/bots")),
)
HEADER = "Strict-Transport-Security"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    folder = tmp_path_factory.mktemp("https") / "data"
    with serving(folder, **{"web.public_url": "https://127.0.0.1"}) as gateway:
        yield gateway


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_with_an_https_public_url_every_answer_to_a_browser_says_it_for_a_year(
    gateway: PeopleGateway, method: str, path: str
) -> None:
    answer = gateway.request(method, path, headers={"Accept": "text/html"}, allow_redirects=False)
    assert answer.raw.headers.getlist(HEADER) == ["max-age=31536000"]


def test_a_bug_says_it_too(
    gateway: PeopleGateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pages.public.home.cards", lambda *_: 1 / 0)
    answer = gateway.request("GET", "/")
    assert (answer.status_code, HEADER in answer.headers) == (500, True)
    caplog.clear()


def test_a_vote_check_does_without(gateway: PeopleGateway) -> None:
    key = gateway.list_bot()
    answer = gateway.request("GET", f"/bots/{BOT}/voters/{USER}", headers={"Authorization": key})
    assert (answer.status_code, HEADER in answer.headers) == (200, False)


def test_without_https_nothing_says_it(tmp_path: Path) -> None:
    with serving(tmp_path / "http") as gateway, running(tmp_path / "none") as alone:
        for method, path in ASKED:
            for each in (gateway, alone):
                answer = each.request(method, path, allow_redirects=False)
                assert HEADER not in answer.headers, path
