"""Grading what a class handed in: answers to a lesson's questions, and records of runs."""

from __future__ import annotations

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .errors import CommandError, MeshscopeError
from .lessons import lesson_argument, lesson_folder
from .program import checked, message_of
from .record import Record
from .rows import Rows, html_table
from .values import Path

_HANDED_IN = (".txt", ".json", ".mscope")
_LARGEST_ANSWERS = 1 << 20
_LARGEST_RECORD = 256 << 20
_AT_ONCE = 4
_CHECK_S = 30  # what one check has for its query

# What `meshscope lesson run` says before all else, whatever follows.
_READS_INPUT = "Answers are read from standard input"
# What `meshscope lesson run` says of each line that it reads; the words may be wrapped.
_BLANK = r"Line\s+\d+\s+for\s+question\s+(?P<blank>[a-z0-9_-]+)\s+is\s+empty\."
_MISSING = r"Standard\s+input\s+has\s+no\s+line\s+for\s+question\s+(?P<missing>[a-z0-9_-]+)\."
_READ = r"Line\s+\d+\s+for\s+question\s+(?P<read>[a-z0-9_-]+):"
_TOLD = re.compile(rf"^(?:{_BLANK}|{_MISSING}|{_READ})", re.M)
_VERDICT = re.compile(r"^(?:(Right\.)$|Not quite\.|That is not )", re.M)
# An answer is shown again before the verdict: one that looks like the program's words is never right.
_FORGED = re.compile(r"right\.|not quite|that is not|question", re.I)


class Grade(NamedTuple):
    """One handed-in file. `marks` has True, False or None (not answered) by question or check; `note` says what was wrong
    with the file."""

    student: str
    file: str
    right: int
    of: int
    marks: Dict[str, Optional[bool]]
    note: str


class Grades(Rows[Grade]):
    """A row for each file that was handed in, and a column for each question or check."""

    def __init__(self, rows: Sequence[Grade], ids: Sequence[str]) -> None:
        super().__init__(rows, ("student", "file", "right", "of", *ids, "note"))
        self.ids: Tuple[str, ...] = tuple(ids)

    def __getitem__(self, at: Any) -> Any:
        found = list.__getitem__(self, at)
        return Grades(found, self.ids) if isinstance(at, slice) else found

    def table(self) -> List[Tuple[Any, ...]]:
        """The rows as `columns` names them: 1 is right, 0 wrong, None not answered."""
        def mark(grade: Grade, id: str) -> Optional[int]:
            given = grade.marks.get(id)
            return None if given is None else int(given)

        return [(g.student, g.file, g.right, g.of, *(mark(g, id) for id in self.ids), g.note) for g in self]

    def to_csv(self, out: Optional[Path] = None) -> str:
        """The table as CSV, also written to `out`. A text that a spreadsheet would take for a formula begins with '."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(map(_harmless, self.columns))
        for row in self.table():
            writer.writerow(["" if cell is None else _harmless(cell) for cell in row])
        if out is not None:
            # The mark at the beginning tells spreadsheets that it is UTF-8.
            pathlib.Path(out).write_bytes(("\ufeff" + text.getvalue()).encode("utf-8", "replace"))
        return text.getvalue()

    def _repr_html_(self) -> str:
        """All rows: a class is read from its first to its last."""
        return html_table(self.columns, self.table(), len(self))


def _harmless(cell: Any) -> Any:
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


class _Unreadable(Exception):
    """Why a file that was handed in cannot be graded."""


class _NotUnicode(_Unreadable):
    pass


def _told(lesson: str, lines: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """The lesson as the program tells it to who types these lines."""
    typed = "".join(line + "\n" for line in lines)
    try:
        return checked(["lesson", "run", lesson_argument(lesson)], "en", typed)
    except CommandError as error:
        why = [line for line in str(error).splitlines() if not line.startswith(_READS_INPUT)]
        raise CommandError("\n".join(why), error.exit_code, error.command) from None


def questions(lesson: Path) -> Dict[str, str]:
    """The questions of a lesson by their names, in order, each with the choices that it has, in English."""
    told, begin, found = _told(os.fspath(lesson), []).stdout, 0, {}
    for answer in _TOLD.finditer(told):
        asked = told[begin:answer.start()].rpartition("\n? ")[2]
        found[answer["missing"]] = "\n".join(line.strip() for line in asked.strip().splitlines())
        begin = answer.end()
    return found


def _ask(lesson: str, lines: Sequence[str]) -> Tuple[Dict[str, Optional[bool]], str]:
    """What the program says of these answers, by question in the lesson's order; and what it says of lines too many."""
    ended = _told(lesson, ["?" if _FORGED.search(line) else line for line in lines])
    marks: Dict[str, Optional[bool]] = {}
    found = list(_TOLD.finditer(ended.stdout))
    for told, following in zip(found, [*found[1:], None]):
        id = told["read"] or told["blank"] or told["missing"]
        marks[id] = None
        if told["read"]:
            verdict = _VERDICT.search(ended.stdout, told.end(), following.start() if following else len(ended.stdout))
            if verdict is None:
                raise MeshscopeError(f"the program's verdict on question {id} cannot be read: package and program are of "
                                     "different versions")
            marks[id] = verdict[1] is not None
    # Of its messages only those on surplus lines are kept: that it reads answers from its input it says of every file.
    return marks, " ".join(line for line in message_of(ended.stderr).splitlines() if line.startswith("line "))


