"""Pages of a kind whose users give likes: they never speak of votes, and pages of votes never of likes."""

import re

import pytest

from core.clock import month_of
from kinds.kind import Kind
from kinds.registry import KINDS
from pages.public.rankings import month_name
from pages.table import PEOPLE_PAGES
from tests.support.gateways import BOT, BOT_SUBMISSION
from tests.support.made_listings import list_made
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN

LIKED = [kind for kind in KINDS if kind.tally == "likes"]


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_made(gateway, ADA, is_approved=True)
    for kind in LIKED:
        here = f"/manage/{kind.ref(kind.id.sample)}"
        for user in (BEN, CLEO, DAN):
            gateway.done("PUT", f"{here}/likes/{user}")
        gateway.done("POST", f"{here}/votes/strike", {"users": [DAN], "reason": "Bought."})
    gateway.person(BEN).acted("/me/naming", {"name": "on"})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    gateway.done("POST", f"/manage/bots/{BOT}/votes", {"user": BEN})
    return gateway


@pytest.fixture(scope="module")
def people(gateway: PeopleGateway) -> dict[str | None, Person]:
    return {user: gateway.person(user) for user in (None, ADA, BEN, CLEO)}


def paths_of(gateway: PeopleGateway, kind: Kind) -> list[str]:
    """Return the path of every page about the kind or its listing."""
    month, pictures = (
        month_name(month_of(gateway.clock.now_ms())),
        (".json", ".svg", ".png", "/random", "/download"),
    )
    paths = [row.path for row in PEOPLE_PAGES if row.method == "GET" and kind.plural in row.path.split("/")]
    paths = [path.replace("{id}", kind.id.sample).replace("{month}", month) for path in paths]
    return [path for path in paths if "{" not in path and not path.endswith(pictures)]


def read(page: str) -> str:
    """Return the words of a page, with those for other sites, and without the frame that all pages have."""
    told = re.findall('<meta [^>]*content="([^"]*)"', page)
    page = page.replace("Vote and like", "")  # what a quarantine forbids, for all kinds
    return " ".join(
        [*told, *re.findall("<title>(.*?)</title>", page, re.S), words(page.partition("<main")[2])]
    )


@pytest.mark.parametrize("kind", LIKED, ids=str)
@pytest.mark.parametrize("user", [None, ADA, BEN, CLEO], ids=["visitor", "owner", "user", "moderator"])
def test_no_page_of_a_kind_with_likes_speaks_of_votes(
    gateway: PeopleGateway, people: dict[str | None, Person], kind: Kind, user: str | None
) -> None:
    visitor, read_pages = people[user], list[str]()
    for path in paths_of(gateway, kind):
        answer = visitor.get(path)
        if answer.status_code == 200:
            read_pages.append(path)
            said = re.search(r"(?i).{0,60}\bvot(?:e|er|ed|es|ing)s?\b.{0,40}", read(answer.text))
            assert said is None, (path, said and said[0])
    assert f"/{kind}" in read_pages


@pytest.mark.parametrize("kind", LIKED, ids=str)
def test_pages_of_a_kind_with_likes_count_likes(people: dict[str | None, Person], kind: Kind) -> None:
    ref, ada, cleo = kind.ref(kind.id.sample), people[ADA], people[CLEO]
    assert "Likes per day" in words(ada.page(f"/{ref}/manage"))
    assert "likes removed" in words(ada.page(f"/{ref}/manage"))
    assert "Likes in 30 days 2" in words(ada.page(f"/{ref}/manage/votes"))
    assert "likes_of_day" in ada.get(f"/{ref}/manage/votes.csv").text
    assert "all its likes" in words(ada.page(f"/{ref}/manage/danger"))
    asked = {"ids": BEN, "reason": "Bought."}
    assert "1 like" in words(cleo.post(f"/review/{ref}/votes", asked).text)


def test_an_author_has_votes_and_likes_apart(people: dict[str | None, Person]) -> None:
    page = words(people[None].page(f"/users/{ADA}"))
    assert "1 vote" in page
    assert re.search("[0-9]+ likes", page)


def test_a_notice_says_that_likes_were_removed(people: dict[str | None, Person]) -> None:
    said = words(people[ADA].page("/me/notices"))
    assert re.search("Likes of .{1,40} were removed: Bought.", said)
    assert "Votes for" not in said
