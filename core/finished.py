"""The result of a function that may be async or not."""

import inspect
from collections.abc import Awaitable
from typing import TypeVar, cast

T = TypeVar("T")


async def finished(result: T | Awaitable[T]) -> T:
    """Return a result, or wait for it if it is awaitable."""
    return cast(T, await result if inspect.isawaitable(result) else result)
