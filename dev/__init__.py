"""The gateway for development: `votegate dev`.

Requests, answers and deliveries come in, and so do keys. Lines for people and JSON for scripts go out.
Invariant: nothing here runs in a gateway that `serve` starts, and no line holds a key or a secret.

`gateway/development.py` puts it together with a gateway: `Watching` sees every answer and every record, and
`DevCommands` obeys the keys.
"""
