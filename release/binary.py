"""`make binary`: one executable that runs without Python.

Invariant: it contains the wheel and nothing else of ours.

Run it with the Python of an environment that has requirements-build.txt and nothing else.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD, DIST = ROOT / "build", ROOT / "dist"
WHEEL = BUILD / "wheel"


def main() -> None:
    if shutil.which("strip") is None:
        sys.exit(
            "the binary cannot be built: there is no `strip`; install binutils (as root: make build-packages)"
        )
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    # An order that changes with each process would give another binary each time. Modules are not compressed:
    # each start imports a thousand.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "0"}
    pip = "-m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir"
    _run(*pip.split(), str(BUILD), str(ROOT), environment=environment)
    (wheel,) = BUILD.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(WHEEL)
    # Beside the wheel, not in this folder: PyInstaller would look for its imports in the source tree first.
    shutil.copy(ROOT / "release" / "entry.py", BUILD)
    folders = ("--workpath", str(BUILD / "pyinstaller"), "--distpath", str(DIST))
    spec = str(ROOT / "release" / "votegate.spec")
    installer = "-m PyInstaller --noconfirm --clean --log-level WARN"
    _run(*installer.split(), *folders, spec, environment=environment)
    binary = DIST / "votegate"
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    print(f"{binary.relative_to(ROOT)}: {binary.stat().st_size / 1e6:.1f} MB, sha256 {digest}")


def _run(*arguments: str, environment: dict[str, str]) -> None:
    # Not in ROOT: Python would find the rooms of the source tree there, before those of the wheel.
    subprocess.run([sys.executable, *arguments], check=True, env=environment, cwd=BUILD)


if __name__ == "__main__":
    main()