def _decoded(data: bytes) -> str:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            break
    else:
        encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise _NotUnicode("this is no text in UTF-8 or UTF-16") from None
    if "\0" in text:
        raise _Unreadable("this is no text")
    return text


def _text_of(file: pathlib.Path) -> str:
    try:
        if not file.is_file():
            raise _Unreadable("this is no file")
        if file.stat().st_size > _LARGEST_ANSWERS:
            raise _Unreadable("this is too large for answers: more than 1 MiB")
        return _decoded(file.read_bytes())
    except OSError as error:
        raise _Unreadable(f"it cannot be read: {error.strerror}") from None


def _cell(given: Any) -> str:
    if isinstance(given, list):
        if any(isinstance(each, (list, dict)) for each in given):
            raise _Unreadable("an answer is a number, a text or a list of these; here one has lists within it")
        return ",".join(map(_cell, given))
    if isinstance(given, dict):
        raise _Unreadable("an answer is a number, a text or a list of these; here one is an object")
    return "" if given is None else " ".join(str(given).split())


def _by_id(given: Dict[str, Any], ids: Sequence[str]) -> List[str]:
    unknown = sorted(set(given) - set(ids))
    if unknown:
        raise _Unreadable(f"there is no question {', '.join(unknown)}; there are: {', '.join(ids)}")
    return [_cell(given.get(id)) for id in ids]


def _lines(file: pathlib.Path, ids: Sequence[str]) -> List[str]:
    """The answers of a file, one a question: a .txt has a line each, a .json a list, or an object by question."""
    text = _text_of(file)
    if file.suffix.lower() == ".txt":
        # As the program reads lines: str.splitlines also cuts at form feeds and at Unicode's separators.
        lines = text.replace("\r\n", "\n").split("\n")
        return lines if lines[-1] else lines[:-1]
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"this is not JSON: {error}") from None
    if isinstance(given, dict):
        return _by_id(given, ids)
    if isinstance(given, list):
        return [_cell(each) for each in given]
    raise _Unreadable("this JSON is neither a list of answers nor an object of answers by question")


def lesson_checks(lesson: Path) -> Dict[str, str]:
    """The checks of a lesson, SQL by id. Needs Python 3.11, or the package tomli."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[no-redef,import-not-found]
        except ImportError:
            raise MeshscopeError("the checks of a lesson are read by Python 3.11 or newer, or with the package tomli; give "
                                 "checks={…}") from None
    folder = lesson_folder(os.fspath(lesson))
    if folder is None:
        raise MeshscopeError(f"there is no lesson {os.fspath(lesson)}")
    scenario = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    return {check["id"]: check["sql"] for check in scenario.get("check", [])}


def _grade_record(file: pathlib.Path, checks: Dict[str, str], stop: threading.Event) -> Tuple[Dict[str, Optional[bool]], str]:
    marks: Dict[str, Optional[bool]] = {}
    notes = []
    if file.is_file() and file.stat().st_size > _LARGEST_RECORD:
        raise _Unreadable("this is too large a record: more than 256 MiB")
    with Record(file) as record:
        if record.info.failure is not None:
            notes.append(f"the run ended early: {record.info.failure.get('id')}")
        for id, sql in checks.items():
            marks[id] = False
            try:
                with record._file.limited(_CHECK_S, stop.is_set):
                    value = record.value(sql)
                marks[id] = isinstance(value, (int, float)) and value != 0
            except MeshscopeError as error:
                notes.append(f"{id}: {error}")
    return marks, "; ".join(notes)


def _handed_in(folder: pathlib.Path) -> Iterator[Tuple[str, pathlib.Path]]:
    """Students and files: alice.txt, or what lies in a folder called alice."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise MeshscopeError(f"{folder} cannot be read: {error.strerror}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            try:
                files = [file for file in sorted(entry.iterdir()) if not file.name.startswith(".")]
            except OSError:
                files = [entry]
            yield from ((entry.name, file) for file in files)
        else:
            yield entry.stem, entry


