"""A client for bots that a Votegate platform lists: push counts, check votes, and receive votes.

Start with `Client`. `AutoPoster` pushes the counts of a bot of discord.py and its forks.
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

__all__ = [
    "AutoPoster",
    "BotNotFound",
    "Client",
    "Clock",
    "CountUnknown",
    "InvalidKey",
    "InvalidRequest",
    "RateLimited",
    "TooFarOff",
    "Unavailable",
    "VoteStatus",
    "VotegateError",
]
