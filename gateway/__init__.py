"""The composition root. Settings come in, a running gateway goes out; after its stop everything is on disk.

`serve.py` joins what five builders return: `store.py` opens the data folder, `fleet.py` joins other nodes
(in `fleet_node.py`), `delivery.py` opens the ways out, `api.py` makes the endpoints, and `sites.py` the
pages. Each takes the `Runtime` and the parts before it. `parts.py` has all parts together. `front.py` has the
sockets. `observing.py` has everything that counts and shows; `readers.py` is the one list of everything that
reads the log.
`start_check.py` is `check-config`: it tries a start.

No part decides anything: each takes the settings that it needs, and hands plain values to the rest of the
program. Every background coroutine belongs to the one task group of `serve`.
"""
