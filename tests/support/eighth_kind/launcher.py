"""`server.py` with one more kind of listing."""

import runpy

from kinds import registry
from tests.support.eighth_kind.stickers import STICKERS

every = (*registry.KINDS, STICKERS)
profiles = registry.AnyProfile | STICKERS.profile
vars(registry).update(KINDS=every, BY_PLURAL={kind.plural: kind for kind in every}, AnyProfile=profiles)
runpy.run_path("server.py", run_name="__main__")
