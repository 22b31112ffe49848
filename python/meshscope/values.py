"""Values that a caller gives, also as numpy and pandas have them, as SQLite and TOML know them."""

from __future__ import annotations

import json
import operator
import os
from typing import Any, Callable, Iterable, List, Union

from .errors import QueryError

Path = Union[str, "os.PathLike[str]"]


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own number, truth value or text, an array as a list; all else as it is."""
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "item"):
        return value.item()
    return value.tolist() if isinstance(shape, tuple) and hasattr(value, "tolist") else value


def bound(value: Any) -> Any:
    """What is bound to a `?` of a query. SQLite's binding would take other numbers for bytes, which equal nothing."""
    value = plain(value)
    if value is None or isinstance(value, (float, str)):
        return value
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"a query is given whole numbers, floats, strings and None; not {value!r}") from None
    if not -(1 << 63) <= whole < 1 << 63:
        raise QueryError(f"{whole} is out of range: whole numbers of a record have 64 bits")
    return whole


def is_several(value: Any) -> bool:
    """Whether this is something to be gone through, and not one value."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray))


def alternatives(wanted: Any) -> List[Any]:
    """What a condition allows: each value of what can be gone through, else the one value."""
    wanted = plain(wanted)
    each = wanted if is_several(wanted) else [wanted]
    return list(dict.fromkeys(bound(value) for value in each))


def list_alternatives(wanted: Any, text: Callable[[List[Any]], str]) -> List[Any]:
    """The same for a column of lists, which the file has as text: a flat list of numbers is one value."""
    wanted = plain(wanted)
    if not is_several(wanted):
        return [bound(wanted)]
    lists = [plain(value) for value in wanted]
    if not any(value is None or isinstance(value, str) or is_several(value) for value in lists):
        lists = [sorted(lists) if isinstance(wanted, (set, frozenset)) else lists]
    texts = [text([bound(value) for value in each]) if is_several(each) else bound(each) for each in lists]
    return list(dict.fromkeys(texts))


def ranks_text(ranks: List[Any]) -> str:
    """Ranks or coordinates as a record has them: `[0, 1]`."""
    return json.dumps(ranks)
