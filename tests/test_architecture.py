"""The import directions of the rooms, as DESIGN has them, and the few rules that hold everywhere."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.rooms import MAY_IMPORT, OURS, may_import

ROOT = Path(__file__).parent.parent


# Pure: no I/O, no clock, no randomness, no event loop.
PURE = [
    *("actions", "core", "forms", "grammars", "kinds", "votes", "listings", "people", "ratelimit"),
    "chatplatform/answers.py",
    "direct_messages/message_text.py",
    "languages/language_names.py",
    "mail/due_mails.py",
    "mail/mail_text.py",
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
    *(f"replication/{name}.py" for name in ("facts", "capture", "merge")),
    *(f"search/{name}.py" for name in ("catalogue", "finding", "list_orders", "order_chunks", "paging")),
    "snapshot/state_copy.py",
    *(f"wire/{name}.py" for name in ("parser", "phases")),
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
    """The modules that a file imports, or imports from, and the full names of what it imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file once for all tests."""
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[str]:
    """The top-level names of everything a file imports."""
    yield from (module.partition(".")[0] for module in imported(path))


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_the_rooms_it_may(room: str) -> None:
    allowed = may_import(room) | {room}
    paths = sources(room)
    assert paths
    for path in paths:
        assert set(imports(path)) & OURS <= allowed, path


# Files of replication/: each imports only files of its own line and of lines above it.
REPLICATION = [
    {"facts", "capture", "merge", "applying"},
    {"redis_link"},
    {"members", "claims", "succession", "epochs"},
    {"publisher", "usage", "follower"},
    {"copies", "blob_exchange"},
    {"warnings", "readiness"},
    {"node"},
]


@pytest.mark.parametrize("line", range(len(REPLICATION)))
def test_a_file_of_replication_imports_only_files_of_its_line_and_above(line: int) -> None:
    allowed = set[str]().union(*REPLICATION[: line + 1])
    for path in sources(*(f"replication/{name}.py" for name in REPLICATION[line])):
        for module in imported(path):
            if module.startswith("replication."):
                assert module.split(".")[1] in allowed, f"{path} imports {module}"


def test_copies_do_not_know_streams() -> None:
    streams = {f"replication.{name}" for name in REPLICATION[3]}
    assert not streams & set(imported(ROOT / "replication/copies.py"))


def test_every_file_of_replication_is_in_the_plan() -> None:
    files = {path.stem for path in (ROOT / "replication").rglob("*.py")} - {"__init__"}
    assert files == set().union(*REPLICATION)


def test_the_vote_table_imports_nothing_of_ours() -> None:
    assert not set(imports(ROOT / "core/vote_table.py")) & OURS


EVERYWHERE = sources(*MAY_IMPORT, "gateway", "server.py")


def test_every_room_is_in_the_plan() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench", "demo", "release"}
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
    assert told_by_others < readers
    assert readers - told_by_others <= parts_of_a_gateway(named_in(READERS))


def named_in(path: Path) -> set[str]:
    return {node.attr for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute)}


def parts_of_a_gateway(attributes: set[str]) -> set[str]:
    """Return the types that these attributes of `Parts` have, and of the parts of those, and so on."""
    fields = {
        node.name: {
            (ast.unparse(each.target) if isinstance(each, ast.AnnAssign) else each.name): ast.unparse(hint)
            for each in node.body
            if isinstance(each, ast.AnnAssign | ast.FunctionDef)
            and (hint := each.annotation if isinstance(each, ast.AnnAssign) else each.returns) is not None
        }
        for path in EVERYWHERE
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef)
    }
    found, new = set[str](), {"Parts"}
    while new:
        found |= new
        hints = [
            hint
            for name in new
            for attribute, hint in fields.get(name, {}).items()
            if attribute in attributes
        ]
        new = {name for hint in hints for name in re.findall(r"\w+", hint)} - found
    return found


# Names that two rooms may share.
SHARED_MODULES = {
    "reading": "how forms are read, and how answers of the chat platform are",
    "registry": "the kinds of listings, and the nodes of a fleet",
    "rules": "what may be done to a vote, and to a listing; what a field may hold",
    "queries": "what is asked of votes, of listings, and of users",
}
SHARED_CLASSES = {
    "Access": "what an action takes, and a listing that a page was opened with",
    "Page": "a row of the table of pages, and a page that is drawn",
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


LONGEST_FUNCTION = 60
"""Lines of a function, its signature and docstring included."""


def test_no_function_is_longer_than_a_reader_can_hold() -> None:
    longer = [
        f"{path.relative_to(ROOT)}:{node.name}"
        for path in EVERYWHERE
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert not longer


def test_no_files_import_each_other() -> None:
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in EVERYWHERE}
    files = set(names.values())
    graph = {
        name: {
            found
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.ImportFrom)
            for found in (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
            if found in files
        }
        for path, name in names.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, and names the circle


def test_no_two_modules_share_a_name_for_different_things() -> None:
    of_subjects = {"actions", "pages"}  # a module there is named after its subject, as that of the rules is
    named = [(name, path) for name, path in modules() if path.partition("/")[0] not in of_subjects]
    clashes = in_several_places(named)
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
BESIDE_THE_ROOMS = {
    *("browser", "clients", "demo", "deploy", "docs", "generated_clients", "published"),
    *("release", "support", "surface", "system"),
}
"""Folders of tests that belong to no room."""


def test_the_tests_of_a_room_are_in_one_folder_of_its_name() -> None:
    tests = ROOT / "tests"
    folders = {str(path.parent.relative_to(tests)) for path in tests.rglob("*/__init__.py")}
    of_rooms = {folder for folder in folders if folder.partition("/")[0] not in BESIDE_THE_ROOMS}
    assert of_rooms <= set(ROOMS)
    for room in OURS - {"server"}:
        assert list((tests / room).rglob("test_*.py")), f"no test of {room}"


def test_what_tests_share_is_in_their_support() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for imported_from in re.findall(r"^\s*from (tests\.\S+) import", path.read_text(), re.MULTILINE):
            module = imported_from.rpartition(".")[2]
            assert not module.startswith("test_"), path
            assert module != "conftest", path
