"""pages/public/lists.py: the first page, and lists that everybody reads, with and without script."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from languages.language_names import Language
from pages.public.lists import LISTED, LONGEST
from search.list_orders import STALE_SECONDS, ListOrder, ListOrders
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION, eventually
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, BEN
from tests.support.public_scene import BOTS, COUNT, SERVERS, list_many
from web import templates
from web.templates import Drawing, load_drawing


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_many(gateway)
    return gateway


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    return gateway.person(None)


def listed(page: str) -> list[str]:
    """The ids that a list shows, in its order."""
    return re.findall(r'<a href="/(?:bots|servers)/([0-9]+)" class="two"', page)


def ids(stranger: Person, path: str) -> list[str]:
    return [each["id"] for each in stranger.get(path).json()["listings"]]


def following(page: str) -> str | None:
    found = re.findall(r'href="([^"]+)" rel="next"', page)
    return html.unescape(found[0]) if found else None


def test_the_first_page_leads_to_the_api_and_that_leads_back(stranger: Person) -> None:
    assert 'href="/docs"' in stranger.page("/")
    assert re.search('<a [^>]*href="/"', stranger.page("/docs"))


def test_what_is_no_page_waits_for_no_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = list[str]()

    def noted(language: Language) -> Drawing:
        loaded.append(language)
        return load_drawing(language)

    monkeypatch.setattr(templates, "load_drawing", noted)
    with serving(tmp_path / "data") as gateway:
        stranger = gateway.person(None)
        assert stranger.get("/bots.json").json()["listings"] == []
        assert stranger.get("/bots.json?limit=x").status_code == 400
        assert stranger.get(f"/bots/{ADA}.json").status_code == 404
        assert stranger.get("/me").status_code == 303
        assert loaded == []
        stranger.page("/bots")
        assert loaded == ["en"]


def test_a_list_is_sorted_by_votes_of_the_month_and_by_what_is_asked_for(stranger: Person) -> None:
    assert listed(stranger.page("/bots")) == BOTS[:LISTED]
    assert listed(stranger.page("/bots?sort=votes")) == BOTS[:LISTED]
    assert listed(stranger.page("/bots?sort=newest")) == BOTS[::-1][:LISTED]
    assert listed(stranger.page("/bots?sort=name")) == BOTS[:LISTED]
    for sort in ("month", "votes", "newest", "name"):
        assert ids(stranger, f"/bots.json?sort={sort}") == listed(stranger.page(f"/bots?sort={sort}"))


def test_the_pages_of_a_list_show_every_listing_once_while_votes_come_in(
    gateway: PeopleGateway, stranger: Person
) -> None:
    first = stranger.page("/bots")
    shown, address = listed(first), following(first)
    for bot in BOTS[-5:]:
        gateway.cast(BEN, f"/manage/bots/{bot}")
        gateway.cast(ADA, f"/manage/bots/{bot}")
    gateway.clock.advance(60)
    assert listed(gateway.person(None).page("/bots")) != shown
    while address is not None:
        page = stranger.page(address)
        shown += listed(page)
        address = following(page)
    assert shown == BOTS


def test_programs_page_through_the_same_with_a_limit_of_their_own(stranger: Person) -> None:
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        answer = stranger.get(f"/bots.json?sort=name&limit=7&after={quote(after)}").json()
        assert answer["total"] == COUNT
        assert len(answer["listings"]) <= 7
        found += [each["id"] for each in answer["listings"]]
        after = answer["next"]
    assert found == BOTS


def test_a_category_has_its_own_list_its_title_and_its_canonical_address(stranger: Person) -> None:
    page = stranger.page("/bots?category=Music&sort=name")
    assert listed(page) == BOTS[::10]
    assert "<title>Bots: Music" in page
    assert '<meta property="og:url"' in page
    assert 'bots?category=Music">' in page.partition('property="og:url"')[2][:120]
    assert ids(stranger, "/bots.json?category=Music") == BOTS[::10]
    assert stranger.get("/bots.json?category=Music").json()["category"] == "Music"
    assert "Music 3" in words(stranger.page("/bots"))


def test_a_keyword_of_a_server_leads_to_those_that_have_it(stranger: Person) -> None:
    page = stranger.page(f"/servers/{SERVERS[0]}")
    address = html.unescape(re.findall(r'href="(/servers\?keyword=R[^"]+)"', page)[0])
    assert sorted(listed(stranger.page(address))) == SERVERS
    assert listed(stranger.page("/servers?keyword=WORD1")) == SERVERS[1:]
    assert listed(stranger.page("/servers?keyword=nobody")) == []


@pytest.mark.parametrize("query", ["category=Nope", "category=Gaming", "sort=best", "after=x", "after=%F0"])
def test_an_odd_query_is_refused(stranger: Person, query: str) -> None:
    for path in ("/bots", "/bots.json"):
        assert stranger.get(f"{path}?{query}").status_code == 400
    assert stranger.get("/bots.json?limit=0").status_code == 400


def test_what_lists_others_once_more_is_no_search_result_and_the_list_is_one(stranger: Person) -> None:
    for path in ("/", "/bots", "/servers", "/bots?category=Music"):
        assert "X-Robots-Tag" not in stranger.get(path).headers
    for path in ("/bots?sort=name", following(stranger.page("/bots")) or ""):
        assert stranger.get(path).headers["X-Robots-Tag"] == "noindex"


def test_the_first_page_shows_what_is_popular_and_what_is_new(stranger: Person) -> None:
    text = words(stranger.page("/"))
    assert "Popular bots The whole ranking" in text
    assert text.index("Popular bots") < text.index("New bots") < text.index("Popular servers")
    home = stranger.get("/index.json").json()
    assert [each["id"] for each in home["new_bots"]] == BOTS[::-1][:8]
    assert ids(stranger, "/bots.json")[:9] == [each["id"] for each in home["popular_bots"]]
    assert {each["id"] for each in home["popular_servers"]} == {*SERVERS}


def test_the_first_page_leads_to_what_is_one_s_own(gateway: PeopleGateway) -> None:
    assert 'href="/me"' in gateway.person(ADA).page("/")
    stranger = gateway.person(None)
    assert 'href="/add"' in stranger.page("/")
    assert 'href="/signin?to=/bots/new"' in stranger.page("/add")


def test_an_empty_list_leads_on(stranger: Person) -> None:
    page = stranger.page("/servers?keyword=nobody-has-it")
    assert '<a class="button" href="/servers">Clear filters</a>' in page
    assert 'href="/add"' in page


@pytest.mark.parametrize("path", ["/index.json", "/bots.json", "/servers.json?sort=name"])
def test_programs_that_have_it_already_are_told_so(stranger: Person, path: str) -> None:
    first = stranger.get(path)
    assert first.headers["Cache-Control"] == "public, max-age=10"
    assert first.headers.get("Vary", "Accept-Encoding") == "Accept-Encoding"  # the same for everybody
    assert stranger.get(path, **{"If-None-Match": first.headers["ETag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/", "/bots", "/servers", f"/bots/{BOTS[0]}", f"/servers/{SERVERS[0]}"])
def test_a_part_of_a_page_can_be_drawn_alone(stranger: Person, path: str) -> None:
    answer = stranger.get(path, **{"HX-Request": "true"})
    assert (answer.status_code, "<html" in answer.text) == (200, False)


def test_lists_are_whole_again_after_a_restart(gateway: PeopleGateway, stranger: Person) -> None:
    before = ids(stranger, "/bots.json?sort=name&limit=100")
    gateway.restart()

    def is_whole() -> bool:
        gateway.clock.advance(60)
        return ids(stranger, "/bots.json?sort=name&limit=100") == before

    eventually(is_whole)


def test_a_list_speaks_the_language_of_each_of_its_readers(stranger: Person) -> None:
    said = {"en": ">Music<", "de": ">Musik<", "tr": ">Müzik<"}
    for _ in range(2):  # a card is kept once it was drawn
        for language, words_of_it in said.items():
            page = stranger.get("/bots", **{"Accept-Language": language, "Accept": "text/html"}).text
            assert [each for each in said.values() if each in page] == [words_of_it]


def test_the_canonical_address_is_that_of_the_public_url(tmp_path: Path) -> None:
    with serving(tmp_path / "data", **{"web.public_url": "https://127.0.0.1"}) as gateway:
        list_many(gateway)
        stranger = gateway.person(None)
        for path, address in {
            "/": "/",
            "/bots?sort=name": "/bots",
            "/bots?category=Music&sort=newest": "/bots?category=Music",
            f"/bots/{BOTS[0]}": f"/bots/{BOTS[0]}",
            f"/servers/{SERVERS[0]}": f"/servers/{SERVERS[0]}",
        }.items():
            page = stranger.page(path)
            assert f'<link rel="canonical" href="https://127.0.0.1{address}">' in page
            assert f'<meta property="og:url" content="https://127.0.0.1{address}">' in page


def test_a_list_never_counts_what_it_does_not_show(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        stranger = gateway.person(None)

        def look(*paths: str) -> list[int]:
            """Return what lists count, each of which shows as many."""
            answers = [stranger.get(path).json() for path in paths]
            assert [answer["total"] for answer in answers] == [len(answer["listings"]) for answer in answers]
            page = words(stranger.page("/bots"))
            assert f"Music {answers[1]['total']}" in page or not answers[1]["total"]
            return [answer["total"] for answer in answers]

        lists = "/bots.json", "/bots.json?category=Music", "/servers.json", "/servers.json?keyword=word"
        assert look(*lists) == [0, 0, 0, 0]
        for number in range(2):
            form = {**BOT_SUBMISSION, "id": f"{10**17 + number}", "categories": ["Music"]}
            gateway.done("POST", "/manage/bots", form)
            server = {**SERVER_SUBMISSION, "id": f"{10**17 + number}", "keywords": ["word"]}
            gateway.done("POST", "/manage/servers", server)
            for kind in ("bots", "servers"):
                gateway.done("POST", f"/manage/{kind}/{10**17 + number}/approve", {})
            look(*lists)
        gateway.clock.advance(STALE_SECONDS)
        assert look(*lists) == [2, 2, 2, 2]
        for kind in ("bots", "servers"):
            gateway.done("DELETE", f"/manage/{kind}/{10**17}")
        assert look(*lists) == [1, 1, 1, 1], "what is gone is gone at once"
        for kind, form in (("bots", BOT_SUBMISSION), ("servers", SERVER_SUBMISSION)):
            gateway.done("POST", f"/manage/{kind}", form)
            gateway.done("POST", f"/manage/{kind}/{form['id']}/approve", {})
        look(*lists)


def test_no_order_is_kept_for_a_keyword_that_no_server_has(
    stranger: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    build = ListOrders.build

    def counted(orders: ListOrders, order: ListOrder, month: int, now_ns: int) -> Iterator[None]:
        made.append(order)
        return build(orders, order, month, now_ns)

    monkeypatch.setattr(ListOrders, "build", counted)
    for number in range(20):
        answer = stranger.get(f"/servers.json?keyword=made-up-{number}").json()
        assert (answer["listings"], answer["total"], answer["next"]) == ([], 0, None)
    assert made == []


@pytest.mark.parametrize("name", ["q", "keyword"])
@pytest.mark.parametrize("letter", ["m", "\N{MUSICAL NOTE}"])
def test_only_the_first_characters_of_a_search_count_and_are_repeated(
    stranger: Person, name: str, letter: str
) -> None:
    for path in ("/bots", "/servers"):
        longest, longer = (
            stranger.page(f"{path}?{name}={quote(letter * size)}")
            .partition("<main")[2]
            .partition("</main>")[0]
            for size in (LONGEST, 1_000)
        )
        assert longest
        assert longer == longest
        api = stranger.get(f"{path}.json?{name}={quote(letter * 1_000)}").json()
        assert api[name] == letter * LONGEST
