"""The way between the HTTP server and the endpoints.

In: requests from `wire/`, some of them directly and all others through Tornado. Out: the bytes of responses,
and lines of the access log.

Invariants. An endpoint's reply becomes the same bytes with Tornado and without it. No response waits for the
access log, and no log line holds a key or a query.

Reading order: `application` (all routes, through Tornado), `loop_share` (its share of the event loop),
`direct` (vote checks, without Tornado), `kept_pages` (answers in memory, and what drops them), `direct_pages`
(kept answers, without Tornado), `log_output` (the whole log), `access_log`, `observers` (parts whose
failure ends nothing else), `supervisor` (messages to systemd), `traffic` and `timeline` (counts, memory,
delays).
"""
