"""CRC-32C over the cells of a record's tables, as docs/trace.md defines it."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Any, Iterable, List, Optional, Tuple

POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
KEPT_BYTES = 1 << 16

_INTEGER = struct.Struct("<Bq").pack
_REAL = struct.Struct("<Bd").pack
_LENGTH = struct.Struct("<BQ").pack
_END_OF_ROW = b"\x05"

_pairs: Optional[List[int]] = None


def _table() -> List[int]:
    """What two bytes at once make of the remainder: half as many iterations as with one."""
    global _pairs
    if _pairs is None:
        single = []
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
            single.append(byte)
        _pairs = [0] * 65536
        for pair in range(65536):
            first = single[pair & 255]
            _pairs[pair] = single[(first ^ pair >> 8) & 255] ^ first >> 8
    return _pairs


class Crc32c:
    """Adds bytes one after the other: some megabytes a second."""

    def __init__(self) -> None:
        self._crc = 0xFFFFFFFF
        self._rest = bytearray()

    def add(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) >= KEPT_BYTES:
            self._take(len(self._rest) & ~1)

    def _take(self, n: int) -> None:
        pairs = array("H", bytes(self._rest[:n]))
        if sys.byteorder == "big":
            pairs.byteswap()
        crc, table = self._crc, _table()
        for pair in pairs:
            crc = table[(crc ^ pair) & 0xFFFF] ^ crc >> 16
        self._crc = crc
        del self._rest[:n]

    def value(self) -> int:
        self._take(len(self._rest) & ~1)
        crc = self._crc
        for byte in self._rest:  # one at most
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        return crc ^ 0xFFFFFFFF


def cells(row: Iterable[Any]) -> bytes:
    """A row as the checksum reads it."""
    parts = []
    for cell in row:
        if cell is None:
            parts.append(b"\x00")
        elif isinstance(cell, int):
            parts.append(_INTEGER(1, cell))
        elif isinstance(cell, float):
            parts.append(_REAL(2, cell))
        else:
            data = cell.encode("utf-8") if isinstance(cell, str) else bytes(cell)
            parts.append(_LENGTH(3 if isinstance(cell, str) else 4, len(data)))
            parts.append(data)
    parts.append(_END_OF_ROW)
    return b"".join(parts)


def sum_of(rows: Iterable[Iterable[Any]]) -> Tuple[int, int]:
    """How many rows there are, and their checksum."""
    crc, count = Crc32c(), 0
    for row in rows:
        crc.add(cells(row))
        count += 1
    return count, crc.value()
