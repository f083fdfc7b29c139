"""A kind of listing as one value. A part that a kind lacks is None: its listings cannot do that.

A listing of the kind `bots` is at `/bots/<id>`, and its ref is `bots/<id>`. A submission has the owner, the
fields of the profile, and the id if it is `Given`. An edit has no id. Both are forms made of the profile's
declaration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast, get_args

import msgspec
from msgspec import Struct

from forms.fields import Declared, Form, Snowflake, declared_fields, unwrapped
from forms.file_fields import FileRef, Files, as_asked, files_of
from forms.rules import (
    UNIQUE,
    About,
    Beside,
    ComparedAs,
    Display,
    OneOf,
    Part,
    Sample,
    Size,
    Widget,
    matching,
)
from languages.said import Fault
from languages.texts import Text


class Profile(Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag_field="kind"):
    """The base of all profiles. A profile is what the owners of a listing write."""

    name: str

    @property
    def kind(self) -> Any:
        """The tag of the profile: conversions between types of profiles look at it."""
        return self.__struct_config__.tag


class ListingEdit(Form, frozen=True):
    """The base of edits: the fields of a profile of a kind, and its owner."""

    if TYPE_CHECKING:
        of_kind: ClassVar["Kind"]
        owner_id: str


class ListingSubmission(ListingEdit, frozen=True):
    """The base of submissions: the fields of an edit and two more.

    `id` is for kinds whose ids are given, and `extra_owners` for kinds with co-owners.
    """

    if TYPE_CHECKING:
        id: str
        extra_owners: tuple[str, ...]


@dataclass(frozen=True)
class Nouns:
    """The texts of pages that name the kind.

    Args:
        popular: the heading of the listings with the most votes of the month.
        trending: the heading of the listings whose votes grow.
        newest: the heading of the newest listings.
        random: the link to a random listing.
        search: the link to a search in the listings of the kind.
        remove: the heading of the question before a listing is removed.
        submit: the link to the page on which a listing is submitted.
        submit_one: the same link in few words.
    """

    one: Text
    many: Text
    popular: Text
    trending: Text
    newest: Text
    random: Text
    search: Text
    remove: Text
    submit: Text
    submit_one: Text


ID = Text("ID")


@dataclass(frozen=True, eq=False)
class Given:
    """The id of something that exists elsewhere, such as at the chat platform. A submission names it.

    Args:
        label: the label of the field that asks for it.
        type: the type of the id, with its rules.
        sample: an id in examples of documents.
        asked: the type of the field that asks for it, if that takes more than the id, such as a link.
    """

    label: Text = ID
    hint: Text | None = None
    type: Any = Snowflake
    sample: str = "823456789012345678"
    asked: Any = None


@dataclass(frozen=True, eq=False)
class Made:
    """A random id of so many bytes, written in hexadecimal. The gateway makes it at a submission."""

    byte_count: int

    @cached_property
    def type(self) -> Any:
        digits = 2 * self.byte_count
        return Annotated[str, About(f"{digits} hexadecimal digits."), matching(f"^[0-9a-f]{{{digits}}}$")]

    @property
    def sample(self) -> str:
        return "3c9a51e07f24b8d60f4c81b2a95d3e6f"[: 2 * self.byte_count]


@dataclass(frozen=True, eq=False)
class OfUser:
    """The id of the user who owns the listing: each user has one at most.

    Args:
        yours: the link of a user to the listing that is theirs.
    """

    yours: Text
    type: Any = Snowflake
    sample: str = "223456789012345678"


@dataclass(frozen=True)
class ReviewPart:
    """Moderators decide about a listing. Without this part it is public at once, and stays so.

    With `at_once` everybody sees a new listing, and each edit, before a moderator looks at it. Reports bring
    it to them. They may withdraw it, and then its next version waits for them.

    Args:
        most_waiting: the listings of one owner that may be in review; None for any number.
    """

    at_once: bool = False
    most_waiting: int | None = None


@dataclass(frozen=True)
class VotesPart:
    """Users vote for a listing."""


@dataclass(frozen=True)
class LikesPart:
    """Users like a listing: each once, until they take it back. A kind has votes or likes, never both."""


@dataclass(frozen=True)
class RatingsPart:
    """Users write reviews of a listing, with stars. Pages call them reviews; a moderator's is `review`."""


@dataclass(frozen=True)
class KeysPart:
    """Programs act for a listing with API keys."""


@dataclass(frozen=True)
class StatsPart:
    """A listing's program pushes counts. `most` has the greatest value of each by its name."""

    most: Mapping[str, int]


