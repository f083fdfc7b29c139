"""A listing for first steps.

Invariant: the same rules make it as any other, and only in an empty data folder.
"""

import shlex

from core.actors import GATEWAY
from core.ledger import Ledger
from core.webhook_events import NewDeliveries
from forms.reading import read
from kinds.bots import BOTS
from listings import rules
from listings.keys import KeyDigester, NewKey, issue_key
from votes.rules import cast_vote

BOT = "123456789012345678"
OWNER = "223456789012345678"
VOTER = "323456789012345678"
SERVER_COUNT = 1_200


def make_demo(
    ledger: Ledger,
    digester: KeyDigester,
    *,
    key: str,
    key_id: str,
    now_ms: int,
    server_count: int = SERVER_COUNT,
) -> int:
    """Make an approved bot with an API key, a known server count and one vote. Return the last position."""
    state = ledger.state
    submission = read(
        BOTS.submission,
        {
            "id": BOT,
            "owner_id": OWNER,
            "name": "Demo bot",
            "short_description": "A bot to try Votegate with",
            "description": "This listing was made because the data folder was empty. "
            "Delete it when you like.",
            "categories": ["Utility"],
        },
    )
    ref = BOTS.ref(BOT)
    ledger.commit(rules.submit(state, ref, submission, now_ms, by=GATEWAY))
    ledger.commit(rules.decide(state, ref, rules.Verdict("approved"), now_ms, by=GATEWAY))
    ledger.commit(rules.set_actual_count(state, ref, server_count, now_ms, by=GATEWAY))
    ledger.commit(
        issue_key(
            state,
            ref,
            NewKey(key_id, "demo", digester.digest(key)),
            now_ms=now_ms,
            keys_per_listing=1,
            by=GATEWAY,
        )
    )
    return ledger.commit(cast_vote(state, ref, VOTER, NewDeliveries(str, 0), now_ms=now_ms, cooldown_ms=0))


def demo_lines(base_url: str, key: str) -> str:
    """Return the commands to try next."""
    curl, url = _curl_of(base_url)
    return f"""
Votegate has created a demo bot, {BOT}. User {VOTER} has just voted for it.

Has the user voted?
  {curl} -H 'Authorization: {key}' {url}/bots/{BOT}/voters/{VOTER}

Push the bot's counts:
  {curl} -X PATCH -H 'Authorization: {key}' -d '{{"server_count": {SERVER_COUNT}}}' {url}/bots/{BOT}/stats

The key is shown only this once. Stop with Ctrl-C; all data stay on disk.
"""


def _curl_of(base_url: str) -> tuple[str, str]:
    """Return (command, URL) with which curl reaches the gateway."""
    if not base_url.startswith("unix:"):
        return "curl", base_url
    path = base_url.removeprefix("unix:")
    option, name = ("--abstract-unix-socket", path[1:]) if path.startswith("@") else ("--unix-socket", path)
    return f"curl {option} {shlex.quote(name)}", "http://localhost"
