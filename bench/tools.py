"""The programs beside Python that `make bench` runs. Law: a missing one is named before anything else starts.

Runs on the standard library alone, before anything is installed: `python3 -m bench.tools`.
`--packages` prints what to install.
"""

import shutil
import sys

PACKAGES = {"wrk": "wrk", "node": "nodejs", "npm": "npm"}
"""Debian's, of each program. A Node that came otherwise brings its own npm, and conflicts with Debian's."""


def missing() -> list[str]:
    return [program for program in PACKAGES if shutil.which(program) is None]


def packages() -> str:
    """What to install for the programs that are missing."""
    return " ".join(PACKAGES[program] for program in missing())


def require_programs() -> None:
    """Ends the process with status 2 when one is missing."""
    if missing():
        print(
            f"make bench needs {', '.join(missing())}: make bench-packages, or as root "
            f"apt-get install {packages()}",
            file=sys.stderr,
        )
        raise SystemExit(2)


if __name__ == "__main__":
    if sys.argv[1:] == ["--packages"]:
        print(packages())
    else:
        require_programs()
