"""A guarded HTTP/1.1 client: for URLs that strangers choose, and for services that the operator chooses.

In: a URL, headers and a body. Out: an `HttpResult` with the status, headers and the beginning of the body, or
with the class of the failure and the party at fault.

Invariants. Every address passes the guard before the client, or a proxy for it, connects to it. An exchange
ends within its time. Nothing that a peer does can hold the event loop. This room does not know the
meaning of the requests.

Reading order: `client` (one exchange from start to end, and idle connections), `result` (its outcomes),
`targets` and `local_addresses` (the guard), `resolver`, `dial` and `proxies` (connecting), `tls_stream` and
`tls_records` (TLS), `http1` (HTTP over a connection), `slots` (how many attempts are under way).
"""
