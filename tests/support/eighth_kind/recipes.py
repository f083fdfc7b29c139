"""Recipes: listings with a code of somebody else, and nothing but a name."""

from typing import Annotated

from forms.fields import Name
from forms.rules import Display, Sample, matching
from kinds.kind import Given, Kind, Nouns, Profile, ReviewPart
from languages.texts import Text


class RecipeProfile(Profile, frozen=True, gc=False, tag="recipe"):
    """A recipe."""

    name: Annotated[Name, Sample("Soup"), Display(Text("Name"), finds="title")]


RECIPES = Kind(
    plural="recipes",
    singular="recipe",
    nouns=Nouns(
        one=Text("Recipe"),
        many=Text("Recipes"),
        popular=Text("Popular recipes"),
        trending=Text("Trending recipes"),
        random=Text("Random recipes"),
        newest=Text("New recipes"),
        search=Text("Search the recipes"),
        remove=Text("Remove this recipe"),
        submit=Text("Send your recipe"),
        submit_one=Text("Send a recipe"),
    ),
    profile=RecipeProfile,
    id=Given(Text("Code"), type=Annotated[str, matching("^[A-Za-z0-9]{4,12}$")], sample="Soup42"),
    review=ReviewPart(),
)
