"""Profiles: pages of users about themselves. A user has one, at a name of their own."""

from typing import Annotated

from forms.fields import ABOUT_LINE, ABOUT_TEXT, Colour, Handle, SocialUrl
from forms.rules import IN_TEXT, ON_ONE_LINE_OR_NONE, UNIQUE, About, Display, Sample, Size
from kinds.kind import Kind, LikesPart, Nouns, OfUser, Profile, ReviewPart
from kinds.shared_fields import Banner, Title
from languages.texts import Text


class PersonalProfile(Profile, frozen=True, gc=False, tag="profile"):
    """A user's profile, written by the user."""

    name: Annotated[Title, Sample("Ada Lindqvist")]
    handle: Annotated[
        Handle,
        Sample("ada"),
        Display(
            Text("Address"),
            hint=Text(
                "3 to 32 of a-z, 0-9, _ and . for the address of your page. It may not look like another "
                "profile's."
            ),
        ),
    ]
    bio: Annotated[
        str,
        Size(0, 512),
        About(ABOUT_TEXT),
        IN_TEXT,
        Sample("I make bots that play music, and sometimes music."),
        Display(Text("About you"), "text", Text("Up to 512 characters. Optional."), rows=5, finds="word"),
    ] = ""
    pronouns: Annotated[
        str,
        Size(0, 32),
        About(f"May be empty. Otherwise: {ABOUT_LINE[0].lower()}{ABOUT_LINE[1:]}"),
        ON_ONE_LINE_OR_NONE,
        Sample("she/her"),
        Display(Text("Pronouns"), hint=Text("Up to 32 characters. Optional.")),
    ] = ""
    links: Annotated[
        tuple[SocialUrl, ...],
        Size(0, 8),
        UNIQUE,
        Sample(("https://github.com/ada",)),
        Display(
            Text("Links"),
            "links",
            Text("Up to 8 addresses with https, one per line. Optional."),
            rows=4,
        ),
    ] = ()
    primary: Annotated[
        Colour | None,
        Sample("#5865f2"),
        Display(Text("First colour"), "colour", Text("For the top of your page. Optional.")),
    ] = None
    secondary: Annotated[
        Colour | None,
        Sample("#eb459e"),
        Display(Text("Second colour"), "colour", Text("The first colour runs into it. Optional.")),
    ] = None
    unlisted: Annotated[
        bool,
        About("True to hide the profile from lists, searches, feeds and search engines."),
        Sample(False),  # noqa: FBT003 (a value, not an option)
        Display(
            Text("Hide it from lists and search engines"),
            "tick",
            Text("Everybody who knows its address still sees it."),
            hides=True,
        ),
    ] = False
    banner: Banner = None


PROFILES = Kind(
    plural="profiles",
    singular="profile",
    nouns=Nouns(
        one=Text("Profile"),
        many=Text("Profiles"),
        popular=Text("Popular profiles"),
        trending=Text("Trending profiles"),
        newest=Text("New profiles"),
        random=Text("Random profile"),
        search=Text("Search the profiles"),
        remove=Text("Remove this profile"),
        submit=Text("Make your profile"),
        submit_one=Text("Make your profile"),
    ),
    profile=PersonalProfile,
    id=OfUser(Text("Your profile")),
    review=ReviewPart(at_once=True),
    likes=LikesPart(),
    unique=(("handle",),),
    slug="handle",
)
