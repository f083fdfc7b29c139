"""The programs beside Python that `make bench` runs. A missing one is named before anything else starts.

Runs on the standard library alone, before anything is installed: `python3 -m bench.tools`.
`--packages` prints what to install.
"""

import shutil
import sys

PACKAGES = {"wrk": "wrk", "node": "nodejs", "npm": "npm"}
"""Debian's package of each program. A Node from elsewhere brings its own npm and conflicts with Debian's."""


def missing() -> list[str]:
    return [program for program in PACKAGES if shutil.which(program) is None]


def packages() -> str:
    """Return the packages to install for the missing programs."""
    return " ".join(PACKAGES[program] for program in missing())


def require_programs() -> None:
    """End the process with status 2 if a program is missing."""
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
