"""`server.py` with more kinds of listings, and the process in which it folds its disk.

A fork server only imports this module, before the rest of the program.
"""

import runpy
import sys
from functools import reduce
from operator import or_

from kinds import registry
from tests.support.eighth_kind import SCRATCH

every = (*registry.KINDS, *SCRATCH)
profiles = reduce(or_, (kind.profile for kind in SCRATCH), registry.AnyProfile)
vars(registry).update(KINDS=every, BY_PLURAL={kind.plural: kind for kind in every}, AnyProfile=profiles)
if sys.argv[1:] == ["fold-disk"]:
    runpy.run_module("cli.fold_disk", run_name="__main__")
else:
    from gateway import store

    store.fold_command = lambda: (sys.executable, "-m", __spec__.name, "fold-disk")
    if __name__ == "__main__":
        runpy.run_path("server.py", run_name="__main__")
