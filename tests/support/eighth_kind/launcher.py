"""`server.py` with more kinds of listings, and the process in which it folds its disk."""

import runpy
import sys

from kinds import registry
from tests.support.eighth_kind.cards import CARDS
from tests.support.eighth_kind.clips import CLIPS
from tests.support.eighth_kind.recipes import RECIPES
from tests.support.eighth_kind.stickers import STICKERS

every = (*registry.KINDS, STICKERS, CARDS, RECIPES, CLIPS)
profiles = registry.AnyProfile | STICKERS.profile | CARDS.profile | RECIPES.profile | CLIPS.profile
vars(registry).update(KINDS=every, BY_PLURAL={kind.plural: kind for kind in every}, AnyProfile=profiles)
if sys.argv[1:] == ["fold-disk"]:
    runpy.run_module("cli.fold_disk", run_name="__main__")
else:
    from gateway import store

    store.fold_command = lambda: (sys.executable, "-m", __spec__.name, "fold-disk")
    runpy.run_path("server.py", run_name="__main__")
