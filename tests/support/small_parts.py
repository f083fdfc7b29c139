"""Parts of small snapshots, which a gateway writes only of large ones."""

import pytest

from snapshot import snapshotter


def write_parts(patch: pytest.MonkeyPatch) -> None:
    """Let two of three snapshots be parts, however small the state is."""
    patch.setattr(snapshotter, "WHOLE_BELOW", 0)
    patch.setattr(snapshotter, "BEHIND_SHARE", 0)
    patch.setattr(snapshotter, "MOST_PARTS", 2)
