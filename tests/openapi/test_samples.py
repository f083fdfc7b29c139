"""The samples of the reference: each is run against a gateway in which everything exists that it names."""

import ast
import base64
import contextlib
import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handlers.reply import JSON
from openapi.samples import FILE, LANGUAGES, SAVED, SampleRequest, sample_of
from tests.support.described_rows import KEY
from tests.support.described_world import REFUSED, described, prepare
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.media_files import picture
from tests.support.openapi_lookup import DOCUMENT, OPERATIONS, validator
from tests.support.programs import installed
from tests.support.webhook_receiver import receiving, status

SAMPLES = {
    operation["operationId"]: (sample_of(DOCUMENT, method, path, operation), operation)
    for (method, path), operation in OPERATIONS.items()
    if operation["operationId"] not in REFUSED
}
Run = Callable[[str], str]
"""Takes a program; returns what it printed. Raises an exception if it fails."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with described(tmp_path_factory.mktemp("samples") / "data") as gateway:
        yield gateway


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A receiver at which every probe fails, so that a suspended endpoint stays suspended."""
    with receiving() as receiver:
        receiver.default = status(500)
        yield receiver.url


@pytest.fixture(autouse=True)
def surroundings(gateway: ThreadGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment and the file that samples read."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"API": gateway.base_url, "API_KEY": KEY, "OPERATOR_TOKEN": OPERATOR_TOKEN}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / FILE).write_bytes(picture())


def failures(
    gateway: ThreadGateway, url: str, language: str, run: Run, read: Callable[[str], Any]
) -> list[str]:
    """Run all samples of a language. Return those that fail, or print no answer that the document allows."""
    found, (_, write) = [], LANGUAGES[language]
    for name, (sample, operation) in SAMPLES.items():
        prepare(gateway, name, sample.target, url)
        try:
            check(sample, operation, run(write(sample)), read)
        except Exception as error:
            found.append(f"{name}: {error!r}")
    return found


def check(sample: SampleRequest, operation: Any, printed: str, read: Callable[[str], Any]) -> None:
    answer = next(each for status, each in operation["responses"].items() if status < "300")
    if sample.media_type == JSON:
        validator(answer["content"][JSON]["schema"]).validate(read(printed))
    elif sample.media_type == "application/octet-stream":
        assert Path(SAVED).stat().st_size
        Path(SAVED).unlink()
    else:
        assert printed.strip()


def test_every_sample_in_curl_succeeds(gateway: ThreadGateway, url: str) -> None:
    installed("curl")

    def run(text: str) -> str:
        done = subprocess.run(
            ["sh", "-c", text.replace("curl ", "curl -sS ", 1)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert failures(gateway, url, "curl", run, json.loads) == []


def test_every_sample_in_python_succeeds(gateway: ThreadGateway, url: str) -> None:
    def run(text: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "sample", "exec"), {})
        return printed.getvalue()

    assert failures(gateway, url, "python", run, ast.literal_eval) == []


RUN_MODULES = """
import { createInterface } from "node:readline";
const log = console.log;
for await (const line of createInterface({ input: process.stdin })) {
  const printed = [];
  console.log = (value) => printed.push(typeof value === "string" ? value : JSON.stringify(value));
  try {
    await import(`data:text/javascript;base64,${JSON.parse(line)}`);
    log(JSON.stringify({ printed: printed.join("\\n") }));
  } catch (error) {
    log(JSON.stringify({ error: String(error) }));
  }
}
"""
"""Runs one module for each line, and prints what it has printed."""


def test_every_sample_in_node_succeeds(gateway: ThreadGateway, url: str) -> None:
    command = [installed("node"), "--input-type=module", "-e", RUN_MODULES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        send, answers = node.stdin, node.stdout

        def run(text: str) -> str:
            # A module that was imported before is not run again: the number makes it another one.
            module = f"// {os.urandom(8).hex()}\n{text}"
            send.write(json.dumps(base64.b64encode(module.encode()).decode()) + "\n")
            send.flush()
            answer = json.loads(answers.readline())
            assert "error" not in answer, answer["error"]
            printed: str = answer["printed"]
            return printed

        assert failures(gateway, url, "node", run, json.loads) == []
        send.close()


def test_a_sample_names_its_secret_and_holds_none() -> None:
    for sample, _ in SAMPLES.values():
        for _, write in LANGUAGES.values():
            text = write(sample)
            assert (sample.secret in text) if sample.secret else ("Authorization" not in text)
            assert "vg_" not in text
