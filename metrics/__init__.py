"""The numbers of a running gateway, for Prometheus.

In: the parts of the gateway, each of which keeps its own numbers. Out: the body of `GET /metrics`, in the
text format of Prometheus or OpenMetrics.

Invariants. Nothing is counted a second time and nothing by walking: a scrape copies numbers that are there.
The event loop only copies them; a thread makes the text. Label values come from fixed sets, so the number of
series is bounded, whatever clients, endpoints and other nodes do.

Reading order: `families` (numbers with names), `collectors` (all of them, and a scrape), `exposition` (their
text).
"""
