"""Themes: two colours for the chat platform. No two themes have the same pair."""

from typing import Annotated

from forms.fields import Colour
from forms.rules import UNIQUE, About, Display, OneOf, Sample, Size
from kinds.kind import Kind, LikesPart, Made, Nouns, Profile, ReviewPart
from kinds.shared_fields import Title
from languages.texts import Text

CATEGORIES = {
    "Gradient": Text("Gradient"),
    "Light": Text("Light"),
    "Dark": Text("Dark"),
    "Red": Text("Red"),
    "Orange": Text("Orange"),
    "Yellow": Text("Yellow"),
    "Green": Text("Green"),
    "Blue": Text("Blue"),
    "Purple": Text("Purple"),
    "Pink": Text("Pink"),
}


class ThemeProfile(Profile, frozen=True, gc=False, tag="theme"):
    """A theme, written by its owner."""

    name: Annotated[Title, Sample("Sunset")]
    primary: Annotated[
        Colour,
        About("The colour of the background."),
        Sample("#1a1033"),
        Display(Text("Primary colour"), "colour", Text("The background, such as #1a1033.")),
    ]
    secondary: Annotated[
        Colour,
        About("The colour of buttons and marks."),
        Sample("#ff7a59"),
        Display(Text("Secondary colour"), "colour", Text("For buttons and marks, such as #ff7a59.")),
    ]
    categories: Annotated[
        tuple[Annotated[str, OneOf(CATEGORIES)], ...],
        Size(1, 10),
        UNIQUE,
        Sample(("Gradient", "Dark")),
        Display(Text("Categories"), "choices", Text("One or more."), finds="category"),
    ]


THEMES = Kind(
    plural="themes",
    singular="theme",
    nouns=Nouns(
        one=Text("Theme"),
        many=Text("Themes"),
        popular=Text("Popular themes"),
        trending=Text("Trending themes"),
        newest=Text("New themes"),
        random=Text("Random theme"),
        search=Text("Search the themes"),
        remove=Text("Remove this theme"),
        submit=Text("List your theme"),
        submit_one=Text("List a theme"),
    ),
    profile=ThemeProfile,
    id=Made(6),
    review=ReviewPart(most_waiting=1),
    likes=LikesPart(),
    unique=(("primary", "secondary"),),
)
