"""The difference between two versions of a profile, field by field and line by line.

Lines are compared by difflib, which takes cubic time in the worst case: 1 s for 400 lines. So equal lines at
both ends are put aside first, and texts that are still long are not compared: all old lines are shown as gone
and all new ones as new.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, Literal

from msgspec import Struct

COMPARED = 50
"""The lines that differ, in each of two texts, that are compared with each other. That takes 3 ms at most."""
AROUND = 3
"""Unchanged lines that are shown beside a changed one."""
LineState = Literal["same", "gone", "new", "left out"]
"""`left out`: lines that are the same and far from a change; the text is their number."""


class ChangedLine(Struct, frozen=True):
    """A line of a changed field. If lines are left out, the text is their number."""

    state: LineState
    text: str


class ChangedField(Struct, frozen=True):
    """A field whose value differs, with the lines of both versions in order. An entry of a list is a line."""

    name: str
    lines: Sequence[ChangedLine]


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> Sequence[ChangedField]:
    """Return the fields of a profile that differ.

    Args:
        before: the fields as the API takes them.
    """
    texts = {name: (_lines(before.get(name)), _lines(after[name])) for name in after}
    return [
        ChangedField(name, _shortened(_compared(old, new)))
        for name, (old, new) in texts.items()
        if old != new
    ]


def _lines(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return value.split("\n") if value else []
    if isinstance(value, bool):
        return ["yes"] if value else []
    return [*(value or ())]


def _compared(old: Sequence[str], new: Sequence[str]) -> list[ChangedLine]:
    begin = _alike(old, new)
    end = _alike(old[begin:][::-1], new[begin:][::-1])
    middle = list(_differences(old[begin : len(old) - end], new[begin : len(new) - end]))
    return [*_all("same", new[:begin]), *middle, *_all("same", new[len(new) - end :])]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[ChangedLine]:
    if max(len(old), len(new)) > COMPARED:
        yield from (*_all("gone", old), *_all("new", new))
        return
    for change, old_at, old_to, new_at, new_to in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if change == "equal":
            yield from _all("same", new[new_at:new_to])
        else:
            yield from (*_all("gone", old[old_at:old_to]), *_all("new", new[new_at:new_to]))


def _all(state: LineState, texts: Sequence[str]) -> Iterator[ChangedLine]:
    return (ChangedLine(state, text) for text in texts)


def _shortened(lines: Sequence[ChangedLine]) -> Sequence[ChangedLine]:
    """Leave out lines that are the same and far from a change."""
    changed = [at for at, line in enumerate(lines) if line.state != "same"]
    near = {at + step for at in changed for step in range(-AROUND, AROUND + 1)}
    found: list[ChangedLine] = []
    for at, line in enumerate(lines):
        if at in near:
            found.append(line)
        elif found and found[-1].state == "left out":
            found[-1] = ChangedLine("left out", str(int(found[-1].text) + 1))
        else:
            found.append(ChangedLine("left out", "1"))
    return found
