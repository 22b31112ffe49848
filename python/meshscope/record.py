"""A recorded run: what `meshscope run --trace FILE.mscope` wrote, as lists of named tuples."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import shutil
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

from .errors import NotRecorded, QueryError
from .page import page_environment
from .program import options_of, run_program
from .rows import (Buffer, Collective, Compute, Dependency, Event, Group, Hop, Loss, MemoryChange, Operand, ParameterRun,
                   Peak, Rank, Rows, Step, Weight, html_table, row_class, unique)
from .trace_file import TraceFile, damaged, exact, exact_numbers, numbers_text
from .values import Path, alternatives, bound, list_alternatives, ranks_text


@dataclasses.dataclass(frozen=True)
class Mesh:
    """The device mesh: `ranks` row-major, `names` one a dim (empty where the dims have none)."""

    shape: Tuple[int, ...]
    names: Tuple[str, ...]
    ranks: Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Info:
    """What a record says of its run. `steps` counts those that are whole; `failure` is None where it came to its end.

    `scenario` is the text that ran. `scenario_path` is where the command read it: of a run with changed keys, or of a text,
    a file that was made for the run and is gone.
    """

    title: str
    title_zh: str
    scenario: str
    scenario_path: str
    backend: str
    engine_version: str
    level: str
    world_size: int
    steps: int
    failure: Optional[Dict[str, Any]]


def _typed(meta: Dict[str, Any], key: str, kind: Type[Any]) -> Any:
    if type(meta[key]) is not kind:
        raise TypeError(key)
    return meta[key]


def _ranks(text: Optional[str]) -> Optional[Tuple[int, ...]]:
    return None if text is None else tuple(json.loads(text))


# How the text of a column becomes what its named tuple has.
_READ: Dict[Tuple[Type[Any], str], Callable[[Any], Any]] = {
    (Collective, "group_ranks"): _ranks,
    (Group, "ranks"): _ranks,
    (Rank, "coordinate"): _ranks,
    (Buffer, "numbers"): exact,
    (Operand, "numbers"): exact,
}

_EVENTS = (
    "(SELECT rank, id, 'collective' AS kind, step, phase, op AS name, unit, microbatch, stream, t_issue_ns, t_begin_ns, "
    "t_end_ns FROM collectives UNION ALL SELECT rank, id, 'compute', step, phase, name, unit, microbatch, stream, "
    "t_issue_ns, t_begin_ns, t_end_ns FROM compute)"
)


# What decoding raises where the text is not what a run writes.
_UNDECODED = (KeyError, TypeError, ValueError, ArithmeticError, RecursionError)


class Record:
    """A recorded run. `meshscope.open(FILE)` and `meshscope.run(SCENARIO)` give one.

    Each method reads one view of docs/trace.md and gives its rows as `Rows`. Where it takes conditions, each is a column
    and its value, or several of them in a list, an array or a column of a DataFrame:
    `record.collectives(rank=0, step=1, op=["all_gather", "reduce_scatter"])`.
    What the run's level left out raises `NotRecorded`.
    """

    def __init__(self, path: Path, verify: bool = True, owns: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        # The folder of a run that was saved nowhere: it goes when the record does.
        self._remove = owns and weakref.finalize(self, shutil.rmtree, owns, ignore_errors=True)
        self._file = TraceFile(self.path, verify)
        try:
            self._read_meta(self._file.meta)
        except _UNDECODED:  # its checksums hold, but no run wrote it
            self._file.close()
            raise damaged(self.path, "meta") from None

    def _read_meta(self, meta: Dict[str, Any]) -> None:
        failure = json.loads(meta["failure"]) if "failure" in meta else None
        if failure is not None and not isinstance(failure, dict):
            raise ValueError("failure")
        self.info = Info(
            title=_typed(meta, "title_en", str),
            title_zh=_typed(meta, "title_zh", str),
            scenario=_typed(meta, "scenario", str),
            scenario_path=_typed(meta, "scenario_path", str),
            backend=_typed(meta, "backend", str),
            engine_version=_typed(meta, "engine_version", str),
            level=self._file.level,
            world_size=_typed(meta, "world_size", int),
            steps=_typed(meta, "steps", int),
            failure=failure,
        )
        dims = self._file.query("SELECT name, size FROM mesh_dim ORDER BY id")[1]
        self.mesh = Mesh(
            shape=tuple(size for _, size in dims),
            names=tuple(name for name, _ in dims[: _typed(meta, "mesh_names", int)]),
            ranks=tuple(rank for (rank,) in self._file.query("SELECT rank FROM mesh_cell ORDER BY id")[1]),
        )

    def close(self) -> None:
        """Closes the file, and removes it where the run was saved nowhere."""
        self._file.close()
        if self._remove:
            self._remove()

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<meshscope.Record {self.path}: {self.info.world_size} ranks, {self.info.steps} steps>"

    def sql(self, query: str, *values: Any) -> Rows[Any]:
        """The rows of one SELECT over the views and tables of docs/trace.md; `values` stand for its `?`.

        A name that several columns have is made unique: rank, rank_2.
        """
        columns, rows = self._file.query(query, [bound(value) for value in values])
        columns = unique(columns)
        kind = row_class(columns)
        return Rows([kind._make(row) for row in rows], columns)

    def value(self, query: str, *values: Any) -> Any:
        """The one value that a SELECT gives."""
        columns, rows = self._file.query(query, [bound(value) for value in values])
        if len(rows) != 1 or len(columns) != 1:
            raise QueryError(f"this query gives {len(rows)} rows of {len(columns)} columns; one value is asked for")
        return rows[0][0]

    def _read(self, kind: Type[Any], view: str, order: str, conditions: Dict[str, Any]) -> Rows[Any]:
        where: List[str] = []
        values: List[Any] = []
        for name, wanted in conditions.items():
            if name not in kind._fields:
                raise TypeError(f"there is no column {name}; there are: {', '.join(kind._fields)}")
            column = f'"{name}"'
            if (kind, name) in _READ:  # stored as the text of a list
                allowed = list_alternatives(wanted, numbers_text if name == "numbers" else ranks_text)
            else:
                allowed = alternatives(wanted)
            known = [value for value in allowed if value is not None]
            terms = [f"{column} IN ({', '.join('?' * len(known))})"]
            if len(known) < len(allowed):
                terms.append(f"{column} IS NULL")
            where.append(f"({' OR '.join(terms)})")
            values += known
        columns = ", ".join(f'"{name}"' for name in kind._fields)
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        _, rows = self._file.query(f"SELECT {columns} FROM {view}{condition} ORDER BY {order}", values)
        readers = [(i, _READ[kind, name]) for i, name in enumerate(kind._fields) if (kind, name) in _READ]
        made = []
        for row in rows:
            cells = list(row)
            try:
                for i, read in readers:
                    cells[i] = read(cells[i])
            except _UNDECODED:
                raise damaged(self.path, view) from None
            made.append(kind._make(cells))
        return Rows(made, kind._fields, kind)

    def collectives(self, **conditions: Any) -> Rows[Collective]:
        """A row for each rank that took part in a collective."""
        return self._read(Collective, "collectives", "rank, id", conditions)

    def compute(self, **conditions: Any) -> Rows[Compute]:
        """A row for each kernel."""
        return self._read(Compute, "compute", "rank, id", conditions)

    def events(self, **conditions: Any) -> Rows[Event]:
        """Collectives and kernels together, as each rank issued them."""
        return self._read(Event, _EVENTS, "rank, id", conditions)

    def hops(self, **conditions: Any) -> Rows[Hop]:
        """A row for each message on a link. Needs the level hops."""
        return self._read(Hop, "hops", "rank, collective, ordinal", conditions)

    def memory(self, **conditions: Any) -> Rows[MemoryChange]:
        """A row for each allocation and each free; `peaks()` has the highest points."""
        return self._read(MemoryChange, "memory", "rank, ordinal", conditions)

    def peaks(self) -> Rows[Peak]:
        """Each rank's highest point, and what was alive there; `offloaded` lies in the host's memory and is left out.

        Ranks of which nothing is known have no row.
        """
        alive: Dict[int, Dict[str, int]] = {}
        for rank, category, held in self._file.query(
            "SELECT m.rank, m.category, sum(m.delta_bytes) FROM memory m JOIN ranks r ON r.rank = m.rank WHERE m.ordinal <= "
            "r.peak_ordinal AND m.category <> 'offloaded' GROUP BY m.rank, m.category HAVING sum(m.delta_bytes) > 0"
        )[1]:
            alive.setdefault(rank, {})[category] = held
        rows = self._file.query(
            "SELECT r.rank, r.peak_bytes, r.peak_step, m.phase, m.category, m.label FROM ranks r JOIN memory m "
            "ON m.rank = r.rank AND m.ordinal = r.peak_ordinal ORDER BY r.rank"
        )[1]
        return Rows([Peak._make((*row, alive.get(row[0], {}))) for row in rows], Peak._fields)

    def ranks(self, **conditions: Any) -> Rows[Rank]:
        """Ranks and their sums."""
        return self._read(Rank, "ranks", "rank", conditions)

    def steps(self, **conditions: Any) -> Rows[Step]:
        """Steps, summed over all ranks."""
        return self._read(Step, "steps", "step", conditions)

    def losses(self) -> Rows[Loss]:
        """The loss of each step."""
        return self._read(Loss, "losses", "step", {})

    def groups(self, **conditions: Any) -> Rows[Group]:
        """The process groups."""
        return self._read(Group, "groups", "id", conditions)

    def dependencies(self, **conditions: Any) -> Rows[Dependency]:
        """Which event waited for which, beyond the order of its stream."""
        return self._read(Dependency, "dependencies", "rank, event, on_event", conditions)

    def parameters(self, **conditions: Any) -> Rows[ParameterRun]:
        """Which numbers of which parameter each rank keeps."""
        if self._file.version < 2:
            raise NotRecorded(f"{self.path}: a record of format version 1 does not tell who keeps what; run it again")
        return self._read(ParameterRun, "parameters", "rank, ordinal", conditions)

    def buffers(self, **conditions: Any) -> Rows[Buffer]:
        """What the buffers of collectives held. Needs the level values."""
        return self._read(Buffer, "buffers", "rank, collective, side", conditions)

    def operands(self, **conditions: Any) -> Rows[Operand]:
        """What kernels read and wrote. Needs the level values."""
        if self._file.version < 4:
            raise NotRecorded(f"{self.path}: records of format versions before 4 hold no operands; run it again")
        return self._read(Operand, "operands", "rank, kernel, side, operand", conditions)

    def weights(self) -> Rows[Weight]:
        """The parameters after the last step, of a run that came to its end and has at most 65,536 of them."""
        kept = self._file.meta.get("parameters")
        if kept is None:
            raise NotRecorded(
                f"{self.path}: this record does not hold the weights: only runs that came to their end, of models of at "
                "most 65,536 numbers, keep them; run(…, weights=FILE) writes those of any model"
            )
        try:
            rows = [
                Weight(each["name"], tuple(each["shape"]), exact_numbers(each["numbers"])) for each in json.loads(kept)
            ]
        except _UNDECODED:
            raise damaged(self.path, "meta") from None
        return Rows(rows, Weight._fields)

    def export(self, format: str, out: Path, force: bool = False, lang: Optional[str] = None,
               **options: Any) -> str:
        """Writes the record for other programs, as `meshscope trace export` does: perfetto, csv (`what="hops"`), html
        (`steps="10:20"`), svg, png, gif, mp4 (`view="memory"`, `rank=1`, …). Gives the path of what was written."""
        arguments = ["trace", "export", format, os.path.abspath(self.path), "-o", os.path.abspath(os.fspath(out))]
        run_program(arguments + options_of({**options, "force": force}), lang=lang,
                    environment=page_environment() if format == "html" else None)
        return os.fspath(out)

    def _repr_html_(self) -> str:
        mesh = " × ".join(map(str, self.mesh.shape))
        if self.mesh.names:
            mesh += f" ({', '.join(self.mesh.names)})"
        facts = [("backend", self.info.backend), ("recorded", self.info.level), ("world size", self.info.world_size),
                 ("mesh", mesh), ("steps", self.info.steps)]
        losses = self.losses().column("loss")
        if losses:
            facts.append(("loss", f"{losses[0]:.6g} → {losses[-1]:.6g}"))
        if self.info.failure is not None:
            facts.append(("failure", self.info.failure.get("id", "")))
        title = html.escape(self.info.title or os.path.basename(self.path))
        about = html_table(("run", ""), facts, len(facts))
        if self.info.level == "off":
            return f"<p><b>{title}</b></p>{about}"
        sums = self.sql("SELECT op, mesh_dim, count(*) AS calls, sum(bytes) AS bytes FROM collectives GROUP BY op, mesh_dim")
        return f"<p><b>{title}</b></p>{about}{sums._repr_html_()}"
