"""The gateway agrees with its OpenAPI document: schemathesis tries it, with all of its checks.

Each request finds the same listings, users and deliveries, even if the one before has removed some:
everything that the document's examples name exists. So an example succeeds, a made-up id is unknown, and no
order matters.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import BaseSchema

from actions.users import QuarantineTerms
from core.actors import OPERATOR
from core.state import State
from forms.fields import LAST_MS, Form, declared_fields
from forms.reading import read
from grammars.http_urls import read_url
from kinds.registry import KINDS
from kinds.servers import SERVERS
from languages.refusals import Refusal
from listings.forms import Denial, KeyName, WebhookSettings
from listings.stats import read_stats
from listings.webhooks import WebhookPolicy, save_webhook
from openapi.examples import BODIES, BOT, DELIVERY_ID, KEY_ID, NOW_MS, SESSION_ID, USER
from operators.operator_pages import ALL_ROUTES
from settings.model import WebhooksSettings
from tests.support.described_rows import APPROVED_BOT, KEY
from tests.support.described_world import SAMPLE_FILES, described, world
from tests.support.examples import ALL_EXAMPLES, examples
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.made_listings import MADE_IDS, MADE_ROWS
from tests.support.media_files import picture
from tests.support.memory_ledger import empty_state
from tests.support.openapi_lookup import DOCUMENT
from tests.support.webhook_receiver import Receiver, receiving
from webhook.chat import chat_target

Case = schemathesis.Case[Any]
Tally = dict[str, Counter[int]]
"""The number of answers by operation and status."""

KNOWN_IDS = {
    "bots": BOT,
    "servers": SERVERS.id.sample,
    "users": USER,
    **MADE_IDS,
    "keys": KEY_ID,
    "deliveries": DELIVERY_ID,
    "sessions": SESSION_ID,
}


def known(dictionary: str) -> dict[str, object]:
    """Most of the made-up ids are ones that exist."""
    return {"dictionary": dictionary, "probability": 0.7}


# A cursor is a place in the journal: only the gateway that gave one can tell whether it still leads there.
TOO_OLD = {"positive_data_acceptance": {"expected-statuses": ["2xx", 410]}}
# JSON Schema cannot say which fields of which kind have files.
OTHER_FIELD = {"positive_data_acceptance": {"expected-statuses": ["2xx", 400]}}
# Bodies of this one take as long to make up as those of all others: most URLs are no chat platform's.
LONG_COVERED = "PUT /manage/bots/{id}/webhook"
CONFIG = SchemathesisConfig.from_dict(
    {
        "seed": 1,
        "generation": {
            "deterministic": True,
            "database": "none",
            "max-examples": 10 if ALL_EXAMPLES else 3,
        },
        # They judge how requests are made up, not how they are answered.
        "suppress-health-check": ["filter_too_much", "too_slow"],
        "auth": {"openapi": {"apiKey": {"api_key": KEY}, "operator": {"bearer": OPERATOR_TOKEN}}},
        "dictionaries": {name: {"values": [value]} for name, value in KNOWN_IDS.items()},
        "parameters": {
            **{"path.key_id": known("keys"), "path.delivery_id": known("deliveries")},
            **{"path.session_id": known("sessions"), "path.user_id": known("users")},
        },
        "operations": [
            {"include-name": LONG_COVERED, "phases": {"coverage": {"enabled": ALL_EXAMPLES}}},
            {"include-name": "GET /manage/votes", "checks": TOO_OLD},
            {"include-name": "POST /manage/files", "checks": OTHER_FIELD},
            *(
                {"include-path-regex": f"{kind}/{{id}}", "parameters": {"path.id": known(kind)}}
                for kind in ("bots", "servers", "users", *MADE_IDS)
            ),
        ],
    }
)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
schemathesis.openapi.media_type("application/octet-stream", st.just(picture()))


@SCHEMA.hook
def filter_case(_: schemathesis.HookContext, case: schemathesis.Case[Any]) -> bool:
    """An owner may not be an extra owner, no quarantine ends before it begins, and files of a list must be
    there, which JSON Schema cannot say: such a body is not made up."""
    if not isinstance(case.body, dict):
        return True
    owners, until = case.body.get("extra_owners"), case.body.get("until")
    is_over = isinstance(until, int | float) and until <= NOW_MS
    names = [text for value in case.body.values() if isinstance(value, list) for text in value]
    if any(is_digest(text) and text not in SAMPLE_FILES for text in names):
        return False
    return not is_over and not (isinstance(owners, list) and case.body.get("owner_id") in owners)


def is_digest(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


SNOWFLAKE = re.compile("[1-9][0-9]{16,19}")
SAMPLE_FILE = {
    name: next(file.digest for file in SAMPLE_FILES.values() if rules.fault(file) is None)
    for kind in KINDS
    for name, rules in kind.file_rules.items()
    if kind.shown[name].widget != "pictures"
}
"""Fields with one file, and the digest of a sample that they take."""


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with described(tmp_path_factory.mktemp("promises") / "data") as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    tally: Tally = defaultdict(Counter)
    yield tally
    for operation, statuses in tally.items():
        assert any(status < 300 for status in statuses), f"{operation} never succeeded: {statuses}"
        few = operation == LONG_COVERED and not ALL_EXAMPLES  # by chance, all of them may be right
        assert few or any(status >= 400 for status in statuses), f"{operation} was never refused: {statuses}"


@pytest.fixture
def schema(request: pytest.FixtureRequest) -> BaseSchema:
    """A fixture, so that the worker which sends the requests makes them up, and not each that collects."""
    request.node._nodeid = request.node.nodeid  # schemathesis 4.32 looks there, and pytest 9.2 no longer
    return SCHEMA


# Each class is a share of the work for one worker: together they try every path.
PUBLIC = r"^/(?!manage/)"
LISTINGS_AND_VOTES = r"^/manage/(?!.*/(keys|webhook)\b)"
KEYS_AND_WEBHOOKS = r"^/manage/.*/(keys|webhook)\b"
SHARES = (PUBLIC, LISTINGS_AND_VOTES, KEYS_AND_WEBHOOKS)
# The handlers of bots serve servers too, and every form is compared with its schema below.
LONG_ALONE = r"^/manage/servers"
# No schema can say what a picture or a sound is: see tests/system/contract/test_uploads.py.
UPLOADS = r"^/manage/files$"


def promised(paths: str) -> Callable[[Any], Any]:
    """Tries the test on each operation whose path matches."""
    tried = schemathesis.pytest.from_fixture("schema").include(path_regex=paths).exclude(path_regex=UPLOADS)
    if not ALL_EXAMPLES:
        tried = tried.exclude(path_regex=LONG_ALONE)
    return tried.parametrize()


class TestThePublicCalls:
    @promised(PUBLIC)
    def test_every_answer_is_as_described(
        self, case: Case, gateway: ThreadGateway, receiver: Receiver, tally: Tally
    ) -> None:
        check(case, gateway, receiver, tally)


class TestListingsAndVotes:
    @promised(LISTINGS_AND_VOTES)
    def test_every_answer_is_as_described(
        self, case: Case, gateway: ThreadGateway, receiver: Receiver, tally: Tally
    ) -> None:
        check(case, gateway, receiver, tally)


class TestKeysAndWebhooks:
    @promised(KEYS_AND_WEBHOOKS)
    def test_every_answer_is_as_described(
        self, case: Case, gateway: ThreadGateway, receiver: Receiver, tally: Tally
    ) -> None:
        check(case, gateway, receiver, tally)


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_each_path_is_in_one_share(path: str) -> None:
    assert sum(re.search(paths, path) is not None for paths in SHARES) == 1


def what_exists(body: dict[str, Any]) -> dict[str, str]:
    """Return what takes the place of a made-up digest and of another owner of a profile: a file of a sample,
    and its owner. JSON Schema cannot ask for either."""
    found = {name: SAMPLE_FILE[name] for name in body.keys() & SAMPLE_FILE.keys() if is_digest(body[name])}
    if "handle" in body and SNOWFLAKE.fullmatch(str(body.get("owner_id"))):
        found["owner_id"] = MADE_ROWS[0].owner_id
    return found


def check(case: Case, gateway: ThreadGateway, receiver: Receiver, tally: Tally) -> None:
    ledger, operation_id = gateway.gateway.ledger, case.operation.definition.raw["operationId"]
    gateway.on_loop(lambda: ledger.commit(world(operation_id, receiver.url, ledger.state.listings.refs)))
    if isinstance(case.body, dict):
        case.body |= what_exists(case.body)
    response = case.call(base_url=gateway.base_url)
    tally[case.operation.label][response.status_code] += 1
    case.validate_response(response)
    if response.status_code >= 400:
        assert response.json()["status"] == response.status_code


# -- What a schema allows is what its form reads ----------------------------------------------------------

IPV6_HOSTS = [
    "[::1]",
    "[1:2:3:4:5:6:7:8]",
    "[1:2:3:4:5:6:7::]",
    "[1::8]",
    "[::]",
    "[:::]",
    "[1:2]",
    "[::1::]",
]
CHAT_HOSTS = WebhooksSettings().chat_hosts
HOSTS = [
    *IPV6_HOSTS,
    *("h", "a-b_c.d", "127.0.0.1", "h:1", "h:65535", "h:65536", "h:0", "h:01", "h:", "u@h", "", "é"),
]
URLS = [
    *(f"http://{host}{rest}" for host in HOSTS for rest in ("", "/", "?q", "#f@")),
    *("HTTPS://h/", "ftp://h/", "//h/", "http:/h", "http://h/\\", "http://h/ ", "http://h/é", "http://h/{|}"),
    *(f"http://h/{'a' * length}" for length in (2_039, 2_040)),
    *(f"https://{host}/api/webhooks/1/t" for host in (*CHAT_HOSTS, "Discord.COM", "discord.com:443", "h")),
    *(f"https://discord.com/api/v{version}/webhooks/1/t/" for version in ("1", "10", "010", "100", "x")),
    *(f"https://discord.com/api/webhooks/{rest}" for rest in ("1/t?x", "1/t#x", "x/t", "1/t/u", "1/", "1")),
    *("http://discord.com/api/webhooks/1/t", "https://discord.com:444/api/webhooks/1/t"),
    *(f"https://discord.com{rest}" for rest in ("", "?/api/webhooks/1/t", "//api/webhooks/1/t", ".h/")),
]
SNOWFLAKES = [
    *("9" * 16, "1" + "0" * 16, "9" * 19, str(2**64 - 1)),
    *(str(2**64), "9" * 20, "1" * 21, "0" * 17, "１" * 17),
]
SPACES = "\t\n\v\f\r\x1c\x1f \x85\xa0\u1680\u2003\u2028\u202f\u3000\ufeff\u200b\u200e\u202e\u3164\U000e0001"
LENGTHS = [15, 16, 31, 32, 33, 100, 101, 150, 151, 256, 257, 512, 513, 1_000, 1_001, 8_192, 8_193]
TEXTS = [
    *("", "a", "é", "Music", "Community", "a\x00", "\x7fa", "a\x9f", " a ", "a b", "😀" * 16),
    *("a" * length for length in LENGTHS),
    *(space * 32 for space in SPACES),
    *(f"{'a' * 32}{space}" for space in SPACES),
]
INTEGERS = [-1, 0, 1, 1_000, 1_001, 604_800, 604_801, 1_000_000, 1_000_001, 2_592_000, 2_592_001]
NUMBERS = [*INTEGERS, LAST_MS, LAST_MS + 1, 0.0, 1.0, 1.5, 1e7, 1e7 + 1, 1e300]
LISTS: list[Any] = [
    [],
    *([text] for text in ("Music", "é", "", "a" * 32, "a" * 33, "a\n")),
    *(["Music"] * 2, ["Music", "Other"], list("abcde"), list("abcdef"), [None], [1]),
    *([str(10**17 + n) for n in range(count)] for count in (1, 4, 5, 1_000, 1_001)),
    [BOT, BOT],
]
OBJECTS = [
    *({"requests": number, "window_seconds": 1} for number in (0, 1, 1.0, 1_000_000, 1_000_001)),
    *({"requests": 1, "window_seconds": number} for number in (0, 1.0, 2_592_000, 2_592_001)),
    *({}, {"requests": 1}),
]
VALUES = [*URLS, *SNOWFLAKES, *TEXTS, *NUMBERS, *LISTS, *OBJECTS, None, True, False]


def allowed_by(name: str) -> Callable[[Any], bool]:
    components = DOCUMENT["components"]
    return jsonschema_rs.Draft202012Validator(
        {**components["schemas"][name], "components": components}
    ).is_valid


FORMS = [
    *dict.fromkeys(row.body for row in ALL_ROUTES if row.body is not None and issubclass(row.body, Form))
]
ALLOWS = {form: allowed_by(form.__name__) for form in FORMS}


def bodies(form: type[Form]) -> Iterator[dict[str, Any]]:
    """The form's examples, with every field left out and put to every value in turn."""
    for example in (shown.value for shown in BODIES[form.__name__].values()):
        yield from (example, {**example, "more": 1})
        for field in (each.name for each in declared_fields(form)):
            yield {name: value for name, value in example.items() if name != field}
            yield from ({**example, field: value} for value in VALUES)


