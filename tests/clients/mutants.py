"""Mistakes that authors of clients make, put into a copy of the Python client on purpose."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.clients.stories import CLIENTS

NAME = "votegate_client"


class Mutant(NamedTuple):
    """A change of one place in one module, and a story that it breaks."""

    module: str
    old: str
    new: str
    story: str


MUTANTS = {
    "no wait": Mutant(
        "calls.py",
        "self._clock.sleep(wait + random.random())",
        "self._clock.sleep(0)",
        "429 with retry-after alone",
    ),
    "no jitter": Mutant(
        "calls.py",
        "self._clock.sleep(wait + random.random())",
        "self._clock.sleep(wait)",
        "jitter spreads the retries of bots that failed at the same time",
    ),
    "the wait from the body": Mutant(
        "replies.py",
        'self.headers.get("retry-after", "")',
        'str((self.value or {}).get("retry_after", ""))',
        "429 with retry-after: the client waits so long, whatever the body says",
    ),
    "no bound of waits": Mutant(
        "calls.py", "if waited > self._longest_wait:", "if False:", "429 for two hours is an error at once"
    ),
    "the limit only once it is hit": Mutant(
        "calls.py", "if limit:", "if False:", "nothing left: the next call waits for the reset"
    ),
    "broken connections are not tried again": Mutant(
        "calls.py",
        "except (aiohttp.ClientError, OSError)",
        "except ZeroDivisionError",
        "an answer that is not HTTP",
    ),
    "no minimum wait of the poster": Mutant(
        "autopost.py",
        "max(error.wait, LEAST_WAIT)",
        "max(error.wait, 1)",
        "after a page with a wait of 0, the next push comes a minute later",
    ),
    "redirects are followed": Mutant(
        "calls.py", "allow_redirects=False", "allow_redirects=True", "307: a redirect is not followed"
    ),
    "bodies of any length": Mutant("calls.py", "if len(body) > MOST_BYTES:", "if False:", "200 with 10 MB"),
    "a scheme before the key": Mutant(
        "calls.py", '"Authorization": key', '"Authorization": "Bearer " + key', "a vote status"
    ),
    "the key in an error": Mutant(
        "calls.py",
        'f"No answer: {problem}".replace(self._headers["Authorization"], "[key]")',
        'f"No answer: {problem} {self._headers}"',
        "connections that break until the call fails",
    ),
    "ids as numbers": Mutant(
        "client.py", "/voters/{user}", "/voters/{int(float(user))}", "a user id of 20 digits is not rounded"
    ),
    "each push is sent": Mutant(
        "pushes.py",
        "if self._carried < number:",
        "if True:",
        "while a push is under way, only the newest counts wait",
    ),
    "`==` on signatures": Mutant(
        "signatures.py",
        'hmac.compare_digest(expected.encode("utf-8", "replace"), sent.encode("utf-8", "replace"))',
        "expected == sent",
        "a vote for a bot",
    ),
    "only the first signature": Mutant(
        "signatures.py",
        're.split(",? ", signatures)',
        're.split(",? ", signatures)[:1]',
        "a wrong and a right signature are accepted",
    ),
    "the signature of a body that was written again": Mutant(
        "signatures.py",
        '.encode("utf-8", "replace") + body',
        ".encode() + body.replace(b' ', b'').replace(b'\\n', b'')",
        "a body with spaces is checked as it came",
    ),
    "no check of the timestamp": Mutant(
        "signatures.py",
        "abs(now - int(timestamp)) <= TOLERANCE_SECONDS",
        "True",
        "the receiver's clock is 301 seconds behind",
    ),
    "each repeat is rewarded": Mutant(
        "receiver.py", "if is_new:", "if True:", "a repeated event is accepted and rewarded once"
    ),
    "a test is a vote": Mutant(
        "events.py", "return Test(event_id, user)", "return Vote(event_id, user)", "a test"
    ),
    "only the types of today": Mutant(
        "events.py",
        'if isinstance(raw.get("type"), str):',
        'if raw.get("type") in {"review.approved", "review.denied", "vote.struck", "rating.posted"}:',
        "an event of an unknown type",
    ),
}


@contextmanager
def mutated(mutant: Mutant, folder: Path) -> Iterator[ModuleType]:
    """Import a copy of the client with the change. The client itself is back afterwards."""
    shutil.copytree(CLIENTS / "python" / NAME, folder / NAME)
    path = folder / NAME / mutant.module
    source = path.read_text()
    assert source.count(mutant.old) == 1, f"{mutant.module} has changed: it has not one {mutant.old}"
    path.write_text(source.replace(mutant.old, mutant.new))
    genuine = _taken_out()
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(NAME)
    finally:
        sys.path.remove(str(folder))
        _taken_out()
        sys.modules.update(genuine)


def _taken_out() -> dict[str, ModuleType]:
    """Remove the client from the modules that are imported, and return them."""
    names = [name for name in sys.modules if name.partition(".")[0] == NAME]
    return {name: sys.modules.pop(name) for name in names}
