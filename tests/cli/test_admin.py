"""`admin`: the management API from a terminal, in tables for people and in JSON for programs."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from click.testing import CliRunner, Result

from cli.caller import GatewayCaller
from cli.operations import BY_NAME, OPERATIONS
from cli.outline import text_of
from core.clock import SystemClock
from core.events import Event, ListingSaved
from forms.fields import Form
from kinds.bots import BotProfile
from kinds.kind import Kind, PartName
from kinds.registry import KINDS
from openapi.examples import SESSION_ID
from server import cli
from tests.support.contract import sample_submission
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    OTHER_BOT,
    OTHER_USER,
    OWNER,
    ROOT,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
)
from tests.support.media_files import picture
from tests.support.people import signed_in
from tests.support.raw_receivers import unused_url
from tests.support.sample_rows import DAY_MS
from tests.support.webhook_receiver import Receiver, status

Admin = Callable[..., Result]


def run_admin(url: str, *arguments: str, columns: int = 120, **options: Any) -> Result:
    environment = {"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN, "COLUMNS": str(columns)}
    return CliRunner(env=environment).invoke(cli, ["admin", "--url", url, *arguments], **options)


@pytest.fixture
def admin(gateway: ThreadGateway) -> Admin:
    """Runs `admin` against the gateway; it must succeed."""

    def run(*arguments: str, **options: Any) -> Result:
        result = run_admin(gateway.base_url, *arguments, **options)
        assert result.exit_code == 0, result.output
        return result

    return run


def error(result: Result) -> str:
    """The text with which a command failed; a traceback is none."""
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    return result.output.removeprefix("Error: ").rstrip("\n")


def fields_of(result: Result) -> dict[str, str]:
    """The single values of an outline, by their labels; those of its parts, too."""
    pairs = re.findall(r"^ *(\S+(?: \S+)*)  +(\S.*)$", result.output, re.MULTILINE)
    return dict(pairs)


def cells(result: Result) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    return [re.split(r"  +", line.strip()) for line in result.output.splitlines()[1:]]


# -- Commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "form"), [(kind.plural, kind.edit) for kind in KINDS])
def test_an_edit_keeps_every_field_that_it_does_not_name(
    kind: str, form: type[Form], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: f"the {name} of before" for name in form.__struct_fields__}
    sent: list[dict[str, Any]] = []

    def call(_: GatewayCaller, __: str, body: dict[str, Any] | None = None, **ids: str) -> dict[str, Any]:
        if body is not None:
            sent.append(body)
        return {**before, "id": ids["id"], "change": None}

    monkeypatch.setattr(GatewayCaller, "call", call)

    result = run_admin(unused_url(), kind, "edit", BOT, "--name", "Jukebox")

    assert result.exit_code == 0, result.output
    assert sent == [{**before, "name": "Jukebox"}]


def named(kind: Kind, listing: str) -> str:
    """Return the name of a listing for commands that may be those of the first kind alone."""
    return listing if kind is KINDS[0] else kind.ref(listing)


class Walk(NamedTuple):
    """The life of a listing on the command line, part by part of its kind. `did` runs a line of `admin`."""

    did: Callable[..., Any]
    gateway: ThreadGateway
    receiver: Receiver

    def submit(self, kind: Kind) -> str:
        """Submit and edit a listing, and return its id."""
        given = sample_submission(self.gateway, kind)
        listing = given.pop("id", "")
        submitted = self.did(f"{kind} submit {listing} --from -", input=json.dumps(given))
        assert submitted["state"] == ("approved" if kind.is_seen_at_once else "in_review")
        listing = submitted["id"]
        edited = self.did(f"{kind} edit {listing} --name jukebox")
        assert (edited["name"], edited["owner_id"]) == ("jukebox", OWNER), "what is not told is kept"
        if kind.prose_name is not None:
            text = "A description that came from standard input\n"
            edited = self.did(f"{kind} edit {listing} --{kind.prose_name}-file -", input=text)
            assert edited[kind.prose_name] == text.strip()
        return str(listing)

    def review(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, kind.ref(listing)
        verb = "withdraw" if kind.is_seen_at_once else "deny"
        assert did(f"{kind} {verb} {listing} incomplete")["state"] == "denied"
        assert did(f"{kind} edit {listing} --name jukebox")["state"] == "in_review"
        assert listing in {each["id"] for each in did("review queue --limit 50")["queue"]}
        assert did(f"review claim {ref}")["claimed_by"] == "operator"
        assert did(f"review release {ref}")["claimed_by"] is None
        said = run_admin(self.gateway.base_url, "review", "note", ref, "The invite works.")
        assert "The invite works." in said.output
        assert did(f"review notes {ref}")["notes"][0]["text"] == "The invite works."
        if kind.is_seen_at_once:
            assert did(f"{kind} deny {listing} incomplete")["state"] == "denied"
            assert did(f"{kind} edit {listing} --name jukebox")["state"] == "in_review"
        assert did(f"{kind} approve {listing}")["state"] == "approved"
        did(f"review report {ref} {USER} breaks_rules --text Spam.")
        assert did(f"review reports {ref}")["reports"][0]["text"] == "Spam."
        assert listing in {each["id"] for each in did("review reported --limit 50")["listings"]}
        report = did(f"review reports {ref}")["reports"][0]["id"]
        assert did(f"review settle {ref} --report {report}")["reports"] == []
        assert did(f"{kind} withdraw {listing} Spam.")["reason"] == "Spam."
        did(f"{kind} edit {listing} --name jukebox")
        assert did(f"{kind} approve {listing}")["state"] == "approved"

    def changes(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, kind.ref(listing)
        change = did(f"{kind} edit {listing} --name renamed")["change"]
        assert did("review queue --limit 50")["queue"][-1]["what"] == "change"
        assert did(f"review agree {ref} {change['version']}")["name"] == "renamed"
        change = did(f"{kind} edit {listing} --name spam")["change"]
        assert did(f"review refuse {ref} {change['version']} Spam.")["name"] == "renamed"
        did(f"{kind} edit {listing} --name jukebox")

    def hand_over(self, kind: Kind, listing: str) -> None:
        did = self.did
        assert did(f"{kind} offer {listing} {USER}")["hand_over"]["heir"] == USER
        assert did(f"{kind} end-offer {listing}")["hand_over"] is None
        did(f"{kind} offer {listing} {USER}")
        assert did(f"{kind} accept-offer {listing} {USER}")["owner_id"] == USER
        assert did(f"{kind} edit {listing} --owner {OWNER}")["owner_id"] == OWNER

    def webhook(self, kind: Kind, listing: str) -> None:
        did, ref, url = self.did, kind.ref(listing), self.receiver.url
        assert did(f"webhook set {ref} {url} --auth-file -", input="a-secret")["has_token"] is True
        assert did(f"webhook test {ref}")["user"] == OWNER
        assert did(f"webhook test {ref} {USER}")["state"] == "delivered"
        assert self.receiver.received[-1].headers["authorization"] == "a-secret"
        deliveries = did(f"webhook deliveries {ref} --limit 5")["deliveries"]
        test = next(each["id"] for each in deliveries if each["test"])
        assert did(f"webhook redeliver {ref} {test}")["id"] == test
        assert did(f"webhook redeliver {ref} --failed-since 1h")["redelivered"] == 0
        assert did(f"webhook rotate-secret {ref} --overlap 24h")["secret"].startswith("whsec_")
        assert did(f"webhook show {ref}")["old_secret_until"] == self.gateway.clock.now_ms() + DAY_MS
        for verb in ("probe", "resume"):
            assert BY_NAME[f"{verb}{kind.title}Webhook"]
            refused = run_admin(self.gateway.base_url, "webhook", verb, ref)
            assert refused.exit_code == 1, "nothing is suspended"
        events = did(f"webhook set {ref} {url} --event vote --event vote.struck")["events"]
        assert events == ["vote", "vote.struck"]
        assert did(f"webhook remove {ref} --yes") == {"success": True}

    def votes(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, kind.ref(listing)
        assert did(f"votes cast {ref} {USER}")["vote"] == 1
        told = did(f"votes check {ref} {USER} --from -", input=f"{OTHER_USER}\n")["votes"]
        assert [each["voted"] for each in told] == [True, False]
        assert did("votes list --limit 1")["votes"][0]["user"] == USER
        assert did(f"votes count {ref}")["total"] == 1
        assert did(f"votes cast {ref} {OTHER_USER}")["vote"] == 1
        assert did(f"votes strike {ref} --since 2001-01-01 --reason Bought --dry-run")["votes"] == 2
        struck = did(f"votes strike {ref} --from - --reason Bought --yes", input=OTHER_USER)
        assert struck == {"success": True, "users": 1, "votes": 1, "more": False}
        assert did(f"votes strike {ref} --flagged --reason Bought --yes")["users"] == 0

    def likes(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, kind.ref(listing)
        liked = ref if sum(each.has("likes") for each in KINDS) > 1 else listing
        assert did(f"likes give {liked} {USER}") == {"success": True, "likes": 1}
        assert did(f"likes take-back {liked} {USER}") == {"success": True, "likes": 0}
        assert did(f"votes count {ref}")["total"] == 0
        assert did(f"votes strike {ref} --flagged --reason Bought --yes")["users"] == 0

    def ratings(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, kind.ref(listing)
        mine = f"{ref} {RATER}"
        did(f"votes cast {mine}")
        for _ in range(2):
            written = did(f"ratings write {mine} --stars 4 --text A_good_one_for_every_day")
            assert written["stars"] == 4
            assert did(f"ratings answer {mine} --text Thanks!")["answer"]["text"] == "Thanks!"
            assert did(f"ratings take-answer-back {mine}") == {"success": True}
            did(f"ratings report {mine} {OTHER_USER} breaks_rules --text Spam.")
            assert did(f"ratings list {ref}")["count"] == 1
            assert did(f"ratings take-back {mine} --yes") == {"success": True}
            did(f"review settle {ref}")
        did(f"ratings write {mine} --stars 1 --text A_bad_one_for_every_day")
        assert did(f"ratings remove {mine} Spam. --yes") == {"success": True}

    def co_owners(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, named(kind, listing)
        assert did(f"owners invite {ref} {OTHER_USER}")["invited"] == [OTHER_USER]
        assert OTHER_USER in did(f"owners accept {ref} {OTHER_USER}")["extra_owners"]
        assert OTHER_USER not in did(f"owners remove {ref} {OTHER_USER}")["extra_owners"]

    def keys(self, kind: Kind, listing: str) -> None:
        did, ref = self.did, named(kind, listing)
        key = did(f"keys issue {ref} tests")
        rotated = did(f"keys rotate {ref} {key['id']} --overlap 0")["key"]
        assert len({key["key"], rotated}) == 2
        assert did(f"keys list {ref}")["keys"][0]["name"] == "tests"
        assert did(f"keys revoke {ref} {key['id']} --yes") == {"success": True}

    def stats(self, _: Kind, listing: str) -> None:
        did = self.did
        assert did(f"counts {listing} 1200") == {"success": True, "server_count": 1_200}
        assert did(f"counts {listing}")["actual_server_count"] == 1_200
        assert did(f"limits {listing} --stats 20/2h")["stats"] == {"requests": 20, "window_seconds": 7_200}
        kept = did(f"limits {listing} --voters 7/60")["stats"]["requests"]
        assert kept == 20, "what is not told is kept"
        assert did(f"limits {listing} --stats default")["stats"] is None
        assert did(f"limits {listing}")["voters"] == {"requests": 7, "window_seconds": 60}


RATER = "600000000000000006"
WALKS: Mapping[PartName, Callable[[Walk, Kind, str], None]] = {
    "review": Walk.review,
    "changes": Walk.changes,
    "votes": Walk.votes,
    "likes": Walk.likes,
    "ratings": Walk.ratings,
    "keys": Walk.keys,
    "stats": Walk.stats,
    "co_owners": Walk.co_owners,
    "hand_over": Walk.hand_over,
    "webhook": Walk.webhook,
}


def test_every_operation_is_done_by_its_command(
    gateway: ThreadGateway, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The life of a listing of each kind, from its submission to its end."""
    asked: set[str] = set()
    calling = GatewayCaller.call

    def call(caller: GatewayCaller, name: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        asked.add(name)
        return calling(caller, name, *arguments, **options)

    monkeypatch.setattr(GatewayCaller, "call", call)

    def did(line: str, **options: Any) -> Any:
        result = run_admin(gateway.base_url, *line.split(), "--json", **options)
        assert result.exit_code == 0, (line, result.output)
        return json.loads(result.stdout)

    walk, ids = Walk(did, gateway, receiver), dict[str, str]()
    for kind in KINDS:
        ids[kind.plural] = listing = walk.submit(kind)
        for part in get_args(PartName):
            if kind.has(part) and part in WALKS:
                WALKS[part](walk, kind, listing)
        assert did(f"{kind} list --state approved")[kind.plural][0]["id"] == listing
        assert did(f"{kind} inspect {listing}")["success"] is True
        assert did(f"{kind} history {listing}")["history"][0]["by"] == "operator"

    banner = tmp_path / "banner.png"
    banner.write_bytes(picture())
    uploaded = did(f"files upload {banner} --user {USER} --kind bots --field banner")["file"]
    assert uploaded["media_type"] == "image/png"
    assert did("debug overview")["counts"]["bots"] == 1
    assert did("doctor") == {"success": True, "concerns": []}
    assert did("find juke")
    assert did(f"users inspect {USER}")
    for what in ("data", "webhooks", "limiter", "errors", "journal"):
        assert did(f"debug {what}")["success"] is True
    assert did("snapshot")["position"] > 0
    assert did("verify")["equal"] is True
    refused = run_admin(gateway.base_url, "restart")
    assert (refused.exit_code, "This gateway is one process." in refused.output) == (1, True)
    assert did("moderators list")["moderators"] == []
    assert did(f"moderators add {USER}")["moderator"] == "appointed"
    assert did("users list")["users"][0]["id"] == USER
    assert did(f"moderators remove {USER}") == {"success": True}
    assert did(f"users quarantine {USER} sign_in Spam")["quarantines"][0]["until"] is None
    assert did(f"users lift {USER} sign_in") == {"success": True}
    assert did(f"users show {USER}")["quarantines"][0]["in_force"] is False
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([signed_in(USER, SESSION_ID * 4)]))
    assert did(f"users sessions {USER}")["sessions"][0]["id"] == SESSION_ID
    assert did(f"users notices {USER}")["notices"] == []
    assert did(f"users reminders {USER}")["reminders"] == []
    assert did(f"users clear-reminders {USER}") == {"success": True}
    assert did(f"users end-session {USER} {SESSION_ID} --yes") == {"success": True}
    assert did(f"users end-sessions {USER} --yes") == {"success": True}
    assert did("users end-all-sessions --yes") == {"success": True, "ended": 0}
    assert did(f"users erase {USER} --yes") == {"success": True}
    for kind in KINDS:
        listing = ids[kind.plural]
        if kind.votes is not None:
            assert did(f"votes check {kind.ref(listing)} {USER}")["votes"][0]["voted"] is False
        assert did(f"{kind} show {listing}")["name"] == "jukebox"
        assert did(f"{kind} remove {listing} --yes") == {"success": True}
        assert did(f"{kind} list")[kind.plural] == []
    saved = did(f"backup {tmp_path / 'votegate.backup'} --data-dir {gateway.folder}".split(" --data")[0])
    assert (saved["bytes"], saved["digest"]) == ((tmp_path / "votegate.backup").stat().st_size, None)
    assert asked == BY_NAME.keys() - {"backUp", "readMetrics"}


