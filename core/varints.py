"""Numbers of any size as LEB128 varints: 7 bits a byte, the low ones first. Law: what is put is read."""

from collections.abc import Iterable, Iterator


def put_number(body: bytearray, number: int) -> None:
    """Append a number from 0."""
    while number > 0x7F:
        body.append(number & 0x7F | 0x80)
        number >>= 7
    body.append(number)


def put_change(body: bytearray, change: int) -> None:
    """Append a number that may be below 0, in zigzag form: 0, -1, 1, -2, 2, ..."""
    put_number(body, change << 1 if change >= 0 else (-change << 1) - 1)


def change_of(number: int) -> int:
    """Return what `put_change` put, from the number that `numbers_in` read."""
    return -(number + 1 >> 1) if number & 1 else number >> 1


def numbers_in(content: Iterable[int]) -> Iterator[int]:
    """Yield the numbers in bytes. One that is cut off at the end is left out."""
    number = shift = 0
    for byte in content:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            yield number
            number = shift = 0
