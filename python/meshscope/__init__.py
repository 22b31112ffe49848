"""Meshscope from Python: records of distributed training that really ran, as lists, arrays and tables.

    import meshscope

    record = meshscope.run("hsdp")                      # a lesson, a scenario file or a scenario's text
    record = meshscope.open("hsdp.mscope")              # what was recorded before
    record.collectives(rank=0, step=1).to_pandas()

A record is read by this package alone; `run`, `predict`, `plan`, `mesh`, `numbers`, `questions`, `grade`, `show` of a
record and exports start the installed command. docs/python.md tells it all. The name `meshscope.torch` is kept free for
recording runs of PyTorch.
"""

from __future__ import annotations

from ._version import __version__
from .answers import mesh, numbers, plan, predict
from .errors import CommandError, MeshscopeError, NotRecorded, ProgramNotFound, QueryError, RecordError, RunFailed
from .grading import Grade, Grades, grade, questions
from .record import Info, Mesh, Record
from .rows import Rows
from .running import run
from .showing import show
from .values import Path as _Path


def open(path: _Path, verify: bool = True) -> Record:
    """Opens a record (.mscope) for reading.

    All checksums are verified first, at some megabytes a second; `verify=False` leaves that out for a large file.
    Raises RecordError where the file is no record, is damaged, or was written by a newer Meshscope.
    """
    return Record(path, verify)


__all__ = ["CommandError", "Grade", "Grades", "Info", "Mesh", "MeshscopeError", "NotRecorded", "ProgramNotFound",
           "QueryError", "Record", "RecordError", "Rows", "RunFailed", "__version__", "grade", "mesh", "numbers", "open",
           "plan", "predict", "questions", "run", "show"]
