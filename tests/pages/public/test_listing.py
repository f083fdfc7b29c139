"""pages/public/listing.py: the page of a listing, its JSON and its badge; and what never leaks.

A walk goes over every state of a listing, every visitor, and every place where a listing could be seen.
"""

import re
from functools import partial
from hashlib import md5
from typing import Literal, get_args
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from core.actors import GATEWAY, OPERATOR
from core.rows import InviteCheck
from grammars.patterns import is_snowflake
from listings.invites import checked
from pages.public.listing import spark_line
from people.quarantine import impose
from tests.support.co_owners import let_join
from tests.support.coroutines import run, until
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, GOOD_SERVER, READY
from tests.support.slots_set import eligibility_checked

Case = Literal[
    "in review",
    "approved",
    "denied",
    "withdrawn",
    "removed",
    "of one in quarantine",
    "hidden",
    "shown again",
]
Who = Literal["stranger", "user", "owner", "extra owner", "moderator"]
CASES: tuple[Case, ...] = get_args(Case)
WHO: tuple[Who, ...] = get_args(Who)
NAMES = {"bots": "Zephyr of the tests", "servers": "Boreas of the tests"}
NOT_THERE = "999999999999999999"
RTL = "بوت الموسيقى & <b>"


@pytest.fixture(scope="module")
def visitors(gateway: PeopleGateway) -> dict[Who, Person]:
    people: dict[Who, str | None] = {
        **{"stranger": None, "user": BEN},
        **{"owner": ADA, "extra owner": DAN, "moderator": CLEO},
    }
    return {who: gateway.person(user) for who, user in people.items()}


def bring(gateway: PeopleGateway, kind: str, case: Case) -> str:
    """Bring a listing into that case, and return its path."""
    here = f"/{kind}/{BOT if kind == 'bots' else SERVER}"
    gateway.operate("DELETE", f"/manage{here}")
    form = BOT_SUBMISSION if kind == "bots" else SERVER_SUBMISSION
    gateway.done("POST", f"/manage/{kind}", {**form, "owner_id": ADA, "name": NAMES[kind]})
    let_join(gateway, BOT, *([DAN] if kind == "bots" else []))
    if case == "denied":
        gateway.done("POST", f"/manage{here}/deny", {"reason": "It is silent."})
    elif case != "in review":
        gateway.done("POST", f"/manage{here}/approve", {})
    if case == "withdrawn":
        gateway.done("POST", f"/manage{here}/withdraw", {"reason": "It is silent."})
    if case == "removed":
        gateway.done("DELETE", f"/manage{here}")
    if case == "of one in quarantine":
        ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
        events = impose(ledger.state, ADA, "submit", "Too loud.", now_ms + 1_000, now_ms, by=OPERATOR)
        gateway.on_loop(partial(ledger.commit, events))
    if case in {"hidden", "shown again"}:
        hide(gateway, here, is_hidden=True)
    if case == "shown again":
        hide(gateway, here, is_hidden=False)
    gateway.clock.advance(60)
    return here


def hide(gateway: PeopleGateway, here: str, *, is_hidden: bool) -> None:
    """Let a check hide the listing, or show it again."""
    now_ms = gateway.clock.now_ms()
    since_ms = now_ms if is_hidden else None
    event = eligibility_checked(here[1:], (), now_ms, since_ms, since_ms, by=GATEWAY)
    gateway.on_loop(partial(gateway.gateway.ledger.commit, [event]))