@dataclass(frozen=True)
class CoOwnersPart:
    """Owners invite others to manage the listing with them. `most` counts co-owners and invitations."""

    most: int


@dataclass(frozen=True)
class WebhookPart:
    """An endpoint gets events.

    Args:
        id_name: the name of the listing's id in the body of an event.
        voted: the text of a message to a chat platform about a vote.
    """

    id_name: str
    voted: str


@dataclass(frozen=True)
class DownloadsPart:
    """Visitors download the files of a listing, and each is counted once a day.

    Args:
        field: the field of the profile with the files.
        are_emojis: true if the chat platform takes each of the files as an emoji.
    """

    field: str
    are_emojis: bool = False


PlatformObject = Literal["application", "server", "template"]


@dataclass(frozen=True)
class FactsPart:
    """The chat platform answers questions about a listing: it knows an object with the same id."""

    question: PlatformObject


CheckName = Literal["members", "age", "icon", "two_factor", "community", "nsfw", "exists"]


@dataclass(frozen=True)
class ChecksPart:
    """A listing must meet conditions of the chat platform. They are checked at a submission and daily.

    Args:
        come_first: true if a new listing that meets all of them is at the head of the review queue.
    """

    conditions: tuple[CheckName, ...]
    come_first: bool = False


PartName = Literal[
    "review",
    "changes",
    "votes",
    "likes",
    "tally",
    "ratings",
    "colours",
    "keys",
    "stats",
    "co_owners",
    "hand_over",
    "webhook",
    "facts",
    "checks",
    "invites",
    "tree",
    "commands",
    "files",
    "images",
    "downloads",
    "as_emojis",
]
"""The name of a part. A page or an action that names one is for the kinds that have it."""
Tally = Literal["votes", "likes"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """A kind of listing.

    Args:
        plural: the name in paths and refs, such as "bots".
        singular: the name in texts of the API, such as "bot".
        unique: fields of the profile whose values no two listings share, regardless of case.
        slug: the field of the profile that stands for the id in public addresses. It is unique.
    """

    plural: str
    singular: str
    nouns: Nouns
    profile: type[Profile]
    id: Given | Made | OfUser
    review: ReviewPart | None = None
    votes: VotesPart | None = None
    likes: LikesPart | None = None
    ratings: RatingsPart | None = None
    downloads: DownloadsPart | None = None
    keys: KeysPart | None = None
    stats: StatsPart | None = None
    co_owners: CoOwnersPart | None = None
    webhook: WebhookPart | None = None
    facts: FactsPart | None = None
    checks: ChecksPart | None = None
    unique: tuple[tuple[str, ...], ...] = ()
    slug: str | None = None

    def __str__(self) -> str:
        return self.plural

    def has(self, part: PartName | None) -> bool:
        """Return true if listings of this kind have a part; None is what all have."""
        return part is None or getattr(self, part) is not None

    @property
    def tally(self) -> Tally | None:
        """The counts that order listings and fill charts; None if users give none."""
        if self.votes is not None:
            return "votes"
        return "likes" if self.likes is not None else None

    @property
    def hand_over(self) -> Literal[True] | None:
        """True if a listing may get another owner; None if its id is that of its owner."""
        return None if self.is_of_user else True

    @property
    def is_of_user(self) -> bool:
        """True if a listing is about the user who owns it: its id is the user's. An erasure removes it."""
        return isinstance(self.id, OfUser)

    @property
    def is_seen_at_once(self) -> bool:
        """True if everybody sees a new listing, and each edit of it, before a moderator does."""
        return self.review is None or self.review.at_once

    @property
    def changes(self) -> Literal[True] | None:
        """True if moderators look at edits of approved listings."""
        return None if self.is_seen_at_once else True

    @property
    def invites(self) -> Literal[True] | None:
        """True if a profile may name an invite to the server that the listing stands for."""
        return True if self.invite_name is not None else None

    @property
    def tree(self) -> Literal[True] | None:
        """True if the chat platform tells the channels and roles of what a listing stands for."""
        return True if self.known_as == "template" else None

    @property
    def commands(self) -> Literal[True] | None:
        """True if a profile may list commands, each with what it does."""
        return True if any(shown.widget == "pairs" for shown in self.shown.values()) else None

    @cached_property
    def colours(self) -> tuple[str, str] | None:
        """The names of the two colours that a profile must have; None if its kind has no two."""
        match [name for name in self.shown if self.shown[name].widget == "colour" and self.is_required(name)]:
            case [primary, secondary]:
                return primary, secondary
        return None

    @property
    def files(self) -> Literal[True] | None:
        """True if a profile has files."""
        return True if self.file_rules else None

    @property
    def images(self) -> Literal[True] | None:
        """True if the long text of a profile may show images of other sites."""
        return True if self.is_markdown else None

    @cached_property
    def file_rules(self) -> Mapping[str, Files]:
        """The rules of the files of a profile, by the names of the fields."""
        notes = {name: field.note(Files) for name, field in self.fields.items()}
        return {name: note for name, note in notes.items() if note is not None}

    @cached_property
    def sound_name(self) -> str | None:
        """The name of the field with the sound, for a kind of sounds."""
        return next((name for name, shown in self.shown.items() if shown.widget == "sound"), None)

    def sound(self, profile: Struct) -> FileRef | None:
        """Return the sound of a profile; None if its kind has none."""
        return getattr(profile, self.sound_name) if self.sound_name is not None else None

    def banner(self, profile: Struct) -> FileRef | None:
        """Return the wide picture over the page of a listing, if it has one."""
        names = (name for name, shown in self.shown.items() if shown.widget == "picture")
        return next((getattr(profile, name) for name in names), None)

    def screenshots(self, profile: Struct) -> Sequence[FileRef]:
        """Return the pictures beside what a listing stands for."""
        names = (name for name, shown in self.shown.items() if shown.widget == "pictures")
        return [file for name in names if name != self.pictures for file in getattr(profile, name)]

    @property
    def pictures(self) -> str | None:
        """The name of the field with pictures, if a listing stands for those; None if it does not."""
        field = self.downloads.field if self.downloads is not None else None
        return field if field is not None and self.file_rules[field].sort == "picture" else None

    @property
    def as_emojis(self) -> Literal[True] | None:
        """True if a listing is a picture, or several, that servers of the chat platform take as emojis."""
        return True if self.downloads is not None and self.downloads.are_emojis else None

    @property
    def known_as(self) -> PlatformObject | None:
        """The object of the chat platform that a listing stands for; None if it stands for none."""
        return self.facts.question if self.facts is not None else None

    @property
    def prefix(self) -> str:
        """The beginning of the refs of its listings."""
        return f"{self.plural}/"

    @property
    def title(self) -> str:
        """The name in the names of operations and types, such as "Bot"."""
        return self.singular.capitalize()

    @property
    def one(self) -> str:
        """The name with its article, such as "a bot"."""
        return f"{'an' if self.singular[0] in 'aeiou' else 'a'} {self.singular}"

    def ref(self, listing_id: str) -> str:
        """Return the ref of a listing."""
        return self.prefix + listing_id

    @property
    def has_snowflakes(self) -> bool:
        """True if the ids of its listings are numbers that the chat platform made."""
        return self.id.type is Snowflake

    def new_ref(self, form: ListingSubmission, random: Callable[[int], bytes]) -> str:
        """Return the ref of a new listing. `random(n)` gives n random bytes."""
        match self.id:
            case Given():
                return self.ref(form.id)
            case Made(byte_count=count):
                return self.ref(random(count).hex())
            case OfUser():
                return self.ref(form.owner_id)

    @cached_property
    def fields(self) -> Mapping[str, Declared]:
        """The fields of a profile by their names."""
        return {each.name: each for each in declared_fields(self.profile)}

    @cached_property
    def shown(self) -> Mapping[str, Display]:
        """The looks of the fields of a profile, in their order."""
        notes = {name: field.note(Display) for name, field in self.fields.items()}
        return {name: note for name, note in notes.items() if note is not None}

    @cached_property
    def in_order(self) -> Sequence[str]:
        """The fields of a profile in the order in which people read them: what finds it comes first."""
        order: Sequence[Part | None] = ("title", "word", "category", "keyword", "language", None)
        return sorted(self.shown, key=lambda name: order.index(self.shown[name].finds))

    @cached_property
    def sample(self) -> Profile:
        """An example of a profile, for documents."""
        samples = {name: field.note(Sample) for name, field in self.fields.items()}
        return self.profile(**{name: sample.value for name, sample in samples.items() if sample is not None})

    @cached_property
    def labels(self) -> Mapping[str, Text]:
        """The labels of the fields of a submission."""
        asked = {"id": self.id.label} if isinstance(self.id, Given) else {}
        shown = {name: shown.label for name, shown in self.shown.items()}
        return {**asked, **shown, "extra_owners": Text("Co-owners")}

    def choices(self, name: str) -> Mapping[str, Text]:
        """Return the choices of a field, with their names for people."""
        return choices_of(self.fields[name])

    @cached_property
    def empty(self) -> Mapping[str, Any]:
        """The values of an empty form of a profile."""
        lists: Sequence[Widget] = ("choices", "lines", "pairs", "links", "pictures")
        blank: dict[Widget, Any] = {**dict.fromkeys(lists, ()), "tick": False}
        blank |= dict.fromkeys(("url", "invite", "colour", "picture", "sound"))
        return {name: blank.get(shown.widget, "") for name, shown in self.shown.items()}

    def is_required(self, name: str) -> bool:
        """Return true if a field of a profile may neither be left out nor be empty."""
        field = self.fields[name]
        size = field.note(Size)
        return field.is_required and (size is None or size.least > 0)

    @cached_property
    def categories(self) -> Mapping[str, Text]:
        """The categories that a listing may have, by their names in the API. Those of files are computed."""
        found: dict[str, Text] = {}
        for name in self.found_by.get("category", ()):
            found |= MOTIONS if name in self.file_rules else choices_of(self.fields[name])
        return found

    @cached_property
    def found_by(self) -> Mapping[Part, Sequence[str]]:
        """The fields by which a search finds a listing, by the part of the search."""
        found: dict[Part, list[str]] = {}
        for name in sorted(self.shown, key=lambda name: name in self.file_rules):  # files come last
            part = self.shown[name].finds
            if part is not None:
                found.setdefault(part, []).append(name)
        return found

    def finds_by(self, part: Part) -> bool:
        """Return true if that part of a search finds listings of this kind."""
        return part in self.found_by

    def texts(self, profile: Struct, name: str) -> tuple[str, ...]:
        """Return the texts that a field of a profile has, or of a view that shows the profile."""
        return texts_of(getattr(profile, name))

    def values(self, profile: Struct, part: Part) -> tuple[str, ...]:
        """Return the values of a profile by which that part of a search finds it."""
        texts: tuple[str, ...] = ()
        for name in self.found_by.get(part, ()):
            value = getattr(profile, name)
            texts += (motion_of(value),) if name in self.file_rules else texts_of(value)
        return texts

    def summary(self, profile: Profile) -> str:
        """Return the text that a list shows of a profile."""
        return next(iter(self.values(profile, "word")), "")

    def slug_of(self, profile: Struct) -> str | None:
        """Return the name that stands for the id in the address of a listing; None if its kind has none."""
        return str(getattr(profile, self.slug)) if self.slug is not None else None

    def links(self, profile: Profile) -> Sequence[tuple[Display, str]]:
        """Return the addresses of a profile with the looks of their fields."""
        return [(self.shown[name], text) for name in self.link_names for text in self.texts(profile, name)]

    @cached_property
    def link_names(self) -> Sequence[str]:
        """The names of the fields with addresses."""
        return [name for name, shown in self.shown.items() if shown.widget in {"url", "links"}]

    def is_unlisted(self, profile: Struct) -> bool:
        """Return true if a profile hides its listing from lists and search engines."""
        return self.hides_name is not None and bool(getattr(profile, self.hides_name))

    @cached_property
    def hides_name(self) -> str | None:
        """The name of the field that hides a listing from lists and search engines, if the kind has one."""
        return next((name for name, shown in self.shown.items() if shown.hides), None)

    def folded(self, name: str, text: str) -> str:
        """Return a value of a unique field as it is compared with others."""
        note = self.fields[name].note(ComparedAs)
        return note.fold(text) if note is not None else text.casefold()

    def crown(self, profile: Struct) -> Sequence[str]:
        """Return the colours of a profile, which run into each other at the top of its page."""
        names = (name for name, shown in self.shown.items() if shown.widget == "colour")
        return [text for name in names for text in self.texts(profile, name)]

    def lines(self, profile: Struct) -> Sequence[tuple[Text, str]]:
        """Return the short texts that no search looks at, such as pronouns, with their labels."""
        short = {
            name: shown
            for name, shown in self.shown.items()
            if shown.widget == "line" and shown.finds is None and name != self.slug
        }
        return [(short[name].label, text) for name in short for text in self.texts(profile, name) if text]

    def invite_code(self, profile: Struct) -> str | None:
        """Return the code of the invite that a profile names; None if it names none."""
        return getattr(profile, self.invite_name) if self.invite_name is not None else None

    @cached_property
    def support_name(self) -> str | None:
        """The name of the field with the address at which users find help, if the kind has one."""
        return next((name for name, shown in self.shown.items() if shown.public == "support_url"), None)

    @cached_property
    def invite_name(self) -> str | None:
        """The name of the field with an invite, if the kind has one."""
        return next((name for name, shown in self.shown.items() if shown.widget == "invite"), None)

    def pairs(self, profile: Struct) -> Sequence[tuple[str, str]]:
        """Return the names that a profile lists, each with what it means, such as the commands of a bot."""
        names = (name for name, shown in self.shown.items() if shown.widget == "pairs")
        lines = (line.partition(": ") for name in names for line in getattr(profile, name))
        return [(name, meaning) for name, _, meaning in lines]

    def prose(self, profile: Struct) -> str:
        """Return the long text of a profile, or of a view that shows it; empty if its kind has none."""
        name = self.prose_name
        return str(getattr(profile, name)) if name is not None else ""

    @property
    def is_markdown(self) -> bool:
        """True if everybody sees the long text drawn as Markdown."""
        return self.prose_name is not None and self.shown[self.prose_name].is_markdown

    @cached_property
    def prose_name(self) -> str | None:
        """The name of the long text of a profile, if the kind has one."""
        return next((name for name, shown in self.shown.items() if shown.widget == "text"), None)

    def near_words(self, profile: Profile) -> tuple[str, ...]:
        """Return the texts that a search looks at after the name: the one that lists show, the tags, and the
        name in the address."""
        named = tuple(filter(None, (self.slug_of(profile),)))
        return self.values(profile, "word")[:1] + self.values(profile, "keyword") + named

    def further_words(self, profile: Profile) -> tuple[str, ...]:
        """Return the texts that a search looks at last, such as a long description."""
        return self.values(profile, "word")[1:]

    @cached_property
    def edit(self) -> type[ListingEdit]:
        """The form of an edit."""
        made = self._form("Edit", f"A {self.singular}'s profile, written by its owner.", ListingEdit)
        return cast(type[ListingEdit], made)

    @cached_property
    def submission(self) -> type[ListingSubmission]:
        """The form of a submission."""
        own: list[Any] = [("id", self.id.asked or self.id.type)] if isinstance(self.id, Given) else []
        if self.co_owners is not None:
            size = Size(0, self.co_owners.most)
            about = About(f"Other users than the owner, who are invited to manage the {self.singular}.")
            others = Annotated[tuple[Snowflake, ...], size, about, UNIQUE, Beside(_not_the_owner)]
            own.append(("extra_owners", others, ()))
        made = self._form("Submission", f"A new {self.singular} with its profile.", ListingSubmission, own)
        return cast(type[ListingSubmission], made)

    def _form(self, name: str, about: str, base: type[Form], own: Sequence[Any] = ()) -> object:
        """Return a form with the owner, the fields of the profile, and others of its own."""
        written = (
            (each.name, as_asked(each.annotation), *(() if each.is_required else (each.default,)))
            for each in self.fields.values()
        )
        return msgspec.defstruct(
            f"{self.title}{name}",
            [("owner_id", Snowflake), *written, *own],
            bases=(base,),
            namespace={"__doc__": about, "of_kind": self},
            module=__name__,
            frozen=True,
            kw_only=True,
        )

    def written(self, profile: Struct) -> Mapping[str, Any]:
        """Return the fields of a profile as a form has them."""
        return {name: as_written(getattr(profile, name)) for name in self.fields}

    def profile_of(self, form: ListingEdit) -> Profile:
        """Return the profile that a form holds. The form has its files in the place of their digests."""
        # Not by `msgspec.convert`: it takes the kind of the form for the tag of the profile.
        return self.profile(**{name: getattr(form, name) for name in self.profile.__struct_fields__})


MOTIONS = {"Animated": Text("Animated"), "Static": Text("Static")}
"""The categories of pictures."""


def motion_of(value: object) -> str:
    """Return the category of the pictures of a field."""
    return "Animated" if any(file.is_animated for file in files_of(value)) else "Static"


def texts_of(value: object) -> tuple[str, ...]:
    """Return the texts of a field's value: one, those of a list, or none for a value that is left out. The
    text of a file is its digest."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, tuple):
        return (value.digest,) if isinstance(value, FileRef) else ()
    return value if not value or isinstance(value[0], str) else as_written(value)


def as_written(value: Any) -> Any:
    """Return the value of a field of a profile as a form has it."""
    if isinstance(value, FileRef):
        return value.digest
    return tuple(map(as_written, value)) if isinstance(value, tuple) else value


def choices_of(field: Declared) -> Mapping[str, Text]:
    """Return the choices of a field, or of the entries of its list, with their names for people."""
    inner, notes = unwrapped(field.annotation)
    entries = [note for each in get_args(inner) for note in unwrapped(each)[1]]
    return next((note.choices for note in (*notes, *entries) if isinstance(note, OneOf)), {})


def _not_the_owner(owners: tuple[str, ...], before: Mapping[str, Any]) -> Fault | None:
    return Fault("names_the_owner") if before.get("owner_id") in owners else None
