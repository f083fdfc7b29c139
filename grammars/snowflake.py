"""Ids of the chat platform. Law: one spelling per id, so that equal ids are equal strings.

A snowflake is an unsigned 64-bit number in 17 to 20 ASCII digits without a leading zero. Digits of other
scripts, signs and spaces are not digits here.
"""

MAX = (1 << 64) - 1


def is_snowflake(text: str) -> bool:
    return (
        17 <= len(text) <= 20
        and text.isascii()
        and text.isdigit()
        and text[0] != "0"
        and (len(text) < 20 or int(text) <= MAX)
    )
