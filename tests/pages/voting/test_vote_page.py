"""pages/voting/vote_page.py: the vote page, its POST, its JSON, and the status of the bot's webhook."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from core.actors import GATEWAY, OPERATOR
from core.failures import Unavailable
from people.quarantine import impose
from tests.support.gateways import BOT, SERVER, WAIT_SECONDS, eventually
from tests.support.owned_listings import list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, EMIL, READY
from tests.support.slots_set import eligibility_checked
from tests.support.webhook_receiver import Receiver, status

HOUR, DAY = 3_600, 86_400
VOTE, TWIN = f"/bots/{BOT}/vote", f"/bots/{BOT}/vote.json"
THANKS = f"{VOTE}?from=vote"
BUTTON = re.compile(r"<button [^>]*>(?:<svg.*?</svg>)?Vote</button>")
OF_SERVER = f"/servers/{SERVER}/vote"


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    """A voter, and a bot that nobody has voted for."""
    gateway.clock.advance(600)
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    return gateway.person(BEN)


def votes_of(gateway: PeopleGateway, user: str = BEN, listing: str = f"bots/{BOT}") -> int:
    (vote,) = gateway.done("POST", f"/manage/{listing}/votes/check", {"users": [user]})["votes"]
    count: int = vote["vote"]
    return count


def tell(gateway: PeopleGateway, receiver: Receiver) -> None:
    """Let the bot be told of its votes."""
    gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": f"{receiver.url}/votes"})


def heading(page: str) -> str:
    """The title and the first heading. The latter has the focus if it answers the button."""
    found = re.search(r"<title>(.*?) · .*<h1([^>]*)>(.*?)</h1>", page, re.DOTALL)
    assert found is not None
    return f"{found[1]} | {words(found[3])}{' (focus)' if 'autofocus' in found[2] else ''}"


def test_the_button_casts_a_vote_and_leads_to_the_page_that_thanks_in_title_and_heading(
    gateway: PeopleGateway, ben: Person
) -> None:
    assert heading(ben.page(VOTE)) == "Vote for Test bot | Vote for Test bot"
    answer = ben.post(VOTE)
    assert (answer.status_code, answer.headers["Location"]) == (303, THANKS)
    page = ben.page(THANKS)
    assert heading(page) == "Thank you: you voted for Test bot | Thank you, Ben, who votes ! (focus)"
    assert "Your vote for Test bot counts. It has 1 vote this month." in words(page)
    assert "Test bot has no webhook" in words(page)
    assert not BUTTON.search(page)
    assert votes_of(gateway) == 1


def test_a_reload_casts_nothing(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(VOTE)
    for path in (VOTE, THANKS, THANKS):
        ben.page(path)
    assert votes_of(gateway) == 1


def test_the_page_thanks_only_after_a_vote_and_until_the_next_one_is_possible(
    gateway: PeopleGateway, ben: Person
) -> None:
    assert heading(ben.page(THANKS)) == "Vote for Test bot | Vote for Test bot"
    ben.acted(VOTE)
    assert heading(ben.page(VOTE)) == "You have voted for Test bot | You have voted already"
    assert "Your vote for Test bot counts." in words(ben.page(VOTE))
    gateway.clock.advance(DAY)
    assert heading(ben.page(THANKS)) == "Vote for Test bot | Vote for Test bot"


def test_before_a_vote_the_page_says_if_the_bot_gets_a_message(
    gateway: PeopleGateway, ben: Person, receiver: Receiver
) -> None:
    assert "gets a message" not in words(ben.page(VOTE))
    tell(gateway, receiver)
    assert "Test bot gets a message at once." in words(ben.page(VOTE))


def test_after_a_vote_the_page_names_up_to_three_others_that_can_be_voted_for_now(
    gateway: PeopleGateway, ben: Person
) -> None:
    others = [str(700_000_000_000_000_000 + number) for number in range(5)]
    for number, other in enumerate(others):
        list_bot(gateway, other, owner=ADA, decision="approve", name=f"Other {number}")
        ben.acted(f"/bots/{other}/vote")
    gateway.clock.advance(DAY)
    ben.acted(f"/bots/{others[4]}/vote")
    gateway.operate("DELETE", f"/manage/bots/{others[3]}")
    ben.post("/me/reminders", {"listing": f"bots/{others[0]}", "remind": "on"})
    assert re.findall(r"Other \d", words(ben.acted(VOTE)).partition("these now")[2])[:1] == ["Other 0"]
    ben.page("/me/votes")
    found = set(re.findall(r"Other \d", words(ben.page(VOTE)).partition("these now")[2]))
    assert found == {"Other 0", "Other 1", "Other 2"}


def test_the_page_shows_the_icon_of_the_listing_or_its_first_letter(
    gateway: PeopleGateway, ben: Person
) -> None:
    assert re.search(r'<span class="icon letter[^>]*>T</span>', ben.page(VOTE))
    list_bot(gateway, READY, owner=ADA, decision="approve")
    icon = f'src="{gateway.stand_in.url}/app-icons/{READY}/'
    ben.page(f"/bots/{READY}/vote")
    eventually(lambda: icon in ben.page(f"/bots/{READY}/vote"))


@pytest.mark.parametrize("kind", ["bots", "servers"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("user", [None, ADA, BEN, CLEO])
def test_only_an_approved_listing_has_the_page(
    gateway: PeopleGateway, kind: str, method: str, user: str | None
) -> None:
    if kind == "bots":
        list_bot(gateway, BOT, owner=ADA)
    else:
        list_server(gateway)
    unknown, hidden = f"/{kind}/999999999999999999/vote", VOTE if kind == "bots" else OF_SERVER
    person = gateway.person(user)
    for path in (unknown, hidden) if method == "POST" else (unknown, hidden, f"{hidden}.json"):
        assert person.request(method, path).status_code == 404


def test_a_server_is_voted_for_as_a_bot_is(gateway: PeopleGateway) -> None:
    list_server(gateway)
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
    page = words(gateway.person(BEN).acted(OF_SERVER))
    assert "Thank you, Ben" in page
    assert votes_of(gateway, listing=f"servers/{SERVER}") == 1


def test_a_server_that_is_hidden_has_no_vote_page(gateway: PeopleGateway) -> None:
    list_server(gateway)
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
    ben = gateway.person(BEN)
    assert ben.get(OF_SERVER).status_code == 200
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    hidden = eligibility_checked(f"servers/{SERVER}", (), now_ms, now_ms, now_ms, by=GATEWAY)
    gateway.on_loop(lambda: ledger.commit([hidden]))
    for answer in (ben.get(OF_SERVER), ben.get(f"{OF_SERVER}.json"), ben.post(OF_SERVER)):
        assert answer.status_code == 404
    assert votes_of(gateway, listing=f"servers/{SERVER}") == 0


# -- Signing in for it ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ben")
def test_a_stranger_signs_in_comes_back_and_has_not_voted_yet(gateway: PeopleGateway) -> None:
    stranger = gateway.person(None)
    page = stranger.page(VOTE)
    assert "Sign in and vote" in page
    assert f'value="{VOTE}?from=sign-in"' in page
    back = stranger.sign_in_as(BEN, to=f"{VOTE}?from=sign-in")
    assert (back.status_code, back.headers["Location"]) == (303, f"{VOTE}?from=sign-in")
    page = stranger.page(back.headers["Location"])
    assert " autofocus>" in BUTTON.search(page)[0]  # type: ignore[index]
    assert "autofocus" not in stranger.page(VOTE)
    assert votes_of(gateway) == 0
    assert "Thank you" in stranger.acted(VOTE)


@pytest.mark.usefixtures("ben")
def test_the_sign_in_on_the_way_to_a_vote_names_the_listing_if_it_is_public(gateway: PeopleGateway) -> None:
    stranger, sign_in = gateway.person(None), f"/signin?to={VOTE}%3Ffrom=sign-in"
    page = words(stranger.page(sign_in))
    assert "Sign in to vote" in page
    assert "come straight back to Test bot ." in page
    gateway.done("POST", f"/manage/bots/{BOT}/withdraw", {"reason": "No."})
    for to in (sign_in, "/signin?to=/bots/1/vote", "/signin"):
        hidden = words(stranger.page(to))
        assert "come straight back." in hidden
        assert "vote" not in hidden.partition("Sign in")[2].casefold().replace("votegate", "")


@pytest.mark.usefixtures("ben")
def test_who_was_signed_out_meanwhile_has_not_voted_and_can_go_on(gateway: PeopleGateway) -> None:
    answer = gateway.person(None).post(VOTE)
    assert answer.status_code == 401
    assert "You are not signed in any more. Your vote was not counted." in words(answer.text)
    assert "Sign in and vote" in answer.text
    assert votes_of(gateway) == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_form_from_elsewhere_casts_nothing(gateway: PeopleGateway, ben: Person, site: str) -> None:
    answer = ben.request("POST", VOTE, {"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert votes_of(gateway) == 0


# -- The cooldown -----------------------------------------------------------------------------------------


def test_the_page_says_when_the_next_vote_is_possible(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(VOTE)
    gateway.clock.advance(20 * HOUR + 48 * 60)
    page = ben.page(VOTE)
    assert "You can vote again in 3 hours 12 minutes , at " in words(page)
    assert '<time datetime="' in page.partition("You can vote again")[2]
    assert not BUTTON.search(page)
    gateway.clock.advance(3 * HOUR + 12 * 60)
    assert BUTTON.search(ben.page(VOTE))
    ben.acted(VOTE)
    assert votes_of(gateway) == 2


def test_who_votes_too_early_reads_once_that_the_vote_counts_and_when_the_next_one_is_possible(
    gateway: PeopleGateway, ben: Person
) -> None:
    ben.acted(VOTE)
    again = ben.post(VOTE)
    assert again.status_code == 409
    assert heading(again.text) == "You have voted for Test bot | You have voted already (focus)"
    assert 'role="alert"' not in again.text
    assert words(again.text).count("counts") == 1
    assert "You can vote again in 1 day" in words(again.text)
    assert votes_of(gateway) == 1


def test_two_tabs_at_once_cast_one_vote(gateway: PeopleGateway, ben: Person) -> None:
    tabs = 8
    start = threading.Barrier(tabs)

    def press(_: int) -> int:
        tab = Person(gateway)
        tab.cookies = dict(ben.cookies)
        start.wait(WAIT_SECONDS)
        return tab.post(VOTE).status_code

    with ThreadPoolExecutor(tabs) as threads:
        answers = sorted(threads.map(press, range(tabs)))
    assert answers == [303, *[409] * (tabs - 1)]
    assert votes_of(gateway) == 1


def test_who_erased_the_own_data_waits_for_the_end_of_the_cooldown(gateway: PeopleGateway) -> None:
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    emil = gateway.person(EMIL)  # he reads German
    emil.acted(VOTE)
    assert emil.post("/me/data", {"word": "erase"}).status_code == 303
    again = gateway.person(EMIL)
    page = words(again.page(VOTE))
    assert "1 Tag" in page
    assert again.post(VOTE).status_code == 409
    assert votes_of(gateway, EMIL) == 0


# -- Refusals ---------------------------------------------------------------------------------------------


def test_who_is_under_quarantine_reads_why_and_until_when(gateway: PeopleGateway, ben: Person) -> None:
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    why = "It was <b>spam</b>."
    gateway.on_loop(
        lambda: ledger.commit(impose(ledger.state, BEN, "vote", why, now_ms + 60_000, now_ms, by=OPERATOR))
    )
    try:
        page = ben.page(VOTE)
        assert "You cannot vote now" in words(page)
        assert "You can vote again in 1 minute, at " in words(page)
        assert "It was &lt;b&gt;spam&lt;/b&gt;." in page
        assert not BUTTON.search(page)
        answer = ben.post(VOTE)
        assert answer.status_code == 403
        assert "Your vote was not counted." in words(answer.text)
        assert votes_of(gateway) == 0
    finally:
        gateway.clock.advance(60)
    assert BUTTON.search(ben.page(VOTE))


def test_who_presses_too_often_waits(gateway: PeopleGateway, ben: Person) -> None:
    assert {ben.post(VOTE).status_code for _ in range(20)} == {303, 409}
    refused = ben.post(VOTE)
    assert refused.status_code == 429
    assert "You sent too many requests at once. You can try again in 60 seconds." in words(refused.text)
    gateway.clock.advance(60)
    assert ben.post(VOTE).status_code == 409


def test_while_nothing_can_be_saved_a_voter_is_not_told_that_the_vote_counts(
    gateway: PeopleGateway, ben: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: int) -> None:
        raise Unavailable("no space left on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(gateway.gateway.ledger, "durable", refuse)
        answer = ben.post(VOTE)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    page = words(answer.text)
    assert "This site cannot save anything right now, so your vote may not count." in page
    assert "vote for Test bot counts" not in page
    assert BUTTON.search(answer.text)


# -- Whether the bot was told -----------------------------------------------------------------------------


def test_the_page_says_when_the_bot_got_the_message(
    gateway: PeopleGateway, ben: Person, receiver: Receiver
) -> None:
    tell(gateway, receiver)
    receiver.answers = [receiver.holding(status(204))]
    page = ben.acted(VOTE)
    assert "Test bot is getting the message about it. Look again" in words(page)
    assert f'<a href="{THANKS}">Look again</a>' in page
    assert 'data-again="2"' in page
    receiver.released.set()
    eventually(lambda: "data-again" not in ben.page(THANKS))
    assert re.search(r"Test bot got the message about it at \d+:\d\d [AP]M UTC", words(ben.page(THANKS)))
    told = ben.get(TWIN).json()
    assert (told["told"], told["told_status"]) == ("told", 204)


def test_the_page_says_why_the_bot_was_not_told_yet_and_then_not_at_all(
    gateway: PeopleGateway, ben: Person, receiver: Receiver
) -> None:
    tell(gateway, receiver)
    receiver.default = status(503)
    ben.acted(VOTE)
    eventually(lambda: ben.get(TWIN).json()["told"] == "retrying")
    assert "Test bot did not get the message yet: the answer had status 503. We try again at" in words(
        ben.page(VOTE)
    )

    def is_over() -> bool:
        gateway.advance(60)
        return bool(ben.get(TWIN).json()["told"] == "failed")

    eventually(is_over)
    page = words(ben.page(VOTE))
    assert (
        "Test bot did not get the message: the answer had status 503. Your vote counts all the same." in page
    )
    assert receiver.url not in page


def test_a_voter_reads_that_no_answer_came_and_not_what_is_wrong_with_the_webhook(
    gateway: PeopleGateway, ben: Person
) -> None:
    gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": "http://127.0.0.1:9/votes"})
    ben.acted(VOTE)
    eventually(lambda: ben.get(TWIN).json()["told"] == "retrying")
    assert "Test bot did not get the message yet: no answer came. We try again at" in words(ben.page(VOTE))


def test_while_the_webhook_is_suspended_the_page_says_that_the_bot_is_told_later(
    gateway: PeopleGateway, ben: Person, receiver: Receiver
) -> None:
    tell(gateway, receiver)
    receiver.default = status(410)
    ben.acted(VOTE)
    eventually(lambda: ben.get(TWIN).json()["told"] == "held")
    page = ben.page(VOTE)
    assert "Test bot does not answer at the moment, and gets the message later." in words(page)
    assert "data-again" in page
    receiver.default = status(204)
    gateway.done("POST", f"/manage/bots/{BOT}/webhook/resume", {})
    eventually(lambda: ben.get(TWIN).json()["told"] == "told")


def test_a_vote_of_which_the_log_no_longer_knows_says_so(
    gateway: PeopleGateway, ben: Person, receiver: Receiver
) -> None:
    ben.acted(VOTE)
    tell(gateway, receiver)
    assert "We no longer know if Test bot got the message about it." in words(ben.page(VOTE))


# -- For programs -----------------------------------------------------------------------------------------


def test_a_program_of_the_browser_reads_the_same_as_json(gateway: PeopleGateway, ben: Person) -> None:
    before = ben.get(TWIN).json()
    assert before == {
        "success": True,
        "name": "Test bot",
        "votes": 0,
        "last_vote_at": None,
        "may_vote": True,
        "why_not": None,
        "until": None,
        "is_challenged": False,
        "told": "no vote",
        "told_at": None,
        "told_status": None,
    }
    ben.acted(VOTE)
    after, now_ms = ben.get(TWIN).json(), gateway.clock.now_ms()
    changed = {"votes": 1, "last_vote_at": now_ms, "may_vote": False, "why_not": "too soon"}
    assert after == {**before, **changed, "until": now_ms + DAY * 1_000, "told": "no webhook"}


@pytest.mark.usefixtures("ben")
def test_a_program_of_a_stranger_is_told_to_sign_in(gateway: PeopleGateway) -> None:
    answer = gateway.person(None).get(TWIN)
    assert (answer.status_code, answer.json()["error"]) == (401, "You must sign in.")


@pytest.mark.parametrize("language", ["tr", "de", "fr", "es", "pt-BR", "ru", "ja"])
def test_a_name_of_any_kind_is_shown_as_text(gateway: PeopleGateway, ben: Person, language: str) -> None:
    name = "<b>بوت</b> {name} %(x)s"
    list_bot(gateway, BOT, owner=ADA, decision="approve", name=name)
    page = ben.get(VOTE, **{"Accept-Language": language}).text
    assert "&lt;b&gt;بوت&lt;/b&gt; {name} %(x)s" in page
    assert quote(name) not in page
