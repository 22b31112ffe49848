"""What can go wrong, as exceptions. All of them are `MeshscopeError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from .record import Record


class MeshscopeError(Exception):
    """Anything that this package refuses; the text says what was wrong and what would be right."""


class RecordError(MeshscopeError):
    """A file that is no record, is damaged, or was written by a newer Meshscope."""


class QueryError(MeshscopeError):
    """SQL that SQLite does not understand, or that would do more than read."""


class NotRecorded(QueryError):
    """The run was recorded at a level that leaves out what was asked for. Unknown is not zero."""


class ProgramNotFound(MeshscopeError):
    """The command `meshscope` is not installed where this package looks for it."""


class CommandError(MeshscopeError):
    """The command ended with an exit code other than 0; the text is its own message.

    `exit_code` is one of those that `meshscope --help` lists, `command` what was started.
    """

    def __init__(self, message: str, exit_code: int, command: Sequence[str]) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.command = list(command)


class RunFailed(CommandError):
    """A run that ended early, or one of whose checks does not hold.

    `record` is what it recorded until then, or None where nothing was written.
    """

    def __init__(self, message: str, exit_code: int, command: Sequence[str], record: Optional[Record]) -> None:
        super().__init__(message, exit_code, command)
        self.record = record
