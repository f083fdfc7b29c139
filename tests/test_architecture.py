"""The import directions of the rooms, as DESIGN has them, and the few rules that hold everywhere."""

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.rooms import MAY_IMPORT, OURS

ROOT = Path(__file__).parent.parent


# Pure: no I/O, no clock, no randomness, no event loop.
PURE = [
    *("core", "grammars", "votes", "listings", "people", "ratelimit"),
    "direct_messages/message_text.py",
    "languages/preferences.py",
    *(
        f"webhook/{name}.py"
        for name in (
            "attempts",
            "chat",
            "messages",
            "outbox",
        )
    ),
    *(f"outbound/{name}.py" for name in ("proxies", "result", "slots", "targets", "tls_records")),
    *(
        f"replication/{name}.py"
        for name in (
            "facts/capture",
            "facts/hybrid_clock",
            "facts/keyed_digests",
            "facts/kinds",
            "facts/merge",
            "copies/pieces",
            "members/epochs",
            "members/status",
            "streams/entries",
            "streams/positions",
            "streams/queue",
        )
    ),
    *(f"wire/{name}.py" for name in ("head", "known_heads", "limits", "parser", "phases")),
]
IMPURE_MODULES = {
    "asyncio",
    "datetime",
    "logging",
    "os",
    "pathlib",
    "random",
    "redis",
    "secrets",
    "socket",
    "threading",
    "time",
    "tornado",
    "uuid",
}


def sources(*places: str) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def imported(path: Path) -> Iterator[str]:
    """The names of all modules that a file imports, or imports from."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file once for all tests."""
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[str]:
    """The top-level names of everything a file imports."""
    yield from (module.partition(".")[0] for module in imported(path))


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_the_rooms_it_may(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    paths = sources(room)
    assert paths
    for path in paths:
        assert set(imports(path)) & OURS <= allowed, path


# Room of replication/ -> its other rooms that it may import. Only node.py and the composition root know all.
REPLICATION: dict[str, set[str]] = {
    "facts": set(),
    "transport": set(),
    "members": {"facts", "transport"},
    "streams": {"facts", "transport", "members"},
    "copies": {"facts", "transport", "members"},
}


@pytest.mark.parametrize("room", sorted(REPLICATION))
def test_a_room_of_replication_imports_only_the_rooms_it_may(room: str) -> None:
    allowed = REPLICATION[room] | {room}
    for path in sources(f"replication/{room}"):
        for module in imported(path):
            if module.startswith("replication"):
                assert module.split(".")[1] in allowed, f"{path} imports {module}"


def test_every_room_of_replication_is_in_the_plan() -> None:
    rooms = {path.parent.name for path in (ROOT / "replication").glob("*/__init__.py")}
    assert rooms == REPLICATION.keys()
    assert {path.name for path in (ROOT / "replication").glob("*.py")} == {"__init__.py", "node.py"}


def test_the_vote_table_imports_nothing_of_ours() -> None:
    assert not set(imports(ROOT / "votes/table.py")) & OURS


EVERYWHERE = sources(*MAY_IMPORT, "gateway", "server.py")


def test_every_room_is_in_the_plan() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench", "release"}
    assert rooms == MAY_IMPORT.keys() | {"gateway"}
    assert [path.name for path in ROOT.glob("*.py")] == ["server.py"]


@pytest.mark.parametrize("path", sources(*PURE), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_is_pure(path: Path) -> None:
    if path != ROOT / "core/clock.py":
        assert not set(imports(path)) & IMPURE_MODULES


def test_only_the_clock_reads_a_clock() -> None:
    for path in EVERYWHERE:
        if path != ROOT / "core/clock.py":
            assert "time" not in set(imports(path)), path


def test_commit_suspends_nowhere() -> None:
    tree = parsed(ROOT / "core/ledger.py")
    commit = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "commit"]
    assert len(commit) == 1, "commit is def, not async def"


def test_only_the_ledger_and_recovery_apply_events() -> None:
    callers = {
        str(path.relative_to(ROOT))
        for path in EVERYWHERE
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply"
    }
    assert callers == {"core/ledger.py", "snapshot/recovery.py"}


READERS = ROOT / "gateway/readers.py"


def test_the_log_is_subscribed_to_in_one_list() -> None:
    callers = {
        str(path.relative_to(ROOT))
        for path in EVERYWHERE
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"subscribe", "on_durable"}
    }
    assert callers == {"gateway/readers.py"}


