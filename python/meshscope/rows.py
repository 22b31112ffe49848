"""Rows that a record is asked for, and what they can be turned into."""

from __future__ import annotations

import collections
import html
from typing import Any, Dict, Generic, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar, get_type_hints

Row = TypeVar("Row", bound=Tuple[Any, ...])

_TYPES: Dict[Any, str] = {int: "i8", float: "f8", Optional[int]: "f8", Optional[float]: "f8", str: "U1"}
SHOWN_ROWS = 20
"""How many rows a notebook shows of a longer list."""


class Collective(NamedTuple):
    """One rank's part in a collective. docs/trace.md describes each column."""

    rank: int
    id: int
    step: int
    phase: str
    op: str
    reduce_op: str
    mesh_dim: str
    group_ranks: Tuple[int, ...]
    group_size: int
    group_id: int
    sequence: int
    in_elements: int
    out_elements: int
    dtype: str
    bytes: int
    algorithm: str
    hops: Optional[int]
    unit: str
    rule: str
    prefetch: int
    microbatch: int
    peer: Optional[int]
    padding: int
    stream: str
    t_issue_ns: int
    t_begin_ns: int
    t_end_ns: int
    source: str


class Compute(NamedTuple):
    """One kernel on one rank."""

    rank: int
    id: int
    step: int
    phase: str
    name: str
    unit: str
    microbatch: int
    flops: int
    touched_bytes: int
    stream: str
    t_issue_ns: int
    t_begin_ns: int
    t_end_ns: int


class Event(NamedTuple):
    """A collective (`name` is its op) or a kernel, in the order in which a rank issued them."""

    rank: int
    id: int
    kind: str
    step: int
    phase: str
    name: str
    unit: str
    microbatch: int
    stream: str
    t_issue_ns: int
    t_begin_ns: int
    t_end_ns: int


class Hop(NamedTuple):
    """One message on a link, as its receiver saw it."""

    rank: int
    collective: int
    ordinal: int
    round: int
    src: int
    dst: int
    chunk: int
    bytes: int
    offset: int
    elements: int
    reduces: int
    t_begin_ns: int
    t_end_ns: int


class MemoryChange(NamedTuple):
    """An allocation or a free; `total_bytes` is what the rank's device holds after it."""

    rank: int
    ordinal: int
    step: int
    phase: str
    category: str
    label: str
    allocation: int
    delta_bytes: int
    total_bytes: int
    after_event: Optional[int]
    t_ns: int


class Peak(NamedTuple):
    """The most that a rank's device held, the allocation that made it so, and what was alive then, by category."""

    rank: int
    bytes: int
    step: int
    phase: str
    category: str
    label: str
    by_category: Dict[str, int]


class Rank(NamedTuple):
    """A rank and its sums; None is what was not recorded."""

    rank: int
    coordinate: Optional[Tuple[int, ...]]
    in_mesh: int
    node: int
    events: Optional[int]
    collectives: Optional[int]
    bytes: Optional[int]
    peak_bytes: Optional[int]
    peak_step: Optional[int]
    peak_ordinal: Optional[int]


class Step(NamedTuple):
    """A training step, summed over all ranks."""

    step: int
    loss: Optional[float]
    grad_norm: Optional[float]
    collectives: Optional[int]
    compute: Optional[int]
    bytes: Optional[int]


class Loss(NamedTuple):
    """The mean loss over the global batch."""

    step: int
    loss: float


class Group(NamedTuple):
    """A process group."""

    id: int
    mesh_dim: str
    ranks: Tuple[int, ...]
    size: int


class Dependency(NamedTuple):
    """`event` could not begin before `on_event` had ended, beyond the order of its stream."""

    rank: int
    event: int
    on_event: int


class ParameterRun(NamedTuple):
    """A run of numbers of a parameter that a rank keeps."""

    rank: int
    ordinal: int
    parameter: str
    unit: str
    rows: int
    columns: int
    first_row: int
    n_rows: int
    first_column: int
    n_columns: int
    first: int
    elements: int
    first_in_shard: int
    padding: int
    updated: int


class Buffer(NamedTuple):
    """What a collective's buffer held before (`input`) or after it (`output`)."""

    rank: int
    collective: int
    side: str
    elements: int
    numbers: Optional[Tuple[float, ...]]


