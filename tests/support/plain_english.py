"""A search for English that readers stumble over, in docstrings, comments, texts and documents.

It finds openings that circle around the subject ("What", "Whether"), words that nobody says, and "Law:". Text
in quotation marks and code is a quotation.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
NOT_OURS = {"build", "data", "dist", "node_modules", "vendor"}
OPENINGS = ("What", "Whether", "Of", "Those", "That of", "How", "Who", "Whom", "For so long", "As long as it")
WORDS = (
    *(
        "anew",
        "lately",
        "thereby",
        "whoever",
        "whomever",
        "that which",
        "is told of",
        "comes to",
        "stands in",
    ),
    *("holds what", "goes with", "mend", "mends", "by itself"),
)
OPENING = re.compile(rf"(?:{'|'.join(OPENINGS)})\b")
WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"``.*?``|`[^`]*`|“[^”]*”|\"[^\"]*\"")
ITEM = re.compile(r"(?:[*+-]|\d+\.)\s+")
COMMENT = re.compile(r"\{#-?\s*(.*?)-?#\}", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


class Finding(NamedTuple):
    line: int
    text: str


def findings(path: Path) -> list[Finding]:
    """Return the findings in one file."""
    text = path.read_text()
    if path.suffix == ".py":
        is_test = path.is_relative_to(ROOT / "tests")
        spoken = [*spoken_in(text), *(() if is_test else strings_in(text))]
        return [each for line, words, is_block in spoken for each in judged(line, words, is_block=is_block)]
    if path.suffix == ".md":
        plain = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
        return judged(1, plain, is_block=True)
    comments = [
        each
        for comment in COMMENT.finditer(text)
        for each in judged(text.count("\n", 0, comment.start()) + 1, comment[1], is_block=True)
    ]
    return [*comments, *judged(1, text, is_block=False)]


def judged(line: int, text: str, *, is_block: bool) -> list[Finding]:
    """Return the findings in a text. The paragraphs of a block have openings."""
    plain = QUOTED.sub(lambda found: re.sub(r"[^\n]", "·", found[0]), text)
    spaced = re.sub(r"(?<=\S)\n(?= *\S)", " ", plain)  # the same length: a phrase may be on two lines
    found = [(each.start(), each[0]) for each in WORD.finditer(spaced)]
    if is_block:
        found += [(each.start(), "Law:") for each in re.finditer(r"\bLaw:", plain)]
        found += [(start, opening[0]) for start, opening in _openings(plain)]
    return [Finding(line + text.count("\n", 0, start), word) for start, word in sorted(found)]


def _openings(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield banned openings of paragraphs and list items. A question may begin so."""
    for paragraph in re.finditer(r"(?:^[^\n]*\S[^\n]*(?:\n|$))+", text, re.MULTILINE):
        starts = [0, *(each.end() for each in re.finditer(r"\n(?=\s*(?:[*+-]|\d+\.)\s)", paragraph[0]))]
        for start, end in zip(starts, [*starts[1:], len(paragraph[0])], strict=True):
            part = paragraph[0][start:end]
            words = part.lstrip()
            item = ITEM.match(words)
            words = words[item.end() :] if item is not None else words
            opening = OPENING.match(words)
            if opening is not None and not re.match(r"[^.!:]*\?", words):
                yield paragraph.start() + start, opening


def spoken_in(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the docstrings and comments of a module: line, text, and true for what begins a sentence."""
    covered = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno is not None:
            covered.update(range(node.lineno, node.end_lineno + 1) if node.end_lineno > node.lineno else ())
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value, True
    block: list[str] = []
    lines = [*source.splitlines(), ""]
    for number, line in enumerate(lines, 1):
        whole = re.match(r"\s*#\s?(?!!)(.*)", line) if number not in covered else None
        if whole is not None:
            block.append(whole[1])
            continue
        if block:
            yield number - len(block), "\n".join(block), True
            block = []
        beside = (
            re.search(r"[^\s#\"'][^#\"']*?  # (?!noqa|type:|pragma)(.*)", line)
            if number not in covered
            else None
        )
        if beside is not None:
            yield number, beside[1], True


def strings_in(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield all other strings: texts of pages, refusals, help and log lines are among them.

    A string with a blank inside may be a sentence, so it has an opening.
    """
    tree = ast.parse(source)
    spoken = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
            yield node.lineno, node.value, " " in node.value.strip()


def files() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.suffix not in {".py", ".md", ".html"} or not NOT_OURS.isdisjoint(parts):
            continue
        if not any(part.startswith(".") for part in parts) and not path.is_symlink():
            yield path


def all_findings() -> list[str]:
    """Return the findings of all files, with their places."""
    return [
        f"{path.relative_to(ROOT)}:{each.line}: {each.text}" for path in files() for each in findings(path)
    ]