def read_whole(form: type[Form], body: dict[str, Any]) -> None:
    """Reads a body as the call does that takes it; where webhooks may go is left out."""
    filled = read(form, body)
    if isinstance(filled, WebhookSettings):
        policy = WebhookPolicy(
            lambda url: chat_target(read_url(url), CHAT_HOSTS) is not None,
            new_secret=str,
            pending_per_endpoint=1,
            pending_in_all=1,
        )
        save_webhook(LISTED, APPROVED_BOT.ref, filled, policy, NOW_MS, by=OPERATOR)


def listed() -> State:
    """Both listings, with their webhooks."""
    state = empty_state()
    for event in world("saveWebhook", "", ()):
        state.apply(event)
    return state


LISTED = listed()


def is_read(reading: Callable[[], object]) -> bool:
    try:
        reading()
    except Refusal:
        return False
    return True


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_allows_what_its_form_reads(form: type[Form]) -> None:
    tried = Counter[bool]()
    for body in bodies(form):
        allowed = ALLOWS[form](body)
        assert allowed == is_read(partial(read_whole, form, body)), body
        tried[allowed] += 1
    assert tried[True]
    assert tried[False]


@examples(90)
@given(st.text(), st.text(st.sampled_from(SPACES + "a")))
def test_a_schema_allows_the_texts_that_its_form_reads(any_text: str, spaced: str) -> None:
    for text in (any_text, spaced):
        for form, field in ((KeyName, "name"), (Denial, "reason"), (QuarantineTerms, "reason")):
            assert ALLOWS[form]({field: text}) == is_read(partial(read, form, {field: text}))


def test_the_schema_of_stats_allows_what_is_read() -> None:
    allows = allowed_by("Stats")
    numbers = [*VALUES, 10_000_000, 10_000_001]
    either = [{name: value} for name in ("server_count", "command_count", "more") for value in numbers]
    for body in [*either, {}, {"server_count": 1, "command_count": -1}, {"server_count": 1, "more": None}]:
        assert allows(body) == is_read(partial(read_stats, body)), body
