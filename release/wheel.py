"""The wheel. Invariant: it contains one package, `votegate`, with all rooms of the source tree inside.

`core`, `cli` and `wire` are names that a library must not take at the top level of somebody's site-packages.
Each folder of the tree with an `__init__.py` is a room. All its files are packed, data too.
"""

import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGE = "votegate"
NO_ROOMS = {"tests", "bench", "demo", "release"}
PAGES = ("docs/bots.md", "docs/coming-from.md", "docs/dev.md")
"""Texts outside of the rooms that the gateway serves."""
NAMED = re.compile(r"^([\w.-]+)", re.MULTILINE)
PIN = re.compile(r"^([\w.-]+)==([\d.]+)", re.MULTILINE)


class Rooms(BuildHookInterface[Any]):
    """Puts the rooms, the launcher and the facts of the build into the wheel."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._folder = TemporaryDirectory()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        launcher = {
            str(path): f"{PACKAGE}/{path.name}" for path in (root / "release" / "launcher").glob("*.py")
        }
        if version == "editable":  # the source tree itself is on the path: see dev-mode-dirs
            build_data["force_include_editable"] |= launcher
            return
        rooms = [path.parent for path in root.glob("*/__init__.py") if path.parent.name not in NO_ROOMS]
        built = Path(self._folder.name) / "built.py"
        built.write_text(_facts(root))
        build_data["force_include"] |= {
            **{str(path): f"{PACKAGE}/{path.name}" for path in (*rooms, root / "server.py")},
            **{str(root / text): f"{PACKAGE}/{text}" for text in PAGES},
            **launcher,
            str(built): f"{PACKAGE}/core/built.py",
        }

    def finalize(self, *_: object) -> None:
        self._folder.cleanup()


class Requirements(MetadataHookInterface):
    """Takes the dependencies of requirements.in. Their bounds follow from the versions that are tested."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        pinned = dict(PIN.findall((root / "requirements.txt").read_text()))
        named = NAMED.findall((root / "requirements.in").read_text())
        metadata["dependencies"] = [name + bounds(pinned[name.lower()]) for name in named]


def bounds(version: str) -> str:
    """Return the bounds of a dependency: from the version that is tested to the next that may break."""
    major, minor, *_ = map(int, version.split("."))
    return f">={version},<{major + 1 if major else f'0.{minor + 1}'}"


def _facts(root: Path) -> str:
    """Return the module that `core/version.py` reads. SOURCE_DATE_EPOCH stands for the time, if it is set."""
    sys.path.insert(0, str(root))
    from cli.source_commit import commit_of

    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    date = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'"""The build."""\n\nCOMMIT = "{commit_of(root)}"\nDATE = "{date}"\n'