def may_see(kind: str, who: Who, case: Case) -> bool:
    if case in {"approved", "of one in quarantine", "shown again"}:
        return True
    insiders = {"owner", "moderator"} | ({"extra owner"} if kind == "bots" else set())
    return case != "removed" and who in insiders


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["bots", "servers"])
def test_what_is_not_approved_or_is_hidden_is_seen_by_its_owners_and_moderators_alone(
    gateway: PeopleGateway, visitors: dict[Who, Person], kind: str, case: Case
) -> None:
    here = bring(gateway, kind, case)
    is_public = may_see(kind, "stranger", case)
    for who in WHO:
        visitor = visitors[who]
        status = 200 if may_see(kind, who, case) else 404
        assert visitor.get(here).status_code == status, who
        assert visitor.get(f"{here}.json").status_code == status, who
        assert visitor.get(f"{here}/badge.svg").status_code == (200 if is_public else 404), who
        for path in (
            "/",
            "/index.json",
            f"/{kind}",
            f"/{kind}.json",
            f"/{kind}?sort=name",
            f"/{kind}?sort=newest",
        ):
            assert (NAMES[kind] in visitor.get(path).text) == is_public, (who, path)
        if status == 200 and not is_public:
            words_of_it = "This is hidden" if case == "hidden" else "This is not approved"
            assert words_of_it in words(visitor.page(here))
            assert f'href="{here}/manage"' in visitor.page(here)
            assert visitor.get(here).headers["X-Robots-Tag"] == "noindex"
            assert visitor.get(f"{here}.json").headers["Cache-Control"] == "no-store"
            assert f"{here}/vote" not in visitor.page(here)


@pytest.mark.parametrize("suffix", ["", ".json", "/badge.svg"])
def test_a_listing_that_is_not_to_be_seen_is_answered_exactly_like_one_that_is_not_there(
    gateway: PeopleGateway, visitors: dict[Who, Person], suffix: str
) -> None:
    here = bring(gateway, "bots", "in review")
    for who in ("stranger", "user"):
        hidden, unknown = (visitors[who].get(path + suffix) for path in (here, f"/bots/{NOT_THERE}"))
        assert hidden.text.replace(BOT, NOT_THERE) == unknown.text
        own = {"X-Request-Id", "Date", "Content-Length"}
        heads = [
            {name: value for name, value in each.headers.items() if name not in own}
            for each in (hidden, unknown)
        ]
        assert heads[0] == heads[1]


@pytest.mark.parametrize("odd", ["x", "0", "new.json", "%00", "..%2f", "1" * 400, "é"])
def test_what_is_no_id_is_not_there(visitors: dict[Who, Person], odd: str) -> None:
    assert not is_snowflake(odd)
    for suffix in ("", ".json", "/badge.svg"):
        assert visitors["stranger"].get(f"/servers/{odd}{suffix}").status_code == 404


def approve(gateway: PeopleGateway, **profile: object) -> str:
    here = f"/bots/{READY}"
    gateway.operate("DELETE", f"/manage{here}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": READY, "owner_id": ADA, **profile})
    gateway.done("POST", f"/manage{here}/approve", {})
    return here


def test_the_page_leads_to_the_vote_the_invite_and_the_support(gateway: PeopleGateway) -> None:
    here = approve(gateway, description="Plays **music**, " * 3, support_invite="https://help.example/")
    key = gateway.done("POST", f"/manage{here}/keys", {"name": "k"})["key"]
    gateway.done("PUT", f"/manage{here}/actual-server-count", {"server_count": 1_200})
    gateway.stats(key, {"server_count": 1_210, "commands_count": 42}, bot=READY)
    gateway.cast(BEN, f"/manage{here}")
    page = gateway.person(None).page(here)
    assert f'href="{here}/vote"' in page
    invite = f"{gateway.stand_in.authorize_url}?client_id={READY}&amp;scope=bot+applications.commands"
    assert f'href="{invite}"' in page
    assert 'href="https://help.example/"' in page
    assert "<strong>music</strong>" in page
    assert "Votes this month 1 Votes of all time 1 Servers 1,210" in words(page)
    assert '<meta property="og:title" content="Test bot">' in page
    assert f'content="{gateway.base_url}{here}"' in page
    assert f"{here}/manage" not in page
    assert f"{here}/manage" in gateway.person(ADA).page(here)


def test_an_address_of_plain_http_is_no_link(gateway: PeopleGateway) -> None:
    here = approve(gateway, support_invite="http://help.example/")
    assert "Support" not in words(gateway.person(None).page(here))


def test_a_letter_stands_for_the_icon_until_the_platform_has_told_of_one(gateway: PeopleGateway) -> None:
    here, stranger = approve(gateway), gateway.person(None)
    unknown = bring(gateway, "bots", "approved")
    assert 'aria-hidden="true">Z</span>' in stranger.page(unknown)
    assert stranger.get(f"{unknown}.json").json()["icon_url"] is None
    stranger.page(here)
    run(until(lambda: stranger.get(f"{here}.json").json()["icon_url"]))
    address = stranger.get(f"{here}.json").json()["icon_url"]
    assert address.startswith(f"{gateway.stand_in.url}/app-icons/{READY}/")
    assert f'src="{address}"' in stranger.page(here)
    assert address.endswith("?size=128")
    assert f'srcset="{address.replace("128", "256")} 2x"' in stranger.page(here)
    assert f'src="{address}"' in stranger.page("/bots?sort=newest")


