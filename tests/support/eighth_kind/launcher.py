"""`server.py` with one more kind of listing."""

import runpy

from kinds import registry
from tests.support.eighth_kind.stickers import STICKERS

registry.KINDS = (*registry.KINDS, STICKERS)
registry.BY_PLURAL = {kind.plural: kind for kind in registry.KINDS}
registry.AnyProfile = registry.AnyProfile | STICKERS.profile
runpy.run_path("server.py", run_name="__main__")