def test_bots_are_listed_in_a_table(gateway: ThreadGateway, admin: Admin) -> None:
    key = gateway.list_bot()
    assert gateway.stats(key, {"server_count": 1_000}).status_code == 200
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT, "name": "[red]Other[/red]"})

    one = [BOT, "Test bot", "approved", "1,000", "2025-06-15 15:06"]
    other = [OTHER_BOT, "[red]Other[/red]", "in_review", "-", "2025-06-15 15:06"]

    assert cells(admin("bots", "list")) == [one, other]
    assert cells(admin("bots", "list", "--state", "approved"))[0][0] == BOT
    assert admin("bots", "list", "--state", "denied").output == "none\n"


@pytest.mark.parametrize("columns", [80, 40, 20])
def test_a_table_fits_the_terminal_however_long_a_name_is(gateway: ThreadGateway, columns: int) -> None:
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "name": "Jukebox" * 14})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT, "name": "ボット" * 33})
    output = run_admin(gateway.base_url, "bots", "list", columns=columns).output
    if columns == 80:
        assert max(map(len, output.splitlines())) <= 80
    assert BOT in output
    assert "created" in output


def test_all_bots_are_listed_however_many_pages_they_take(gateway: ThreadGateway, admin: Admin) -> None:
    profile = BotProfile("Test bot", "A bot for the tests", "A longer description", ("Utility",))
    ids = [str(int(BOT) + number) for number in range(1_001)]
    events: list[Event] = [ListingSaved(f"bots/{i}", USER, profile, "approved", 1) for i in ids]
    gateway.on_loop(lambda: gateway.gateway.ledger.commit(events))

    answer = json.loads(admin("bots", "list", "--json").output)

    assert [bot["id"] for bot in answer["bots"]] == ids
    assert answer["next"] is None


