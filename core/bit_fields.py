"""Numbers and columns of numbers in as few bits as they need. Invariant: what is put is read, in order.

The numbers of a column take the bits of its greatest one. Bits of 0 at the end take no bytes, because a
reader finds zeros behind the end. A number that may be below 0 is put in zigzag form: 0, -1, 1, -2, 2, ...
"""

from collections.abc import Sequence

_SIZE_BITS = 6  # of a column: how many bits a number takes, up to 63


class BitWriter:
    def __init__(self) -> None:
        self._content = 0
        self._bits = 0

    def put(self, number: int, bits: int) -> None:
        """Append a number of at least 0 that fits into `bits`."""
        self._content |= number << self._bits
        self._bits += bits

    def put_column(self, numbers: Sequence[int]) -> None:
        size = max(numbers, default=0).bit_length()
        self.put(size, _SIZE_BITS)
        column = 0
        for number in reversed(numbers):
            column = column << size | number
        self.put(column, size * len(numbers))

    def put_rare(self, numbers: Sequence[int]) -> None:
        """Append a column whose numbers are nearly always 0: each of those takes 1 bit."""
        self.put(sum(1 << at for at, number in enumerate(numbers) if number), len(numbers))
        self.put_column([number for number in numbers if number])

    def content(self) -> bytes:
        return self._content.to_bytes((self._content.bit_length() + 7) // 8, "little")


class BitReader:
    def __init__(self, content: bytes) -> None:
        self._content = int.from_bytes(content, "little")

    def take(self, bits: int) -> int:
        number = self._content & (1 << bits) - 1
        self._content >>= bits
        return number

    def take_column(self, length: int) -> list[int]:
        size = self.take(_SIZE_BITS)
        if not size:
            return [0] * length
        column, mask = self.take(size * length), (1 << size) - 1
        return [column >> at & mask for at in range(0, size * length, size)]

    def skip_column(self, length: int) -> None:
        size = self.take(_SIZE_BITS)
        self._content >>= size * length

    def skip_rare(self, length: int) -> None:
        self.skip_column(self.take(length).bit_count())

    def take_rare(self, length: int) -> list[int]:
        marks = self.take(length)
        found = iter(self.take_column(marks.bit_count()))
        if not marks:
            return [0] * length
        return [next(found) if marks >> at & 1 else 0 for at in range(length)]


def zigzag(change: int) -> int:
    return change << 1 if change >= 0 else (-change << 1) - 1


def change_of(number: int) -> int:
    """Return what `zigzag` was given."""
    return -(number + 1 >> 1) if number & 1 else number >> 1
