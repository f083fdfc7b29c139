"""The request that is the cause of the running code: its id, and the address of its client. Invariant: only
log lines tell them; no rule reads them.

They are context variables: a task that a request starts inherits them, and so does a thread that
`asyncio.to_thread` starts. A webhook's attempt gets the id from the request that queued the delivery
(webhook/notifier.py).
"""

from contextvars import ContextVar

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""Empty where no request is the cause: timers, readers of other nodes, the start."""
ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Empty where `REQUEST_ID` is."""