def test_every_reader_of_the_log_is_in_the_list() -> None:
    readers = {
        node.name
        for path in EVERYWHERE
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(each, ast.FunctionDef) and each.name == "on_record" for each in node.body)
    }
    told_by_others = {"Origins", "Outbox", "Search"}  # by the notifier, and by Searches
    listed = {
        alias.name
        for node in ast.walk(parsed(READERS))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told_by_others < readers
    assert readers - told_by_others <= listed


# Names that two rooms may share.
SHARED_MODULES = {
    "rules": "what may be done to a vote, and to a listing",
    "queries": "what is asked of votes, of listings, and of users",
}
SHARED_CLASSES = {
    "Journal": "what the ledger needs of the journal, which it may not import",
    "Policy": "what a bucket needs of a policy, because the limiter imports nothing",
    "Search": "what replication needs of a search for a user",
    "Searches": "what replication needs of the searches",
    "Limits": "the limits of a listing, and those of the wire",
}


def modules() -> Iterator[tuple[str, str]]:
    """(name, path) of every module but the rooms' own."""
    for path in EVERYWHERE:
        if path.name != "__init__.py":
            yield path.stem, str(path.relative_to(ROOT))


def public_classes() -> Iterator[tuple[str, str]]:
    """(name, path) of every class that other modules may import."""
    for path in EVERYWHERE:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, str(path.relative_to(ROOT))


def in_several_places(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    places = defaultdict[str, list[str]](list)
    for name, path in named:
        places[name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_no_two_modules_share_a_name_for_different_things() -> None:
    clashes = in_several_places(modules())
    assert {name: paths for name, paths in clashes.items() if name not in SHARED_MODULES} == {}


def test_no_two_public_classes_share_a_name_for_different_things() -> None:
    clashes = in_several_places(public_classes())
    assert {name: paths for name, paths in clashes.items() if name not in SHARED_CLASSES} == {}


def test_every_module_says_what_it_is_for() -> None:
    for path in EVERYWHERE:
        if path.name != "__init__.py":
            assert ast.get_docstring(parsed(path)), path


ROOMS = sorted(
    str(path.parent.relative_to(ROOT))
    for room in OURS - {"server"}
    for path in (ROOT / room).rglob("__init__.py")
)
BESIDE_THE_ROOMS = {"deploy", "docs", "pages", "published", "release", "support", "system"}
"""Folders of tests that belong to no room."""

TESTED_ELSEWHERE = {
    "The module holds names and values, and decides nothing.": [
        *("core/refusals", "core/request_id", "core/rows", "core/vote_port"),
        *("outbound/result", "replication/facts/kinds"),
        "replication/members/status",
    ],
    "tests/system/contract asks it over sockets.": [
        *("handlers/debug_disk", "handlers/debug_errors", "handlers/debug_find", "handlers/debug_journal"),
        *("handlers/debug_limiter", "handlers/debug_listing", "handlers/debug_overview"),
        *("handlers/debug_process", "handlers/debug_routes"),
        *("handlers/debug_user", "handlers/debug_webhooks", "handlers/slices"),
        *("handlers/debug", "handlers/manage", "handlers/manage_keys", "handlers/manage_listings"),
        *("handlers/manage_owners", "handlers/manage_review", "handlers/manage_users"),
        *("handlers/manage_votes", "handlers/owner_routes"),
        "handlers/manage_strikes",
        *("handlers/manage_webhooks", "handlers/public"),
        *("handlers/request", "handlers/review_routes", "handlers/user_routes", "handlers/user_views"),
        *("handlers/history_views", "handlers/key_views", "handlers/vote_views", "handlers/webhook_views"),
        *("handlers/route", "handlers/routes", "handlers/scrape", "handlers/service"),
        *("metrics/exposition", "metrics/families", "metrics/scraping"),
        *("serving/direct", "serving/rendering", "serving/request_ids"),
    ],
    "Every gateway of tests/system is built by it.": [
        *(
            "gateway/debug_site",
            "gateway/delivery",
            "gateway/endpoints",
            "gateway/fleet_node",
            "gateway/people_site",
            "gateway/messaging",
            "gateway/sites",
            "gateway/front",
        ),
        *("gateway/membership", "gateway/metering", "gateway/reloading", "gateway/serve", "gateway/store"),
    ],
    "tests/system/fleet runs nodes that are built of it.": [
        *("replication/copies/donor", "replication/copies/fetcher", "replication/copies/forgetting"),
        "replication/copies/pieces",
        *("replication/facts/applying", "replication/facts/hybrid_clock", "replication/facts/keyed_digests"),
        *("replication/members/distance", "replication/members/isolation", "replication/members/silence"),
        *("replication/members/succession", "replication/node", "gateway/cut_off"),
        "replication/streams/gaps",
        *("replication/transport/envelopes", "replication/transport/link"),
    ],
    "tests/replication/streams/test_queue.py and test_provisional.py run it.": [
        *("replication/streams/entries", "replication/streams/identity"),
        *("replication/streams/journal_records", "replication/streams/outgoing"),
        *("replication/streams/own_stream",),
    ],
    "tests/replication/streams/test_follower.py reads by it.": ["replication/streams/positions"],
    "tests/openapi judges the document that it is a part of.": [
        *("openapi/answer_headers", "openapi/cast", "openapi/debug_examples", "openapi/review_examples"),
        "openapi/schemas",
    ],
    "tests/web judges whole pages, over sockets.": [
        *("web/audiences", "web/json_answers", "web/page_policy", "web/pages"),
        *("web/debug/operator_audience", "web/debug/page_table"),
        *("web/people/people_pages", "web/people/review_desk", "web/people/review_table"),
        *("web/people/public_table", "web/people/public_views", "web/people/visitors"),
    ],
    "tests/wire judges a connection as a whole: see ASPECTS.": [
        *("wire/channel", "wire/connection", "wire/head", "wire/http_server"),
    ],
    "tests/cli and tests/snapshot test the commands and files that need it.": [
        *("cli/demo", "cli/fold_disk", "cli/place", "cli/settings_port"),
        *("cli/bars", "cli/bot_commands", "cli/listing_commands", "cli/passphrases", "cli/vote_commands"),
        *("cli/review_commands", "cli/user_commands", "cli/words"),
        *("snapshot/export_format", "snapshot/inspection", "snapshot/state_copy", "snapshot/verification"),
    ],
    "tests/listings/test_forms.py and test_patterns.py test every field in its forms.": ["listings/fields"],
}
"""Modules without a test module of their own, by the reason."""

ASPECTS = {
    "chatplatform/stand_in",
    "web/catalogs",
    *("web/people/every_page", "web/people/every_text", "web/people/typed_texts"),
    "web/people/moderators_unnamed",
    *("wire/closing", "wire/differential", "wire/fairness", "wire/full_house", "wire/fuzz"),
    "wire/last_answers",
    *("wire/smuggling", "wire/streams", "wire/targets", "wire/timeouts"),
    "openapi/schemathesis",
}
"""Test modules that are about a whole room."""


def modules_of(room: str) -> set[str]:
    return {path.stem for path in (ROOT / room).glob("*.py")} - {"__init__"}


def subjects_of_tests(room: str) -> set[str]:
    """The names of a room's test modules, without `test_`."""
    return {path.stem.removeprefix("test_") for path in (ROOT / "tests" / room).glob("test_*.py")}


def is_about(subject: str, module: str) -> bool:
    """Whether a test module is named after the module, or after the module and an aspect of it."""
    return subject == module or subject.startswith(f"{module}_")


def in_room(names: Iterable[str], room: str) -> set[str]:
    return {name for name in names if name.rpartition("/")[0] == room}


@pytest.mark.parametrize("room", ROOMS)
def test_the_tests_of_a_module_stand_at_the_same_place(room: str) -> None:
    subjects = subjects_of_tests(room)
    without = {
        f"{room}/{module}"
        for module in modules_of(room)
        if not any(is_about(subject, module) for subject in subjects)
    }
    assert without == in_room(itertools.chain(*TESTED_ELSEWHERE.values()), room)


@pytest.mark.parametrize("room", ROOMS)
def test_a_test_module_is_named_after_a_module(room: str) -> None:
    modules = modules_of(room)
    of_none = {
        f"{room}/{subject}"
        for subject in subjects_of_tests(room)
        if not any(is_about(subject, module) for module in modules)
    }
    assert of_none == in_room(ASPECTS, room)


def test_the_tests_have_no_rooms_of_their_own() -> None:
    tests = ROOT / "tests"
    folders = {str(path.parent.relative_to(tests)) for path in tests.rglob("*/__init__.py")}
    beside = {folder for folder in folders if folder.partition("/")[0] in BESIDE_THE_ROOMS}
    assert folders - beside <= set(ROOMS)
    listed = {name.rpartition("/")[0] for name in [*ASPECTS, *itertools.chain(*TESTED_ELSEWHERE.values())]}
    assert listed <= set(ROOMS)


def test_what_tests_share_is_in_their_support() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for imported_from in re.findall(r"^\s*from (tests\.\S+) import", path.read_text(), re.MULTILINE):
            module = imported_from.rpartition(".")[2]
            assert not module.startswith("test_"), path
            assert module != "conftest", path
