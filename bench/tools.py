"""The programs beside Python that `make bench` runs. Law: a missing one is named before anything else starts.

Runs on the standard library alone, before anything is installed: `python3 -m bench.tools`.
"""

import shutil
import sys

PROGRAMS = ("wrk", "node", "npm")


def require_programs() -> None:
    """Ends the process with status 2 when one is missing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        print(
            f"make bench needs {', '.join(missing)}: make bench-packages, or as root "
            "apt-get install wrk nodejs npm",
            file=sys.stderr,
        )
        raise SystemExit(2)


if __name__ == "__main__":
    require_programs()
