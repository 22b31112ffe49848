"""Opening a record's file: an SQLite file whose format docs/trace.md describes, checked before it is read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import sqlite3
import stat
import struct
import time
import weakref
from array import array
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .checksum import sum_of
from .errors import NotRecorded, QueryError, RecordError

APPLICATION_ID = 0x4D536370  # "MScp"
NEWEST_VERSION = 4
LEVELS = ("off", "collectives", "hops", "values")

# SHA-256 of the statements that make each version's tables and views, a line each: a view could compute for ever.
_SCHEMAS = {
    1: "b305bba1815bcfcfcee2b2125643a28639101707db437153c230b7e9f2415ad2",
    2: "60201fcbfa6100bdd1316c96f99e78b5cfbf7ace406b348331c9eac69a06abec",
    3: "6268224ec17976266110151b4d7800a1c6124ac982c46670fece2df541e81ba7",
    4: "198adca0b8e621b6c5270389c301dcd37d8935990456688898a50352e34c7924",
}

# Tables that are empty in a record of a lower level, what a reader knows them as, and the level that fills them.
_RECORDED = {
    "event": ("collectives, compute", 1),
    "dependency": ("dependencies", 1),
    "memory_change": ("memory", 1),
    "parameter_run": ("parameters", 1),
    "hop_block": ("hops", 2),
    "hop_piece": ("hop_pieces", 2),
    "snapshot": ("buffers, operands", 3),
    "value_block": ("buffers, operands", 3),
}

_VALUES_A_BLOCK = 65536
_HOP = struct.Struct("<6i6q")  # round, src, dst, chunk, reduces, pieces, offset, elements, bytes, begin, end, values
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer", "sqlite_log"}
_RECURSIVE = 33  # SQLITE_RECURSIVE, which sqlite3 names from Python 3.11 on
_LOOK_EVERY = 100_000  # SQLite's instructions between two looks whether Ctrl-C was pressed


def damaged(path: str, section: str) -> RecordError:
    return RecordError(
        f"{path}: the trace is damaged: its section '{section}' has changed since it was written; "
        "copy it again or run the scenario again"
    )


def _check_head(path: str) -> int:
    """What the header says before SQLite sees the file (sqlite.org/fileformat.html, 1.3); gives the version."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RecordError(f"cannot open {path} as a trace: {getattr(error, 'strerror', error)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RecordError(f"cannot open {path} as a trace: it is no file")
        size, head = status.st_size, os.read(descriptor, 100)
    finally:
        os.close(descriptor)
    written = "a trace (.mscope) is written by `meshscope run SCENARIO --trace FILE` or by meshscope.run()"
    if size == 0:
        raise RecordError(f"{path}: the file is empty; {written}")
    magic = b"SQLite format 3\0"
    if head[:16] != magic[: len(head)]:
        raise RecordError(f"{path}: this is not a Meshscope trace; {written}")

    def number(at: int, width: int) -> int:
        return int.from_bytes(head[at : at + width], "big")

    cut = "{}: the trace was cut off: it has {} bytes and should have {}; copy it again or run the scenario again"
    if len(head) < 100:
        raise RecordError(cut.format(path, size, "at least 100"))
    if number(68, 4) != APPLICATION_ID:
        raise RecordError(f"{path}: this is not a Meshscope trace; {written}")
    version = number(60, 4)
    if version > NEWEST_VERSION:
        raise RecordError(
            f"{path}: the trace has format version {version}; this package reads up to version {NEWEST_VERSION}: "
            "use the package that came with the newer Meshscope"
        )
    page = 65536 if number(16, 2) == 1 else number(16, 2)
    plain = page >= 512 and page & (page - 1) == 0 and number(18, 2) == 0x0101 and head[20] == 0
    if not plain or number(24, 4) != number(92, 4) or version < 1:
        raise damaged(path, "header")
    if size != page * number(28, 4):
        if size < page * number(28, 4):
            raise RecordError(cut.format(path, size, page * number(28, 4)))
        raise damaged(path, "file")
    return version


def _check_tables(path: str, connection: sqlite3.Connection, version: int, verify: bool) -> None:
    statements = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid")]
    if None in statements or hashlib.sha256("\n".join(statements).encode()).hexdigest() != _SCHEMAS[version]:
        raise damaged(path, "schema")
    if not verify:
        return
    sums = {name: (count, crc) for name, count, crc in connection.execute("SELECT * FROM checksum")}
    tables = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'checksum'")
    ]
    if set(sums) != set(tables):
        raise damaged(path, "checksum")
    for table in tables:
        key = sorted((column[5], column[1]) for column in connection.execute(f"PRAGMA table_info({table})") if column[5])
        order = ", ".join(f'"{name}"' for _, name in key)
        try:
            if sum_of(connection.execute(f"SELECT * FROM {table} ORDER BY {order}")) != sums[table]:
                raise damaged(path, table)
        except sqlite3.Error:
            raise damaged(path, table) from None


