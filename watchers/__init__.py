"""Watchers: readers of the log that remember or log what happened, or wake requests, and lists of problems.

In: committed records, log lines, refusals. Out: buffers of recent activity for the operator's pages, and
lines of the log. Invariants: a secret is struck out before a line is kept or written, and every buffer has a
limit.
"""
