"""The code by which a user proves to control a bot: it is in the application's public description."""

from collections.abc import Callable

CODE_PREFIX = "votegate-"
CODE_CHARACTERS = 10
CodeOf = Callable[[str, str], str]
"""Returns the code of a listing's ref and a user's id: another user has another one."""


def code_maker(digest: Callable[[str], str]) -> CodeOf:
    """Return what makes the codes of a deployment. `digest` makes a keyed digest of a text."""
    return lambda ref, user_id: CODE_PREFIX + digest(f"prove {ref} {user_id}")[:CODE_CHARACTERS]
