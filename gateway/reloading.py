"""Files that SIGHUP reads again: the certificate, the operator's tokens, and the sealing keys. No logic.

Whatever cannot be used is logged, and the old one stays.
"""

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from gateway.front import Front
from gateway.store import Store, operator_tokens, sealing_keys
from handlers.manage import Operator
from serving.log_output import LogOutput
from serving.supervisor import Supervisor
from settings.model import OperatorSettings, SealingSettings, Settings
from snapshot.inspection import needed_keys
from storage.folder import FolderUnusable

log = logging.getLogger("votegate")


@dataclass(frozen=True)
class Reloading:
    front: Front
    store: Store
    operator: Operator
    output: LogOutput
    supervisor: Supervisor
    spawn: Callable[[Coroutine[None, None, None]], object]

    def reload(self, settings: Settings | None) -> None:
        """Read everything again; without valid settings, the certificate alone."""
        with self.supervisor.reloading():
            self.front.reload()
            if settings is not None:
                self._reload_tokens(settings.operator)
                self._reload_keys(settings.sealing)

    def _reload_tokens(self, operator: OperatorSettings) -> None:
        try:
            tokens = operator_tokens(operator, self.store.folder)
        except (FolderUnusable, OSError) as error:
            log.error("the operator token stays as it was: %s", error)
            return
        for token in tokens:
            self.output.redactor.hide(token)
        self.operator.change_tokens(tokens)
        log.info("operator tokens that are accepted: %d", len(tokens))

    def _reload_keys(self, sealing: SealingSettings) -> None:
        folder = self.store.folder
        try:
            ring = sealing_keys(sealing, folder.path, needed=True)
            if self.store.snapshotter.lock.locked() and not set(folder.keys.key_ids) <= set(ring.key_ids):
                raise FolderUnusable(
                    "a snapshot may need a key that is missing; try again when it is written"
                )
            for key_id in (needed_keys(folder.path) | {folder.keys.newest}) - set(ring.key_ids):
                raise FolderUnusable(f"key {key_id.hex()} is missing, and files need it; put it back")
        except (FolderUnusable, OSError) as error:
            log.error("the sealing keys stay as they were: %s", error)
            return
        for key in ring.to_text().split():
            self.output.redactor.hide(key)
        is_rotated = ring.newest != folder.keys.newest
        folder.keys.become(ring)
        log.info("sealing keys: %d; new files use %s", len(ring.key_ids), ring.newest.hex())
        if is_rotated:
            self.store.journal.rotate()
            self.spawn(self.store.snapshotter.step())
