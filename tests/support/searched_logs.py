"""The logs of all gateways of some tests, in both forms, and every secret that those tests used."""

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, unquote

import pytest
import requests

from serving.log_output import LogOutput
from storage.folder import DIGEST_SECRET, KEYS
from tests.support import gateways
from tests.support.gateways import Client, ProcessGateway, ThreadGateway
from watchers.redaction import Redactor

SHORTEST = 8
"""A shorter secret, which no gateway makes, may be part of any word."""
SECRET_FIELDS = {"key", "secret", "token"}
CHAT_URL = re.compile(r"/api/webhooks/\d+/([\w-]+)")
OF_THE_TESTS = ("urllib3", "requests")
"""Loggers of the tests' own client, which is no gateway."""


class SearchedLogs:
    def __init__(self) -> None:
        self.secrets: set[str] = set()
        self.served = False
        self.stream = io.BytesIO()
        self._processes: list[ProcessGateway] = []

    def add(self, *secrets: str) -> None:
        self.secrets |= {secret for secret in secrets if len(secret) >= SHORTEST}

    def exchanged(self, body: object, answer: requests.Response) -> None:
        """Remember the secrets of an exchange with a gateway that was granted."""
        if answer.status_code >= 400:
            return
        with suppress(ValueError, TypeError):
            self._look(json.loads(body if isinstance(body, str | bytes) else ""))
        with suppress(ValueError):
            self._look(answer.json())

    def started(self, gateway: ThreadGateway | ProcessGateway) -> None:
        """Remember the secrets of a gateway, and read its log."""
        self.served = True
        self.add(gateway.operator_token)
        if isinstance(gateway, ThreadGateway):
            platform = gateway.settings.chat_platform
            given = [each for each in (platform.client_secret, platform.bot_token) if each is not None]
            self.add(*(each.get_secret_value() for each in given))
        for name in (KEYS, DIGEST_SECRET):
            with suppress(FileNotFoundError):  # it comes from the settings
                self.add(*(gateway.folder / name).read_text().split())
        if isinstance(gateway, ProcessGateway):
            self._processes.append(gateway)

    def log(self) -> str:
        return self.stream.getvalue().decode() + "".join(each.log for each in self._processes)

    def leaks(self) -> list[str]:
        """Return the lines with a secret, in any encoding."""
        log = self.log()
        assert not self.served or (log and self.secrets), "nothing was searched"
        spelled = {
            form
            for secret in self.secrets
            for form in (secret, quote(secret, ""), repr(secret)[1:-1], json.dumps(secret)[1:-1])
        }
        whole = log + unquote(log) + unquote(unquote(log))
        found = [form for form in spelled if form in whole]
        return [line for line in whole.splitlines() if any(form in line for form in found)]

    def _look(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._look(each)
        elif isinstance(value, dict):
            for name, each in value.items():
                if name in SECRET_FIELDS and isinstance(each, str):
                    self.add(each)
                elif name == "url" and isinstance(each, str):
                    self.add(*CHAT_URL.findall(each))
                else:
                    self._look(each)


@contextmanager
def searching_logs() -> Iterator[SearchedLogs]:
    """Collect the logs of gateways that start meanwhile, the access log included."""
    searched, redactor = SearchedLogs(), Redactor()
    text, structured = (LogOutput(form, redactor, searched.stream) for form in ("text", "json"))
    handlers = [output.handler() for output in (text, structured)]
    for handler in handlers:
        handler.addFilter(lambda record: not record.name.startswith(OF_THE_TESTS))
    root = logging.getLogger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gateways.DEFAULTS, "server.access_log", True)
        patch.setattr(ThreadGateway, "output", structured)
        _watch(patch, searched)
        patch.setattr(root, "handlers", [*root.handlers, *handlers])
        patch.setattr(root, "level", logging.INFO)
        root.manager._clear_cache()  # type: ignore[attr-defined]  # the cache of enabled levels
        try:
            yield searched
        finally:
            for handler in handlers:
                root.removeHandler(handler)
    root.manager._clear_cache()  # type: ignore[attr-defined]


def _watch(patch: pytest.MonkeyPatch, searched: SearchedLogs) -> None:
    """Tell `searched` of each exchange and of each gateway that starts."""
    request = Client.request

    def watched_request(self: Client, method: str, path: str, **options: Any) -> requests.Response:
        answer = request(self, method, path, **options)
        searched.exchanged(options.get("data"), answer)
        return answer

    patch.setattr(Client, "request", watched_request)
    kinds: set[Any] = {ThreadGateway, gateways.tested_kind(), ProcessGateway}
    for kind in kinds:
        patch.setattr(kind, "start", _watched_start(kind.start, searched))


def _watched_start(start: Any, searched: SearchedLogs) -> Any:
    def watched(self: Any, *arguments: Any) -> Any:
        started = start(self, *arguments)
        searched.started(self)
        return started

    return watched
