"""What pages work with, in groups. Invariant: a page finds everything here, and keeps nothing itself.

A group is for one subject. A subject that moves to `pages/` brings its group.
"""

from collections.abc import Callable
from dataclasses import dataclass

from actions.tools import Tools
from handlers.request import Request
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import VoteGuards
from pages.voting.voted_refs import VotedRefs
from web.people.listing_access import ListingAccess
from web.people.listing_icons import ListingIcons
from web.people.visitors import Person


@dataclass(frozen=True)
class Addresses:
    """Where things are: this gateway, the sign-in of the chat platform, and its pictures."""

    public_url: str
    authorize_url: str
    cdn_url: str


@dataclass(frozen=True)
class Voting:
    """The guards of the vote button, and what people have voted for.

    Args:
        asks_proof: true to ask for a proof of work before a suspicious vote; it is flagged in any case.
        content_policy: the policy of a page with a challenge.
    """

    guards: VoteGuards
    voted: VotedRefs
    challenges: VoteChallenges
    asks_proof: bool
    content_policy: str


@dataclass(frozen=True)
class SiteTools:
    """The tools of pages: one object of a gateway.

    Args:
        actions: the tools of actions.
        known: returns who sends a request, if the session is still valid.
        listings: looks up listings by the right that a person needs.
    """

    actions: Tools
    known: Callable[[Request], Person | None]
    listings: ListingAccess
    addresses: Addresses
    icons: ListingIcons
    voting: Voting
