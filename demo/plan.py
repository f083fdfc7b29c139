"""The listings of the demo: their texts from files; owners, times and numbers from the seed."""

import hashlib
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import yaml

from chatplatform.answers import PLATFORM_EPOCH_MS
from core.clock import MS_PER_DAY
from demo.media import made
from demo.people import ADA, DAN, OFFERED, OTHERS, OWNERS, Person
from forms.file_fields import Decoded
from kinds.bots import BOTS
from kinds.kind import Given, Kind, Made
from kinds.registry import KINDS

EXAMPLES = Path(__file__).parent.parent / "examples"
TEXTS, WORKS = EXAMPLES / "demo_listings.yaml", EXAMPLES / "demo_works.yaml"
CODE_LETTERS = string.ascii_letters + string.digits
FIRST_ID_MS, LAST_ID_MS = 1_530_000_000_000, 1_700_000_000_000
"""The first and the last time at which the platform made ids of bots and servers."""
Fate = Literal["approved", "in_review", "denied"]
BUSY = {
    **{"Groove Box": 46, "Gatekeeper Owl": 38, "Coin Harbor": 33, "Levels Lane": 24, "Trivia Tower": 12},
    **{"Dungeon Dice": 19, "Night Radio": 17, "Ticket Desk": 15, "Chess Corner": 13, "Butler Bean": 11},
    **{"Song Quiz": 5, "Sleepy Sounds": 4, "Uptime Heron": 3, "Anime Almanac": 12, "Lyra": 9},
    **{"Pixel Harbour": 21, "Town Square": 17, "Sakura Lounge": 14, "Night Owls": 8, "Star Field Club": 4},
}
"""The votes a day of popular and of growing listings. The seed decides about the others."""
GROWTH = {
    **{
        "Trivia Tower": 2.6,
        "Song Quiz": 3.4,
        "Sleepy Sounds": 2.9,
        "Uptime Heron": 3.2,
        "Pixel Harbour": 1.5,
    },
    **{"Star Field Club": 3.1, "Coin Harbor": 0.7, "Meme Mill": 0.5},
    **{"slime_hop": 3.2, "signs": 2.6, "Harp down": 2.8, "Ember": 3.1, "Pistachio": 2.4, "Band room": 2.7},
    **{"mina": 2.9, "zoe": 2.2},
}
"""The votes of the last week, as a factor of those before."""
FATES: Mapping[str, Fate] = {
    **dict.fromkeys(("Sketch Sprint", "Kitchen Kit", "Football Fox", "Stock Sparrow"), "in_review"),
    **dict.fromkeys(("Home Lab Heroes", "Plant Parents"), "in_review"),
    **dict.fromkeys(("Photo Postcard", "Casino Cat", "Raid Night", "Faint", "Fax machine"), "denied"),
    **dict.fromkeys(("Wedding planner", "plain_moods", "gem", "Morning alarm", "Lemon Grove"), "in_review"),
}
OWNED = {
    **dict.fromkeys(("Groove Box", "Night Radio", "Lyra", "Photo Postcard", "Sketch Sprint"), ADA),
    **dict.fromkeys(("Pixel Harbour", "Night Owls", "Plant Parents", "Game night", "Game over"), DAN),
    **dict.fromkeys(("round_moods", "coin_spin", "Level up chime", "Midnight Harbour", "Fax machine"), ADA),
}
NEW = (
    *("Jam Session", "Commit Crier", "Pottery and Paint", "Pet Parade", "Study Hall", "Verify Me"),
    *("Emoji Forge", "Speedrun Depot", "Stream Signal", "Bot Builders", "Homework Hawk", "Spieltreff Nord"),
)
"""The listings of the last two weeks, the newest first."""
SHAPES = {
    **{"Groove Box": "note", "Night Radio": "radio", "Lyra": "quill", "Tonleiter": "wave", "音楽ねこ": "paw"},
    **{"Мелодия": "note", "Bassline": "wave", "Vinyl Club": "record", "Song Quiz": "star", "طرب": "note"},
    **{"Echo Recorder": "mic", "Jam Session": "mic", "Chord Finder": "wave", "Sleepy Sounds": "moon"},
    **{"Gatekeeper Owl": "owl", "Sauberbot": "shield", "Spam Sieve": "shield", "Ticket Desk": "ticket"},
    **{
        "Verify Me": "check",
        "Страж": "shield",
        "Audit Trail": "book",
        "Poll Party": "bars",
        "Uptime Heron": "pulse",
    },
    **{"Remind Rabbit": "bell", "Weathervane": "cloud", "Role Gardener": "leaf", "Babel Bridge": "chat"},
    **{"Stat Lighthouse": "bars", "予定ちゃん": "clock", "Trivia Tower": "cup", "Dungeon Dice": "dice"},
    **{"Meme Mill": "smile", "Chess Corner": "knight", "Word Snake": "snake", "Giveaway Goose": "gift"},
    **{
        "Spieleabend": "dice",
        "Coin Harbor": "coin",
        "Levels Lane": "star",
        "Casino Cat": "paw",
        "Realm Keeper": "crown",
    },
    **{
        "Stock Sparrow": "pulse",
        "Tale Weaver": "quill",
        "Pet Parade": "paw",
        "Commit Crier": "bell",
        "Code Runner": "code",
    },
    **{
        "Craft Console": "cube",
        "Palette Pixie": "palette",
        "Sketch Sprint": "pencil",
        "Emoji Forge": "smile",
    },
    **{
        "Butler Bean": "cup",
        "Note Nest": "pencil",
        "Homework Hawk": "book",
        "Stream Signal": "feed",
        "Feed Ferret": "feed",
    },
    **{"Photo Postcard": "camera", "Anime Almanac": "star", "Waifu Wharf": "heart", "まんが図書館": "book"},
    **{"Kitchen Kit": "fork", "Football Fox": "fox", "Campfire Beats": "wave", "The Vinyl Room": "record"},
    **{"Pixel Harbour": "cube", "Raid Night": "flag", "Spieltreff Nord": "dice", "Speedrun Depot": "clock"},
    **{
        "Sakura Lounge": "leaf",
        "アニメ広場": "star",
        "Town Square": "house",
        "Night Owls": "owl",
        "Новые друзья": "chat",
    },
    **{
        "Sketchbook Society": "pencil",
        "Pottery and Paint": "palette",
        "Rust and Python Inn": "code",
        "Bot Builders": "cube",
    },
    **{
        "Star Field Club": "planet",
        "Home Lab Heroes": "house",
        "Study Hall": "book",
        "تعلم معنا": "chat",
        "Plant Parents": "leaf",
    },
}


