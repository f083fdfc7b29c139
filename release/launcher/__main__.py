"""The command `votegate` of an installed wheel: `server.py`, with its folder first on the path."""

import sys
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from server import cli

    cli(prog_name="votegate")


if __name__ == "__main__":
    main()
