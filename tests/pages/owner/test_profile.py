"""pages/owner/profile.py: the page and the API take the same profiles."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.failures import Unavailable
from tests.support.gateways import BOT_SUBMISSION, SERVER_SUBMISSION
from tests.support.owned_listings import SERVER, forbid_to_submit, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, DAN, READY

HERE, OF_SERVER = f"/bots/{READY}/manage", f"/servers/{SERVER}/manage"
TYPED = {name: value for name, value in BOT_SUBMISSION.items() if name not in {"id", "owner_id"}}
TYPED_SERVER = {name: value for name, value in SERVER_SUBMISSION.items() if name not in {"id", "owner_id"}}
# A browser writes line breaks in one way, and the fields on one line lose the white space around them.
LETTERS = st.sampled_from("ab z\t\n\u200b\u202e\u200fé説🦊<&\"'\x00\u3000")
SOUND = "ab zé説🦊<&\"'"


def text(least: int, most: int) -> st.SearchStrategy[str]:
    sizes = {"min_size": max(0, least - 2), "max_size": most + 2}
    return st.text(SOUND, **sizes) | st.text(LETTERS, **sizes) | st.text(SOUND + "\n", **sizes)


def on_one_line(least: int, most: int) -> st.SearchStrategy[str]:
    return text(least, most).filter(lambda written: written == written.strip())


def said(errors: dict[str, str]) -> set[str]:
    return {name.partition(".")[0] for name in errors}


def marked(page: str) -> set[str]:
    return set(re.findall(r'id="(\w+)-problem"', page))


def test_a_saved_profile_is_kept_with_its_owners(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN], decision="approve")
    page = ada.acted(
        HERE + "/profile", {**TYPED, "name": "Another name", "owner_id": BEN, "extra_owners": ""}
    )
    assert "It is saved, and everybody sees it." in words(page)
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    assert (kept["name"], kept["state"]) == ("Another name", "approved")
    assert (kept["owner_id"], kept["extra_owners"]) == (ADA, [BEN])
    assert gateway.done("GET", f"/manage/bots/{READY}/history")["history"][0]["by"] == f"users/{ADA}"


def test_the_form_shows_the_profile_as_it_is(gateway: PeopleGateway, ada: Person) -> None:
    evil = '"><script>alert(1)</script>'
    description = f"    code\n{evil} and more than thirty-two characters"
    short = f"sixteen letters {evil}"
    list_bot(gateway, name=evil, short_description=short, description=description, categories=["Music"])
    page = ada.page(HERE + "/profile")
    assert "<script>alert" not in page
    assert (
        f">\n    code\n{evil.replace(chr(34), '&#34;').replace('<', '&lt;').replace('>', '&gt;')} and" in page
    )
    assert page.partition("<footer")[0].count(" checked") == 1
    assert 'value="Music" checked' in page


def test_a_denied_bot_is_sent_again_by_saving(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="deny")
    assert "Save and send again" in ada.page(HERE + "/profile")
    assert "A moderator will review it again." in words(ada.acted(HERE + "/profile", TYPED))
    assert gateway.done("GET", f"/manage/bots/{READY}")["state"] == "in_review"


def test_who_may_not_submit_does_not_send_again_and_keeps_what_was_typed(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    dan = gateway.person(DAN)
    list_bot(gateway, owner=DAN, decision="deny")
    forbid_to_submit(gateway, DAN, 60)
    answer = dan.post(HERE + "/profile", {**TYPED, "name": "Another name"})
    assert (answer.status_code, 'value="Another name"' in answer.text) == (403, True)
    assert "It was &lt;b&gt;spam&lt;/b&gt;." in answer.text
    assert gateway.done("GET", f"/manage/bots/{READY}")["state"] == "denied"


def test_while_nothing_can_be_written_what_was_typed_is_kept(
    gateway: PeopleGateway, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_bot(gateway)

    def refuse(_: object) -> int:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(gateway.gateway.ledger, "commit", refuse)
    answer = ada.post(HERE + "/profile", {**TYPED, "name": "Another name"})
    assert (answer.status_code, 'value="Another name"' in answer.text) == (503, True)
    assert answer.headers["Retry-After"]


def test_an_extra_owner_may_edit(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    list_bot(gateway, extra=[BEN])
    gateway.person(BEN).acted(HERE + "/profile", {**TYPED, "name": "By Ben"})
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    assert (kept["name"], kept["owner_id"], kept["extra_owners"]) == ("By Ben", ADA, [BEN])


def test_the_preview_saves_nothing(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    typed = {**TYPED, "description": "**bold**", "act": "preview"}
    assert "<strong>bold</strong>" in ada.post(HERE + "/profile", typed).text
    assert gateway.done("GET", f"/manage/bots/{READY}")["description"] == BOT_SUBMISSION["description"]


def test_a_server_is_edited_with_its_keywords_line_by_line(gateway: PeopleGateway, ada: Person) -> None:
    list_server(gateway)
    typed = {**TYPED_SERVER, "keywords": "one, two\r\n\r\nthree", "description": ""}
    ada.acted(OF_SERVER + "/profile", typed)
    kept = gateway.done("GET", f"/manage/servers/{SERVER}")
    assert (kept["keywords"], kept["description"], kept["owner_id"]) == (["one, two", "three"], "", ADA)
    assert ">\none, two\nthree</textarea>" in ada.page(OF_SERVER + "/profile")


def agree(gateway: PeopleGateway, person: Person, kind: str, listing: str, profile: dict[str, Any]) -> None:
    """The page and the API take the same profile, or refuse the same fields."""
    before = gateway.done("GET", f"/manage/{kind}/{listing}")
    fields = {name: "\n".join(value) if name == "keywords" else value for name, value in profile.items()}
    page = person.post(f"/{kind}/{listing}/manage/profile", fields)
    by_page = gateway.done("GET", f"/manage/{kind}/{listing}")
    api = gateway.operate("PUT", f"/manage/{kind}/{listing}", {"owner_id": ADA, **profile})
    assert (page.status_code, api.status_code) in {(303, 200), (400, 400)}
    if page.status_code == 303:
        assert {name: by_page[name] for name in profile} == profile
    else:
        assert marked(page.text) == said(api.json()["fields"])
        assert by_page == before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=on_one_line(1, 100),
    short=on_one_line(16, 150),
    description=st.one_of(text(32, 60), st.just("x" * 8_192), st.just("x" * 8_193)),
    support=st.sampled_from([None, "https://example.com/", "ftp://example.com", "x"]),
)
@example(name="a", short="b" * 16, description="    code" * 8 + "\n", support=None)
def test_page_and_api_take_the_same_profiles_of_bots(
    gateway: PeopleGateway, ada: Person, name: str, short: str, description: str, support: str | None
) -> None:
    list_bot(gateway)
    profile = {"name": name, "short_description": short, "description": description}
    agree(gateway, ada, "bots", READY, {**profile, "categories": ["Music"], "support_invite": support})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=on_one_line(1, 100),
    description=text(0, 256),
    keywords=st.lists(on_one_line(1, 32).filter(lambda each: each and "\n" not in each), max_size=6),
    category=st.sampled_from(["Art", "Nonsense", ""]),
)
def test_page_and_api_take_the_same_profiles_of_servers(
    gateway: PeopleGateway, ada: Person, name: str, description: str, keywords: list[str], category: str
) -> None:
    list_server(gateway)
    profile = {"name": name, "description": description, "keywords": keywords, "category": category}
    agree(gateway, ada, "servers", SERVER, profile)


def version_on(page: str) -> str:
    return page.partition('name="version" value="')[2].partition('"')[0]


def test_of_two_owners_who_edit_at_once_neither_undoes_the_other_in_silence(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway, extra=[BEN])
    ben = gateway.person(BEN)
    version = version_on(ada.page(HERE + "/profile"))
    assert version == version_on(ben.page(HERE + "/profile")) != ""
    theirs = "It plays <b>louder</b> than every other bot."
    ben.acted(HERE + "/profile", {**TYPED, "version": version, "description": theirs})
    mine = {**TYPED, "version": version, "name": "By Ada"}

    preview = ada.post(HERE + "/profile", {**mine, "act": "preview"}).text
    assert version_on(preview) == version
    refused = ada.post(HERE + "/profile", {**mine, "name": ""})
    assert (refused.status_code, version_on(refused.text)) == (409, version_on(ben.page(HERE + "/profile")))
    overtaken = ada.post(HERE + "/profile", mine)
    assert overtaken.status_code == 409
    assert "Another version was saved meanwhile" in words(overtaken.text)
    assert "Saved: </bdi>It plays &lt;b&gt;louder&lt;/b&gt; than every other bot." in overtaken.text
    assert f"Yours: </bdi>{TYPED['description']}" in overtaken.text
    assert 'value="By Ada"' in overtaken.text
    assert gateway.done("GET", f"/manage/bots/{READY}")["description"] == theirs

    ada.acted(HERE + "/profile", {**mine, "version": version_on(overtaken.text)})
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    assert (kept["name"], kept["description"]) == ("By Ada", TYPED["description"])


def test_a_refused_form_keeps_its_version_and_a_new_invitation_is_no_other_one(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway)
    version = version_on(ada.page(HERE + "/profile"))
    ada.acted(HERE + "/owners", {"act": "invite", "user": BEN})
    refused = ada.post(HERE + "/profile", {**TYPED, "version": version, "name": ""})
    assert (refused.status_code, version_on(refused.text)) == (400, version)
    ada.acted(HERE + "/profile", {**TYPED, "version": version, "name": "Another name"})
    assert gateway.done("GET", f"/manage/bots/{READY}")["invited"] == [BEN]