def _hop_rows(data: Any) -> str:
    """A collective's hops as JSON: an array of arrays, in the order of _HOP."""
    return json.dumps(list(_HOP.iter_unpack(data)))


def _shortest(number: float) -> str:
    """A float32 in as few digits as read back the same; NaN is null, infinity what JSON readers take for it."""
    if number != number:
        return "null"
    if number in (float("inf"), float("-inf")):
        return "9e999" if number > 0 else "-9e999"
    single = struct.Struct("f")
    for digits in (6, 7, 8, 9):
        text = f"{number:.{digits}g}"
        if single.unpack(single.pack(float(text)))[0] == number:
            break
    return text


def numbers_text(numbers: Sequence[Any]) -> str:
    """float32 numbers as `buffers` and `operands` have them."""
    return "[" + ", ".join(map(_shortest, numbers)) + "]"


def _number_list(block: Optional[bytes], following: Optional[bytes], first: int, n: int) -> Optional[str]:
    """n float32 numbers from `first` on, of two blocks one behind the other, as a JSON array."""
    data = (block or b"") + (following or b"")
    if first < 0 or n < 0 or 4 * (first + n) > len(data):
        return None
    return numbers_text(struct.unpack_from(f"<{n}f", data, 4 * first))


def _own_views(version: int) -> List[str]:
    """The views that need functions of ours; they stand before the file's own of the same name."""
    fields = ("round", "src", "dst", "chunk", "reduces", None, "offset", "elements", "bytes", "t_begin_ns", "t_end_ns")
    picked = {name: f"json_extract(h.value, '$[{i}]') AS {name}" for i, name in enumerate(fields) if name}
    order = ("round", "src", "dst", "chunk", "bytes", "offset", "elements", "reduces", "t_begin_ns", "t_end_ns")
    views = [
        "CREATE TEMP VIEW hops AS SELECT b.rank AS rank, b.event AS collective, h.key AS ordinal, "
        + ", ".join(picked[name] for name in order)
        + " FROM main.hop_block b, json_each(hop_rows(b.data)) h"
    ]
    block = "(SELECT v.data FROM main.value_block v WHERE v.rank = s.rank AND v.ordinal = s.first_value / %d%s)"
    side = "CASE s.kind WHEN 0 THEN 'input' ELSE 'output' END AS side, "
    numbers = "s.elements AS elements, number_list(%s, %s, s.first_value %% %d, s.elements) AS numbers" % (
        block % (_VALUES_A_BLOCK, ""),
        block % (_VALUES_A_BLOCK, " + 1"),
        _VALUES_A_BLOCK,
    )
    buffers = f"CREATE TEMP VIEW buffers AS SELECT s.rank, s.event AS collective, {side}{numbers} FROM main.snapshot s"
    if version < 4:
        return views + [buffers]
    return views + [
        buffers + " WHERE s.operand = 0",
        "CREATE TEMP VIEW operands AS SELECT s.rank, s.event AS kernel, (SELECT text FROM main.string WHERE id = "
        f's.operand) AS operand, {side}s."rows" AS "rows", s.columns AS columns, {numbers} '
        "FROM main.snapshot s WHERE s.operand <> 0",
    ]


