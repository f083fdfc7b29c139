"""The process that a gateway runs in, as every builder is given it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from serving.observers import Observers
from settings.model import Settings


@dataclass(frozen=True)
class Runtime:
    settings: Settings
    clock: Clock
    stop: asyncio.Event
    """Is set when the gateway is to stop."""
    observers: Observers
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    """Starts a task of the gateway's one task group."""