@dataclass(frozen=True)
class Planned:
    """A listing. `size` is the number of servers of a bot, or of members of a server, at the end."""

    ref: str
    kind: Kind
    fields: Mapping[str, Any]
    owner: Person
    fate: Fate
    submitted_ms: int
    decided_ms: int
    votes_a_day: float
    growth: float
    size: int
    works: Mapping[str, Any] = field(default_factory=dict)
    """The recipes of its files by their fields; the channels, roles and uses of a template; what users
    say about it."""

    @property
    def id(self) -> str:
        return self.ref.partition("/")[2]

    @property
    def name(self) -> str:
        name: str = self.fields["name"]
        return name

    @property
    def icon(self) -> str:
        """The hash of its icon."""
        return hashlib.blake2b(self.name.encode(), digest_size=16).hexdigest()

    @property
    def invite(self) -> str:
        """The code of the invite to a server."""
        return hashlib.blake2b(self.ref.encode(), digest_size=5).hexdigest()

    @property
    def online(self) -> int:
        """The members of a server who are online."""
        return self.size * self.dice("online").randrange(9, 30) // 100

    def files(self, field: str) -> Sequence[Decoded]:
        """Return the files of a field of its profile."""
        recipes = self.works.get(field, ())
        recipes = [recipes] if isinstance(recipes, str) else recipes
        return [made(each, self.kind.file_rules[field]) for each in recipes]

    @property
    def is_bot(self) -> bool:
        return self.kind is BOTS

    def dice(self, purpose: str) -> Random:
        """Return a random source of this listing alone, so that other listings do not change its numbers."""
        return Random(f"{self.ref} {purpose}")  # the seed is in the ref


def planned(seed: int, now_ms: int) -> Sequence[Planned]:
    """Return the listings, in the order of their texts."""
    texts, works = yaml.safe_load(TEXTS.read_text()), yaml.safe_load(WORKS.read_text())
    pictures, reviews = works.pop("pictures"), works.pop("reviews")
    return [
        _planned(
            kind,
            {**fields, **pictures.get(fields["name"], {}), "reviews": reviews.get(fields["name"], ())},
            seed,
            now_ms,
        )
        for kind in KINDS
        for fields in {**texts, **works}[kind.plural]
    ]


def _planned(kind: Kind, texts: Mapping[str, Any], seed: int, now_ms: int) -> Planned:
    name = texts["name"]
    dice = Random(f"{seed} {name}")
    made_ms = dice.randrange(FIRST_ID_MS, LAST_ID_MS)
    low_bits = dice.getrandbits(22)
    fate = FATES.get(name, "approved") if not kind.is_of_user else "approved"
    waited_ms = dice.randrange(2, 40) * 3_600_000 + dice.randrange(3_600_000)
    if fate != "approved":
        age_ms = dice.randrange(5, 90) * 3_600_000 + waited_ms
    elif name in NEW:
        age_ms = round((NEW.index(name) + 1.2) * 1.3 * MS_PER_DAY)
        waited_ms = min(waited_ms, age_ms // 2)
    else:
        age_ms = dice.randrange(95, 600) * MS_PER_DAY + dice.randrange(MS_PER_DAY)
    submitted_ms = now_ms - age_ms
    votes_a_day = BUSY.get(name) or min(10, 0.6 + dice.expovariate(0.45))
    size = round(votes_a_day * dice.uniform(60, 260)) + dice.randrange(12, 90)
    owner = OWNED.get(name) or dice.choice(OWNERS)
    if kind.is_of_user:
        owner = next(each for each in (*OFFERED, *OTHERS) if each.name == name)
    match kind.id:
        case Given() if kind.has_snowflakes:
            listing_id = str((made_ms - PLATFORM_EPOCH_MS) << 22 | low_bits)
        case Given():
            listing_id = "".join(dice.choices(CODE_LETTERS, k=12))
        case Made(byte_count=count):
            listing_id = dice.randbytes(count).hex()
        case _:
            listing_id = owner.id
    return Planned(
        ref=kind.ref(listing_id),
        kind=kind,
        fields=dict(_fields(kind, texts)),
        owner=owner,
        fate=fate,
        submitted_ms=submitted_ms,
        decided_ms=submitted_ms + (0 if kind.is_seen_at_once else waited_ms),
        votes_a_day=votes_a_day,
        growth=GROWTH.get(texts.get("handle", name), 1),
        size=size if kind is BOTS else 100 + size,
        works={
            name: texts[name]
            for name in (*kind.file_rules, "tree", "roles", "uses", "reviews")
            if name in texts
        },
    )


def _fields(kind: Kind, texts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the texts that the kind has a field for."""
    for name, value in texts.items():
        if name in kind.submission.__struct_fields__ and name not in kind.file_rules:
            yield name, value.strip() if isinstance(value, str) else value