def test_a_bot_is_submitted_field_by_field(admin: Admin) -> None:
    line = f"bots submit {BOT} --owner {OWNER} --name Jukebox --category Music --category Utility"
    texts = ["--short-description", "Plays music for you", "--description", BOT_SUBMISSION["description"]]
    shown = json.loads(admin(*line.split(), *texts, "--json").output)
    assert (shown["categories"], shown["extra_owners"]) == (["Music", "Utility"], [])


@pytest.mark.parametrize("columns", [120, 80, 30])
def test_a_key_is_shown_in_one_piece_also_on_a_narrow_terminal(gateway: ThreadGateway, columns: int) -> None:
    gateway.list_bot()
    output = run_admin(gateway.base_url, "keys", "issue", BOT, "my key", columns=columns).output
    keys = re.findall(r"vg_[\w-]+", output)
    assert [gateway.voters(key).status_code for key in keys] == [200]


def test_a_key_of_a_bot_without_an_actual_count_comes_with_what_to_do(
    gateway: ThreadGateway, admin: Admin
) -> None:
    gateway.list_bot(actual=None)
    assert f"votegate admin counts {BOT} <number>" in admin("keys", "issue", BOT, "my key").output
    admin("counts", BOT, "5")
    assert "actual-server-count" not in admin("keys", "issue", BOT, "my key").output


