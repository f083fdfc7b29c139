"""The gateway for development: `votegate dev`.

In: requests, answers, deliveries and keys. Out: lines for people, and JSON for scripts.
Invariant: nothing here runs in a gateway that `serve` starts, and no line holds a key or a secret.

`gateway/development.py` connects it to a gateway: `Watching` sees every answer and every committed record,
and `DevCommands` obeys the keys.
"""
