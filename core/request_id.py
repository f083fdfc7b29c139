"""The id of the request that causes what happens now. Law: only log lines tell it; no rule reads it.

It is a context variable: a task that a request starts inherits it, and so does a thread that
`asyncio.to_thread` starts. A webhook's attempt gets it from the request that queued the delivery
(webhook/origins.py).
"""

from contextvars import ContextVar

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""Empty where no request is the cause: timers, readers of other nodes, the start."""