def test_the_overview_is_shown_in_groups_with_units(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    gateway.cast()
    gateway.advance(7_500)
    result = admin("debug", "overview", columns=80)
    shown = fields_of(result)
    assert (shown["ready"], shown["not ready because"], shown["uptime"]) == ("yes", "-", "2 h 5 min")
    assert shown["votes"] == "1"
    assert re.search(r"^ +bots +1$", result.output, re.MULTILINE)
    assert re.search(r"\nmemory\n  resident +\d+\.\d MiB\n", result.output)
    assert re.fullmatch(r"[\d.]+ ms", shown["max"])
    assert "\npositions\n  head " in result.output
    assert not set("{}[]'\"") & set(result.output)
    assert max(map(len, result.output.splitlines())) <= 80


def test_a_change_without_an_answer_says_that_it_is_done(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    assert admin("bots", "remove", BOT, "--yes").output == "done\n"


def test_a_memory_that_differs_from_the_disk_ends_with_1(receiver: Receiver) -> None:
    answer = {"success": True, "position": 1, "digest": "a", "folded_digest": "b", "equal": False}
    receiver.default = status(200, json.dumps(answer).encode())
    result = run_admin(receiver.url, "verify")
    assert (result.exit_code, fields_of(result)["equal"]) == (1, "no")


# -- Users ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "until"),
    [
        ("--until 2031-01-31", "2031-01-31 00:00:00 UTC"),
        ("--until 2031-01-31T18:00+02:00", "2031-01-31 16:00:00 UTC"),
    ],
)
def test_a_quarantine_ends_at_the_time_that_the_command_names(admin: Admin, option: str, until: str) -> None:
    shown = admin("users", "quarantine", USER, "vote", "Bought votes.", *option.split(), "--json")
    (quarantine,) = json.loads(shown.output)["quarantines"]
    assert text_of("until", quarantine["until"]) == until


def test_a_quarantine_lasts_for_the_duration_that_the_command_names(admin: Admin) -> None:
    before_ms = SystemClock().now_ms()
    shown = admin("users", "quarantine", USER, "vote", "Bought votes.", "--for", "7d", "--json")
    (quarantine,) = json.loads(shown.output)["quarantines"]
    assert before_ms + 7 * DAY_MS <= quarantine["until"] <= SystemClock().now_ms() + 7 * DAY_MS


def test_users_are_shown_on_80_columns(gateway: ThreadGateway) -> None:
    events = [signed_in(user, f"{SESSION_ID}{user}" * 2) for user in (USER, OTHER_USER)]
    gateway.on_loop(lambda: gateway.gateway.ledger.commit(events))
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/submit", {"reason": "A long reason. " * 20})
    gateway.done("PUT", f"/manage/users/{OTHER_USER}/moderator")
    shown = {
        line: run_admin(gateway.base_url, *line.split(), columns=80)
        for line in ("users list", "moderators list", f"users show {USER}", f"users sessions {USER}")
    }
    for line, result in shown.items():
        assert result.exit_code == 0, line
        assert max(map(len, result.output.splitlines())) <= 80, line
    assert cells(shown["users list"])[1] == [OTHER_USER, "ada", "Ada", "appointed", "1"]
    assert OTHER_USER in shown["moderators list"].output
    assert SESSION_ID in shown[f"users sessions {USER}"].output
    assert "A long reason." in shown[f"users show {USER}"].output


# -- Any call ---------------------------------------------------------------------------------------------


def test_the_list_of_calls_says_what_each_does() -> None:
    listed = run_admin(unused_url(), "call", "--help").output
    assert re.search(r"^  showBot +Show a bot\.$", listed, re.MULTILINE)


def test_a_call_shows_every_value_of_its_answer_whatever_it_is(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    shown = fields_of(admin("call", "showBot", BOT))
    assert (shown["name"], shown["categories"], shown["voters"]) == ("Test bot", "Utility", "-")
    assert json.loads(admin("call", "showBot", BOT, "--json").output) == gateway.done(
        "GET", f"/manage/bots/{BOT}"
    )


def test_a_call_takes_a_body_and_a_query(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    limits = '{"stats": {"requests": 7, "window_seconds": 60}}'
    assert fields_of(admin("call", "setLimits", BOT, "--body", limits))["requests"] == "7"
    assert fields_of(admin("call", "listBots", "--state", "denied", "--limit", "5"))["bots"] == "-"


def test_a_call_sends_an_id_as_one_segment_of_the_path(gateway: ThreadGateway) -> None:
    refused = run_admin(gateway.base_url, "call", "showBot", f"{BOT}/keys?a=b")
    assert error(refused) == "There is no such listing."


# -- Refusals and JSON ------------------------------------------------------------------------------------


def test_json_is_the_api_s_answer(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    assert json.loads(admin("bots", "list", "--json").output) == gateway.done("GET", "/manage/bots")
    state = json.loads(admin("debug", "overview", "--json").output)
    assert state.keys() == gateway.done("GET", "/debug/overview.json").keys()


def test_a_refusal_is_shown_in_the_api_s_words(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    url = gateway.base_url
    assert error(run_admin(url, "keys", "issue", OTHER_BOT, "x")) == "There is no such listing."
    assert error(run_admin(url, "votes", "cast", BOT, USER)) == "This user can vote again in 86400 seconds."
    assert error(run_admin(url, "votes", "cast", BOT, "5")) == (
        "Some fields are not valid.\n  user: must be a snowflake: 17 to 20 digits"
    )


def test_with_json_an_error_is_json_too(gateway: ThreadGateway) -> None:
    refused = run_admin(gateway.base_url, "bots", "show", BOT, "--json")
    assert (refused.exit_code, refused.stderr) == (1, "")
    assert json.loads(refused.stdout) == gateway.operate("GET", f"/manage/bots/{BOT}").json()
    away = run_admin(unused_url(), "debug", "overview", "--json")
    assert (away.exit_code, json.loads(away.stdout)["success"]) == (1, False)
    assert "no gateway answers at " in json.loads(away.stdout)["error"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bots list --state lost", "'lost' is not one of 'in_review', 'approved', 'denied'"),
        ("call setLimits 1 --body []", "it must be a JSON object"),
        ("call setLimits 1 --body {", "it is not JSON: Expecting property name"),
        ("limits 1 --stats 20", "'20' is no limit: 20/2h, or default"),
        ("keys rotate 1 2 --overlap soon", "'soon' is no duration: 90s, 15m, 24h or 7d"),
        ("webhook show users/1", "'users/1' is no listing"),
        ("webhook redeliver 1", "Name either DELIVERY_ID or --failed-since."),
        ("webhook redeliver 1 --failed-since then", "'then' is no time"),
        ("votes check 1", "Name users"),
        ("users quarantine 1 sleep why", "'sleep' is not one of 'sign_in', 'submit', 'vote', 'report'"),
        ("users quarantine 1 vote why --until 7d", "'7d' is no time: 2026-01-31T18:00"),
        ("users quarantine 1 vote why --for ever", "'ever' is no duration: 90s, 15m, 24h or 7d"),
        ("users quarantine 1 vote why --for 7d --until 2030-01-01", "Give either --until or --for."),
        ("bots submit 1 --from /nowhere", "/nowhere: No such file or directory"),
        ("bots frobnicate", "No such command 'frobnicate'"),
        ("snapshot --frobnicate", "No such option '--frobnicate'"),
        ("--token a-secret-of-mine doctor", "use --token-file FILE"),
    ],
)
def test_what_is_typed_wrong_ends_with_2_before_anything_is_asked(line: str, reason: str) -> None:
    result = run_admin(unused_url(), *line.split())
    assert result.exit_code == 2
    assert reason in result.output
    assert "a-secret-of-mine" not in result.output


# -- What is lost -----------------------------------------------------------------------------------------


def test_a_command_that_loses_something_asks_and_without_a_terminal_refuses(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    ids = {"bots remove": [BOT], "webhook remove": [BOT], "users erase": [USER], "keys revoke": [BOT, "1"]}
    ids |= {
        "users end-sessions": [USER],
        "users end-session": [USER, SESSION_ID],
        "users end-all-sessions": [],
        "ratings remove": [BOT, USER, "Insults."],
        "ratings take-back": [BOT, USER],
        "votes strike": [BOT, USER, "--reason", "Bought"],
    }
    for command, given in ids.items():
        line = error(run_admin(gateway.base_url, *command.split(), *given, input="y\n"))
        assert line.endswith("It does so with --yes, or asks on a terminal; nothing was changed")
    assert line.startswith("This removes 0 votes of 0 users."), "as a dry run has found"
    asking = {call.command.words for call in OPERATIONS if call.command.loses}
    assert asking - ids.keys() == {f"{kind} remove" for kind in KINDS[1:]}
    assert gateway.done("GET", f"/manage/bots/{BOT}")["state"] == "approved"


@pytest.mark.parametrize(("typed", "goes"), [("Test bot", True), ("Test", False), ("y", False)])
def test_a_bot_is_removed_when_its_name_is_typed(gateway: ThreadGateway, typed: str, goes: bool) -> None:
    gateway.list_bot()
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    command = [sys.executable, "server.py", "admin", "--url", gateway.base_url, "bots", "remove", BOT]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN},
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    os.close(ours)
    os.close(theirs)
    assert ended.stderr.startswith("This removes the bot Test bot, with its keys, ")
    assert gateway.operate("GET", f"/manage/bots/{BOT}").status_code == (404 if goes else 200)
    assert (ended.returncode, ended.stdout) == ((0, "done\n") if goes else (1, ""))


def test_an_answer_imports_nothing_heavy(gateway: ThreadGateway) -> None:
    """Each of these takes as long as the rest of the command, or longer."""
    admin = [sys.executable, "-X", "importtime", "server.py", "admin", "--url", gateway.base_url]
    command = [*admin, "debug", "overview"]
    environment = {"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    heavy = {"asyncio", "cryptography", "handlers", "rich.console", "tornado", "yaml"}
    assert "cli.operations" in loaded
    assert not loaded & heavy


def test_the_numbers_for_prometheus_are_printed_as_they_are(gateway: ThreadGateway, admin: Admin) -> None:
    printed = admin("metrics").output
    assert "\nvotegate_ready 1.0\n" in printed
    assert "# EOF" not in printed
    refused = run_admin(gateway.base_url, "--token-file", "-", "metrics", input="a-guess-at-the-token")
    assert (refused.exit_code, "Invalid operator token." in refused.output) == (1, True)