@pytest.mark.parametrize("suffix", [".json", "/badge.svg"])
def test_whoever_has_it_already_is_told_so_until_it_changes(gateway: PeopleGateway, suffix: str) -> None:
    here = approve(gateway)
    stranger = gateway.person(None)
    first = stranger.get(here + suffix)
    tag = first.headers["ETag"]
    assert tag.startswith('"')
    assert first.headers["Cache-Control"].startswith("public, max-age=")
    assert "Vary" not in first.headers
    for has in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = stranger.get(here + suffix, **{"If-None-Match": has})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert stranger.get(here + suffix, **{"If-None-Match": '"other"'}).status_code == 200
    gateway.cast(BEN, f"/manage{here}")
    changed = stranger.get(here + suffix, **{"If-None-Match": tag})
    assert (changed.status_code, changed.headers["ETag"] != tag) == (200, True)


def test_the_badge_stands_in_pages_of_others_whatever_the_name_is(gateway: PeopleGateway) -> None:
    here = approve(gateway, name=RTL)
    gateway.cast(BEN, f"/manage{here}")
    answer = gateway.person(None).get(f"{here}/badge.svg")
    title = ElementTree.fromstring(answer.content).find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == f"{RTL}: 1 vote"
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "Set-Cookie" not in answer.headers


def test_a_name_finds_its_direction_by_itself(gateway: PeopleGateway) -> None:
    here = approve(gateway, name=RTL)
    page = gateway.person(None).page(here)
    assert '<h1 dir="auto">بوت الموسيقى &amp; &lt;b&gt;</h1>' in page


def test_the_json_is_that_of_the_page(gateway: PeopleGateway) -> None:
    here = approve(gateway)
    assert gateway.person(None).get(f"{here}.json").json() == {
        "success": True,
        "kind": "bots",
        "id": READY,
        **{name: BOT_SUBMISSION[name] for name in ("name", "short_description", "description", "categories")},
        "language": "",
        **dict.fromkeys(("server_count", "command_count", "counts_updated_at", "support_url")),
        **dict.fromkeys(("website_url", "source_url", "privacy_url")),
        "tags": [],
        "commands": [],
        "banner": None,
        "screenshots": [],
        "votes": 0,
        "votes_this_month": 0,
        "rank_this_month": None,
        "rating": None,
        "rating_count": 0,
        "author": {
            "id": ADA,
            "name": "Ada, who owns bots",
            "avatar_url": f"{gateway.stand_in.url}/avatars/{ADA}/{md5(b'ada').hexdigest()}.png?size=128",
        },
        "listed_at": gateway.clock.now_ms(),
        "updated_at": gateway.clock.now_ms(),
        "icon_url": gateway.person(None).get(f"{here}.json").json()["icon_url"],
        "invite_url": f"{gateway.stand_in.authorize_url}?client_id={READY}&scope=bot+applications.commands",
        "state": "approved",
    }


def test_the_links_of_a_bot_name_their_hosts(gateway: PeopleGateway) -> None:
    links = {
        "website": "https://bot.example/",
        "source": "https://code.example/bot",
        "privacy": "https://bot.example/privacy",
    }
    here = approve(gateway, **links)
    page = gateway.person(None).page(here)
    for address in links.values():
        assert f'<a href="{address}" rel="nofollow ugc noopener">' in page
    assert "Website bot.example" in words(page)
    assert "Source code code.example" in words(page)
    shown = gateway.person(None).get(f"{here}.json").json()
    assert {name: shown[f"{name}_url"] for name in links} == links