class Operand(NamedTuple):
    """What a kernel read or wrote; `numbers` is None where only the shape was kept."""

    rank: int
    kernel: int
    operand: str
    side: str
    rows: int
    columns: int
    elements: int
    numbers: Optional[Tuple[float, ...]]


class Weight(NamedTuple):
    """A parameter after the last step, row-major."""

    name: str
    shape: Tuple[int, ...]
    numbers: Tuple[float, ...]

    def to_numpy(self) -> Any:
        """The numbers as a float32 array of this shape. Needs numpy."""
        import numpy

        return numpy.array(self.numbers, dtype=numpy.float32).reshape(self.shape)


class Rows(List[Row], Generic[Row]):
    """A list of named tuples that knows its columns, also where it is empty."""

    def __init__(self, rows: Iterable[Row], columns: Sequence[str], kind: Optional[Type[Any]] = None) -> None:
        super().__init__(rows)
        self.columns: Tuple[str, ...] = tuple(columns)
        self._kind = kind  # the named tuple of the rows, where its annotations tell the columns' types

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return Rows(found, self.columns, self._kind) if isinstance(at, slice) else found

    def table(self) -> List[Tuple[Any, ...]]:
        """The rows with a cell for each of `columns`."""
        return list(self)

    def column(self, name: str) -> List[Any]:
        """The cells of one column."""
        at = self.columns.index(name)
        return [row[at] for row in self.table()]

    def to_dicts(self) -> List[Dict[str, Any]]:
        """Each row as a dict by column."""
        return [dict(zip(self.columns, row)) for row in self.table()]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of these columns. Needs pandas."""
        import pandas

        table = pandas.DataFrame.from_records([tuple(row) for row in self.table()], columns=list(self.columns))
        if self:
            return table
        return table.astype({name: kind for name, kind in self._empty_types() if kind in ("i8", "f8")})

    def to_numpy(self) -> Any:
        """A structured array, one field a column: whole numbers as int64, others as float64 (NaN where a cell is
        None), texts as strings, anything else as objects. Needs numpy."""
        import numpy

        rows = self.table()
        fields = [(name, _numpy_type([row[i] for row in rows])) for i, name in enumerate(self.columns)]
        fields = fields if self else self._empty_types()
        cells = [tuple(_numpy_cell(cell, kind) for cell, (_, kind) in zip(row, fields)) for row in rows]
        return numpy.array(cells, dtype=fields)

    def _empty_types(self) -> List[Tuple[str, str]]:
        """What numpy calls each column where no row tells: by its annotation, else an object."""
        hints = get_type_hints(self._kind) if self._kind else {}
        return [(name, _TYPES.get(hints.get(name), "O")) for name in self.columns]

    def _repr_html_(self) -> str:
        return html_table(self.columns, self[:SHOWN_ROWS], len(self))


def row_class(columns: Sequence[str]) -> Any:
    """The named tuple of a query's rows; its rows can be pickled and copied."""
    kind = collections.namedtuple("SqlRow", columns, rename=True)  # type: ignore[misc]
    kind.__reduce__ = lambda row: (_row, (tuple(columns), tuple(row)))  # type: ignore[method-assign,assignment]
    return kind


def _row(columns: Tuple[str, ...], cells: Tuple[Any, ...]) -> Any:
    return row_class(columns)._make(cells)


def unique(columns: Sequence[str]) -> Tuple[str, ...]:
    """The names of a query's columns, each once: rank, rank_2."""
    names: List[str] = []
    for name in columns:
        n, free = 1, name
        while free in names or (n > 1 and free in columns):
            n += 1
            free = f"{name}_{n}"
        names.append(free)
    return tuple(names)


def _numpy_type(cells: Sequence[Any]) -> str:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, str) for cell in known) and len(known) == len(cells):
        return "U%d" % max(1, max(map(len, known)))
    if not all(isinstance(cell, (int, float)) for cell in known):
        return "O"
    return "i8" if len(known) == len(cells) and all(isinstance(cell, int) for cell in known) else "f8"


def _numpy_cell(cell: Any, kind: str) -> Any:
    return float("nan") if cell is None and kind == "f8" else cell


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], n_rows: int) -> str:
    """A table for notebooks; says how many rows there are where not all are given."""
    rows = list(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{'' if cell is None else html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    more = f"<p>{len(rows)} of {n_rows} rows</p>" if len(rows) < n_rows else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
