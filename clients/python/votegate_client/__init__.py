"""A client for bots that a Votegate platform lists: push counts, check votes, and receive votes.

Start with `Client`. `AutoPoster` pushes the counts of a bot of discord.py and its forks.
`Receiver` receives votes; `adapters` has it for web frameworks. `testing` has parts for tests.
"""

from votegate_client.autopost import AutoPoster
from votegate_client.client import Client, VoteStatus
from votegate_client.clock import Clock
from votegate_client.errors import (
    BotNotFound,
    CountUnknown,
    InvalidKey,
    InvalidRequest,
    RateLimited,
    TooFarOff,
    Unavailable,
    VotegateError,
)
from votegate_client.events import Event, Test, Vote
from votegate_client.receiver import Answer, Receiver
from votegate_client.stores import MemoryStore, SQLiteStore, Store

__all__ = [
    "Answer",
    "AutoPoster",
    "BotNotFound",
    "Client",
    "Clock",
    "CountUnknown",
    "Event",
    "InvalidKey",
    "InvalidRequest",
    "MemoryStore",
    "RateLimited",
    "Receiver",
    "SQLiteStore",
    "Store",
    "Test",
    "TooFarOff",
    "Unavailable",
    "Vote",
    "VoteStatus",
    "VotegateError",
]
