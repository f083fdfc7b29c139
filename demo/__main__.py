"""Write a demo into a folder of its own and serve it, until Ctrl-C: `make demo`.

    python -m demo [--seed N] [--folder FOLDER] [--config FILE] [--port PORT] [OPTION]...

Other options are those of `server.py serve`. Without `--config`, the platform has the name and the colour of
examples/brands/bot-harbour.yaml. Without `--folder`, the folder is temporary. A folder that has a demo is
served as it is, so that a demo can go on. The folder `data` of this tree is never touched.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from core.clock import SystemClock
from demo.folder import write_folder
from demo.known import known
from settings.model import load_settings

ROOT = Path(__file__).parent.parent
SEED = 1
CONFIG = Path("examples/brands/bot-harbour.yaml")
PORTS_BETWEEN = 10
"""The distance from the gateway's port to that of the stand-in, as in examples/with_chat_platform.py."""


def write(folder: Path, seed: int, config: Path, platform_port: int) -> None:
    """Write the data and the file for the stand-in."""
    receiver_url = f"http://127.0.0.1:{platform_port}/stand-in/receiver"
    settings = load_settings(config, {}, {})
    story = write_folder(folder / "data", seed, settings, SystemClock(), receiver_url)
    (folder / "known.json").write_text(json.dumps(known(story.listings)))


def serve(folder: Path, port: int, platform_port: int, options: Sequence[str]) -> int:
    """Serve the folder until a signal ends the programs, and return their status."""
    ports = ("--port", str(port), "--platform-port", str(platform_port))
    files = ("--known", str(folder / "known.json"), "--data-dir", str(folder / "data"))
    command = [sys.executable, "examples/with_chat_platform.py", *ports, *files, *options]
    process = subprocess.Popen(command, cwd=ROOT)  # noqa: S603 (its words are ours and those of the caller)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda told, _: process.send_signal(told))
    return process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A platform that looks alive.", allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=SEED, help="another one makes other numbers")
    parser.add_argument("--folder", type=Path, help="where the demo is kept; temporary if it is left out")
    own_port = os.environ.get("VOTEGATE_SERVER__PORT", "8080")
    parser.add_argument(
        "--config", type=Path, default=CONFIG, help="the settings, with the face of the platform"
    )
    parser.add_argument("--port", type=int, default=own_port, help="of the gateway")
    parser.add_argument("--platform-port", type=int, help="of the stand-in for the chat platform")
    given, options = parser.parse_known_args()
    platform_port = given.platform_port or given.port + PORTS_BETWEEN
    kept = nullcontext(given.folder) if given.folder is not None else tempfile.TemporaryDirectory()
    with kept as name:
        folder = Path(name)
        if not (folder / "data").exists():
            began = time.monotonic()
            folder.mkdir(parents=True, exist_ok=True)
            write(folder, given.seed, given.config, platform_port)
            sys.stdout.write(f"The demo was made in {time.monotonic() - began:.1f} s.\n")
            sys.stdout.flush()
        options += ["--config", str(given.config), "--allow-private-targets"]
        status = serve(folder, given.port, platform_port, options)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