class _Authorizer:
    """What a query may do: read tables and views, and of them what was recorded."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.lacking: Optional[Tuple[str, int]] = None
        self.stop: Optional[Callable[[], bool]] = None  # whether a query is to end before it is done
        self.stopped = False

    def look(self) -> int:
        self.stopped = self.stop is not None and self.stop()
        return int(self.stopped)

    def authorize(self, action: int, table: Optional[str], name: Optional[str], _: Any, view: Optional[str]) -> int:
        if action == sqlite3.SQLITE_READ:
            # One column of a view counts another table's rows: it alone is unknown, and reads as NULL.
            if table == "collectives" and name == "hops" and self.level < 2:
                return sqlite3.SQLITE_IGNORE
            if table == "hop_block" and view == "collectives":
                return sqlite3.SQLITE_OK
            what, least = _RECORDED.get(table or "", ("", 0))
            if least > self.level:
                self.lacking = (what, least)
                return sqlite3.SQLITE_DENY
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if name in _FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
        return sqlite3.SQLITE_OK if action in (sqlite3.SQLITE_SELECT, _RECURSIVE) else sqlite3.SQLITE_DENY


class TraceFile:
    """The file of a record, open for reading. Its queries can only read, and only what was recorded."""

    def __init__(self, path: str, verify: bool = True) -> None:
        self.path = path
        self.version = _check_head(path)
        uri = pathlib.Path(path).resolve().as_uri() + "?mode=ro&immutable=1"  # files are replaced, never changed
        try:
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        except sqlite3.Error:  # the file itself was read above: SQLite takes shorter paths than the system
            raise RecordError(f"cannot open {path} as a trace: its path is too long; move it to a shorter one") from None
        weakref.finalize(self, self._connection.close)
        try:
            _check_tables(path, self._connection, self.version, verify)
            self.meta: Dict[str, Any] = dict(self._connection.execute("SELECT key, value FROM meta"))
            level = self.meta["level"]
            if type(level) is not int or not 0 <= level < len(LEVELS):
                raise ValueError("level")
            self.level = LEVELS[level]
            self._authorizer = _Authorizer(level)
            self._restrict()
        except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
            raise damaged(path, "file" if isinstance(error, sqlite3.Error) else "meta") from None

    def _restrict(self) -> None:
        connection = self._connection
        connection.create_function("hop_rows", 1, _hop_rows, deterministic=True)
        connection.create_function("number_list", 4, _number_list, deterministic=True)
        connection.execute("PRAGMA temp_store = MEMORY")
        for view in _own_views(self.version):
            connection.execute(view)
        # json_each declares its columns when it is first used, which the authorizer would take for a change.
        connection.execute("SELECT * FROM json_each(NULL)").fetchall()
        connection.execute("SELECT * FROM json_tree(NULL)").fetchall()
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(self._authorizer.authorize)
        connection.set_progress_handler(self._authorizer.look, _LOOK_EVERY)

    @contextlib.contextmanager
    def limited(self, seconds: float, stop: Callable[[], bool]) -> Iterator[None]:
        """Queries within it end, as QueryError, once the seconds are over or `stop` says so."""
        end = time.monotonic() + seconds
        self._authorizer.stop = lambda: time.monotonic() > end or stop()
        try:
            yield
        finally:
            self._authorizer.stop = None

    def query(self, sql: str, values: Sequence[Any] = ()) -> Tuple[Tuple[str, ...], List[Tuple[Any, ...]]]:
        """Columns and rows of one SELECT; `values` as `bound` gives them."""
        self._authorizer.lacking, self._authorizer.stopped = None, False
        try:
            cursor = self._connection.execute(sql, values)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: text that is not Unicode, or has a NUL
            raise self._refusal(sql, error) from None
        if cursor.description is None:
            raise QueryError("this is no query: give one SELECT")
        return tuple(column[0] for column in cursor.description), rows

    def _refusal(self, sql: str, error: Exception) -> BaseException:
        if self._authorizer.lacking:
            what, least = self._authorizer.lacking
            return NotRecorded(
                f"{self.path}: this record does not hold {what}: it was made with the level {self.level}, and that "
                f"needs {LEVELS[least]} or more (run with level=\"{LEVELS[least]}\")"
            )
        text = str(error)
        if "closed database" in text:
            return QueryError(f"{self.path}: this record is closed; open it again")
        if self._authorizer.stopped:
            return QueryError("this query took too long and was ended")
        if text == "interrupted":  # only the progress handler does, when Ctrl-C is pressed within it
            return KeyboardInterrupt()
        ours = "user-defined function" in text and not re.search("hop_rows|number_list", sql, re.I)
        if ours or any(words in text for words in ("malformed", "disk I/O", "Could not decode")):
            return damaged(self.path, "file")
        first = sql.lstrip(" \t\r\n;(").split(None, 1)[:1]
        if "not authorized" in text or "readonly" in text or (first and first[0].upper() not in ("SELECT", "WITH")):
            return QueryError(f"a record can only be read: give one SELECT ({text})")
        return QueryError(f"SQLite does not take this query: {text}")

    def close(self) -> None:
        self._connection.close()


def exact_numbers(numbers: Sequence[Optional[float]]) -> Tuple[float, ...]:
    """The float32 numbers that those of a JSON array stand for; null is NaN."""
    return tuple(array("f", [float("nan") if number is None else number for number in numbers]))


def exact(numbers: Optional[str]) -> Optional[Tuple[float, ...]]:
    """The same of the text in which `buffers` and `operands` have them."""
    return None if numbers is None else exact_numbers(json.loads(numbers))
