"""The users of the demo: the ones that a sign-in offers, and all others."""

import hashlib
import unicodedata
from random import Random
from typing import NamedTuple

FIRST_MAIN, FIRST_OTHER, FIRST_VOTER = (
    200_000_000_000_000_000,
    210_000_000_000_000_000,
    220_000_000_000_000_000,
)
STEP = 98_765_432_109_877
"""The distance between ids. Their colours and default pictures come from their upper bits."""


class Person(NamedTuple):
    id: str
    username: str
    name: str

    @property
    def avatar(self) -> str:
        """The hash of the person's picture."""
        return hashlib.blake2b(self.username.encode(), digest_size=16).hexdigest()


def _main(number: int, username: str, name: str) -> Person:
    return Person(str(FIRST_MAIN + number), username, name)


ADA, BEN, CLEO = (
    _main(1, "ada", "Ada Lindqvist"),
    _main(2, "ben", "Ben Okafor"),
    _main(3, "cleo", "Cleo Marchetti"),
)
DAN, EMIL = _main(4, "dan", "Dan Hartmann"), _main(5, "emil", "Emil Sørensen")
OFFERED = {
    EMIL: "Emil, a visitor who has never been here",
    BEN: "Ben, who votes",
    ADA: "Ada, who owns bots",
    DAN: "Dan, who owns servers",
    CLEO: "Cleo, who moderates",
}
"""The users that a sign-in offers. The stand-in offers the same ids without a demo."""
NAMES = (
    *("Mina Park", "Tomás Vidal", "Yuki Tanabe", "Freya Nilsen", "Omar Haddad", "Lena Vogt", "Ravi Menon"),
    *("Zoe Laurent", "Jonas Weber", "Aiko Mori", "Nadia Karim", "Piotr Zając", "Sofia Ricci", "Hugo Brandt"),
    *("Amara Diallo", "Ivan Petrov", "Katya Orlova", "Marco Bianchi", "Lucía Gómez", "Noah Fischer"),
    *("Ella Byrne", "Samir Aziz", "Greta Holm", "Theo Martin", "Alma Ruiz", "Oskar Lund", "Priya Nair"),
    *("Felix Braun", "Maya Cohen", "Kenji Sato", "Ines Costa", "Arjun Rao", "Clara Dubois", "Viktor Novák"),
    *("ليلى منصور", "Дмитрий Волков", "田中さくら", "Selin Kaya", "Mateo Silva", "Hana Suzuki"),
)


def _username(name: str, number: int) -> str:
    letters = (
        each for each in unicodedata.normalize("NFKD", name).lower() if each.isascii() and each.isalpha()
    )
    return "".join(letters) or f"user{number}"


OTHERS = tuple(
    Person(str(FIRST_OTHER + number * STEP), _username(name, number), name)
    for number, name in enumerate(NAMES)
)
GRETA, HUGO = (next(each for each in OTHERS if each.name == name) for name in ("Greta Holm", "Hugo Brandt"))
MODERATORS = (CLEO, GRETA, HUGO)
OWNERS = tuple(each for each in OTHERS[:28] if each not in MODERATORS)
PEOPLE = (*OFFERED, *OTHERS)
NEW_HERE = frozenset({EMIL})
"""The people who have never signed in."""
VOTERS = 3_000
"""The voters without an account here. Their votes came through the API."""


def voter(dice: Random) -> str:
    """Return the id of a voter. Some voters vote far more often than others."""
    number = int((VOTERS + len(OTHERS)) * dice.random() ** 2)
    return OTHERS[number].id if number < len(OTHERS) else str(FIRST_VOTER + number * STEP)