def test_a_tag_leads_to_the_listings_with_it(gateway: PeopleGateway) -> None:
    here = approve(gateway, tags=["Lo Fi", "C++"])
    stranger = gateway.person(None)
    assert stranger.get(f"{here}.json").json()["tags"] == ["lo-fi", "c++"]
    assert 'href="/bots?keyword=lo-fi"' in stranger.page(here)
    for word in ("lo-fi", "Lo Fi", "ＬＯ－ＦＩ"):
        found = stranger.get(f"/bots.json?keyword={quote(word)}").json()["listings"]
        assert [(each["id"], each["keywords"]) for each in found] == [(READY, ["lo-fi", "c++"])], word


def test_a_tab_is_there_if_it_has_something_to_show(gateway: PeopleGateway) -> None:
    here, stranger = approve(gateway), gateway.person(None)
    tabs = re.findall(
        rf'href="{here}(/\w+)">', stranger.page(here).partition('class="tabs"')[2].partition("</nav>")[0]
    )
    assert tabs == ["/reviews"]
    assert stranger.get(f"{here}/commands").status_code == 404
    assert "Nobody has voted yet" in words(stranger.page(f"{here}/votes"))
    assert {each["votes"] for each in stranger.get(f"{here}/votes.json").json()["days"]} == {0}
    here = approve(gateway, commands=["/play song: Plays a song: at once", "/skip: Skips it"])
    gateway.cast(BEN, f"/manage{here}")
    for path in (here, f"{here}/commands", f"{here}/votes"):
        page = stranger.page(path)
        assert page.count('aria-current="page"') == 1
        assert f'<a href="{path}" aria-current="page">' in page
    commands = words(stranger.page(f"{here}/commands"))
    assert "/play song Plays a song: at once /skip Skips it" in commands
    votes = stranger.get(f"{here}/votes.json").json()
    assert (votes["votes"], votes["votes_this_month"], len(votes["days"])) == (1, 1, 30)
    assert [each["votes"] for each in votes["days"]] == [0] * 29 + [1]
    gateway.operate("POST", f"/manage{here}/withdraw", {"reason": "It is silent."})
    for tab in ("/commands", "/votes", "/votes.json"):
        assert stranger.get(here + tab).status_code == 404
    assert gateway.person(ADA).get(f"{here}/commands").status_code == 200


def test_the_rank_of_the_month_is_the_place_by_its_votes(gateway: PeopleGateway) -> None:
    here, other = approve(gateway), bring(gateway, "bots", "approved")
    stranger = gateway.person(None)

    def rank_is(*ranks: int | None) -> bool:
        gateway.clock.advance(10)  # an order is made again after some seconds
        shown = [stranger.get(f"{path}.json").json()["rank_this_month"] for path in (here, other)]
        return shown == [*ranks]

    run(until(lambda: rank_is(None, None)))
    gateway.cast(BEN, f"/manage{other}")
    run(until(lambda: rank_is(None, 1)))
    for user in (BEN, CLEO):
        gateway.cast(user, f"/manage{here}")
    run(until(lambda: rank_is(1, 2)))
    gateway.clock.advance(3_600)  # the first reader after a pause sees a rank, too
    assert "#1" in words(stranger.page(here))


@pytest.mark.parametrize(
    ("counts", "points"),
    [((0, 0, 0), ""), ((0, 2, 1), "0.0,26.0 50.0,2.0 100.0,14.0"), ((3, 3), "0.0,2.0 100.0,2.0")],
)
def test_the_line_of_votes_goes_through_each_day(counts: tuple[int, ...], points: str) -> None:
    assert spark_line(counts) == points


def test_the_page_can_be_shared_and_reported(gateway: PeopleGateway) -> None:
    page = gateway.person(None).page(approve(gateway))
    assert f'href="/bots/{READY}/report"' in page
    assert f'<code id="address">{gateway.base_url}/bots/{READY}</code>' in page


def joinable(gateway: PeopleGateway, **profile: object) -> str:
    """Approve a server that the stand-in knows, and return its path."""
    here = f"/servers/{GOOD_SERVER}"
    gateway.operate("DELETE", f"/manage{here}")
    form = {**SERVER_SUBMISSION, "id": GOOD_SERVER, "owner_id": ADA, "invite": "server-1", **profile}
    gateway.done("POST", "/manage/servers", form)
    gateway.done("POST", f"/manage{here}/approve", {})
    return here