def _rows_of_csv(file: pathlib.Path, ids: Sequence[str]) -> Iterator[Tuple[str, str, List[str]]]:
    """Student, place and answers of each row of a table whose first column names students and whose others questions."""
    try:
        rows = list(csv.reader(io.StringIO(_text_of(file))))
    except _NotUnicode as error:
        raise MeshscopeError(f"{file}: {error}; where it comes from a spreadsheet, save it as \"CSV UTF-8\"") from None
    except (_Unreadable, csv.Error) as error:
        raise MeshscopeError(f"{file}: {error}") from None
    head = [name.strip() for name in rows[0]] if rows else []
    unknown = sorted(set(head[1:]) - set(ids))
    if len(head) < 2 or unknown:
        raise MeshscopeError(f"{file}: the first row names the columns: the student, then questions of the lesson "
                             f"({', '.join(ids)})" + (f"; it has {', '.join(unknown)}" if unknown else ""))
    for number, row in enumerate(rows[1:], 2):
        if any(cell.strip() for cell in row):
            answers = dict(zip(head[1:], row[1:]))
            yield row[0].strip(), f"{file.name}:{number}", [_cell(answers.get(id)) for id in ids]


def _grade(student: str, file: str, of: Sequence[str], marks: Dict[str, Optional[bool]], note: str) -> Grade:
    return Grade(student, file, sum(each is True for each in marks.values()), len(of), marks, note)


def _each(of: Callable[..., Grade], what: Sequence[Tuple[Any, ...]], stop: threading.Event) -> List[Grade]:
    """Grades some at once. Ctrl-C ends it: what has not begun does not, and queries end."""
    pool = concurrent.futures.ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1))
    try:
        return list(pool.map(lambda each: of(*each), what))
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def grade(handed_in: Path, lesson: Path, *, checks: Optional[Dict[str, str]] = None) -> Grades:
    """Grades what a class handed in for a lesson: a row for each file, also for one that cannot be read.

    `handed_in` is a folder of files named by student (`alice.txt`) or of folders named by student, one such file, or one
    CSV table whose first column names students and whose others are the lesson's questions. A `.txt` has one answer a line,
    as `meshscope lesson run NAME < answers.txt` reads it; a `.json` a list of answers, or an object of answers by question.
    The program itself says which are right. A `.mscope` is a record of a run, held against `checks` (SQL by name, each
    giving, within 30 seconds, a number that is not 0 where it holds; by default those of the lesson).
    """
    lesson = os.fspath(lesson)
    place = pathlib.Path(handed_in)
    ids = list(questions(lesson))
    held: Dict[str, str] = dict(checks or {})
    stop = threading.Event()

    def of_answers(student: str, file: str, lines: List[str]) -> Grade:
        marks, note = _ask(lesson, lines)
        return _grade(student, file, ids, marks, note)

    def of_file(student: str, file: pathlib.Path) -> Grade:
        name = str(file.relative_to(place))
        kind = file.suffix.lower()
        try:
            if file.is_dir():
                raise _Unreadable("this folder is not read: answers and records lie in the student's own folder")
            if kind == ".mscope":
                return _grade(student, name, list(held), *_grade_record(file, held, stop))
            if kind in _HANDED_IN:
                return of_answers(student, name, _lines(file, ids))
            raise _Unreadable("these are neither answers (.txt, .json) nor a record (.mscope)")
        except (_Unreadable, MeshscopeError) as error:
            note = str(error).replace(f"{file}: ", "")
        except Exception as error:  # one file, whatever it is, does not end the grading of a class
            note = f"it cannot be graded: {type(error).__name__}: {error}"
        return _grade(student, name, list(held) if kind == ".mscope" else ids, {}, note)

    if place.is_file() and place.suffix.lower() not in _HANDED_IN:
        if not ids:
            raise MeshscopeError(f"the lesson {lesson} has no questions")
        return Grades(_each(of_answers, list(_rows_of_csv(place, ids)), stop), ids)
    if place.is_file():
        files, place = [(place.stem, place)], place.parent
    else:
        files = list(_handed_in(place))
    if checks is None and any(file.suffix.lower() == ".mscope" for _, file in files):
        held.update(lesson_checks(lesson))
    rows = _each(of_file, files, stop)
    used = ids if any(file.suffix.lower() != ".mscope" for _, file in files) else []
    return Grades(rows, [*used, *held])
