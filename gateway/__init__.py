"""The composition root. Settings come in, a running gateway goes out; after its stop everything is on disk.

`serve.py` tells the story: recover, build, connect, serve, drain. `store.py` opens the data folder,
`front.py` the sockets, `delivery.py` the way out for webhooks, `membership.py` and `fleet_node.py` the fleet,
`endpoints.py` the API. `readers.py` is the one list of everything that reads the log. `described.py` takes
the numbers that the API's description says, and `start_lines.py` says at the start what runs here.
`start_check.py` is `check-config`: it tries a start; `certificates.py` is the part of it that reads
certificates.

No part decides anything: each takes the sections of the settings that it needs, and hands plain values to the
rest of the program. Every background coroutine belongs to the one task group of `serve`.
"""