def test_join_is_the_first_button_of_a_server_with_a_valid_invite(gateway: PeopleGateway) -> None:
    here, stranger = joinable(gateway), gateway.person(None)
    address = f"{gateway.stand_in.url}/join/server-1"
    page, shown = stranger.page(here), stranger.get(f"{here}.json").json()
    primary = f'<a class="button primary large" href="{address}" rel="nofollow noopener">Join</a>'
    assert primary in page
    assert "180 online 1,250 members" in words(page)
    assert shown["invite_url"] == address
    assert (shown["approximate_member_count"], shown["approximate_presence_count"]) == (1_250, 180)
    assert shown["counts_updated_at"] == gateway.clock.now_ms()


def test_a_server_without_an_invite_has_no_button_to_join(gateway: PeopleGateway) -> None:
    here, stranger = joinable(gateway, invite=None), gateway.person(None)
    assert ">Join<" not in stranger.page(here)
    shown = stranger.get(f"{here}.json").json()
    assert (shown["invite_url"], shown["approximate_member_count"]) == (None, None)


def test_join_is_hidden_while_the_invite_is_broken(gateway: PeopleGateway) -> None:
    here, stranger = joinable(gateway), gateway.person(None)
    ada, moderator = gateway.person(ADA), gateway.person(CLEO)
    assert "Its invite works 1,250 members" in words(moderator.page(f"/review{here}"))
    assert "Invite to join : done" in words(ada.page(f"{here}/manage"))
    broken = InviteCheck("server-1", gateway.clock.now_ms(), "gone")
    ledger = gateway.gateway.ledger
    events = checked(ledger.state, here[1:], broken, gateway.clock.now_ms(), by=GATEWAY)
    gateway.on_loop(partial(ledger.commit, events))
    assert ">Join<" not in stranger.page(here)
    assert stranger.get(f"{here}.json").json()["invite_url"] is None
    assert "does not work any more" in words(ada.page("/me/notices"))
    assert "Replace the invite" in words(ada.page(f"{here}/manage"))
    assert "This invite does not exist, or has ended." in words(moderator.page(f"/review{here}"))
    gateway.stand_in.change_invite("second-1", GOOD_SERVER)
    form = {**SERVER_SUBMISSION, "owner_id": ADA, "invite": "second-1"}
    del form["id"]
    gateway.done("PUT", f"/manage{here}", form)
    assert ">Join<" in stranger.page(here)


def test_the_author_leads_to_all_public_listings_of_the_owner(gateway: PeopleGateway) -> None:
    here = approve(gateway)
    server = joinable(gateway)
    bring(gateway, "bots", "in review")
    stranger = gateway.person(None)
    gateway.person(ADA)
    assert f'<a href="/users/{ADA}"><bdi>Ada, who owns bots</bdi></a>' in stranger.page(here)
    shown = stranger.get(f"/users/{ADA}.json").json()
    assert (shown["name"], shown["id"]) == ("Ada, who owns bots", ADA)
    refs = {f"/{each['kind']}/{each['id']}" for each in shown["listings"]}
    assert {here, server} <= refs
    assert f"/bots/{BOT}" not in refs
    page = stranger.page(f"/users/{ADA}")
    for ref in refs:
        assert f'href="{ref}"' in page


def test_a_co_owner_is_named_to_nobody(gateway: PeopleGateway) -> None:
    bring(gateway, "bots", "approved")
    gateway.person(DAN)
    stranger = gateway.person(None)
    assert stranger.get(f"/users/{DAN}").status_code == 404
    assert DAN not in stranger.page(f"/bots/{BOT}.json") + stranger.page(f"/bots/{BOT}")


def test_an_owner_who_has_never_signed_in_has_no_page(gateway: PeopleGateway) -> None:
    stranger = gateway.person(None)
    here = f"/bots/{READY}"
    gateway.operate("DELETE", f"/manage{here}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": READY, "owner_id": NOT_THERE})
    gateway.done("POST", f"/manage{here}/approve", {})
    assert stranger.get(f"{here}.json").json()["author"] is None
    assert "/users/" not in stranger.page(here)
    gateway.person(BEN)
    for user in (NOT_THERE, BEN, "x"):
        assert stranger.get(f"/users/{user}").status_code == 404
        assert stranger.get(f"/users/{user}.json").status_code == 404
