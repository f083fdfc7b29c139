"""Watchers: what is wrong now, readers of the log, and lines of the log about refusals.

In: committed records, log lines, refusals. Out: concerns for the operator, the waking of requests, and lines
of the log. Invariants: a secret is hidden before a line is kept or written, and every buffer has a limit.
"""
