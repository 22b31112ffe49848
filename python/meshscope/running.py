"""Running scenarios through the installed command."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import tempfile
from typing import Any, Dict, Iterator, List, Optional

from .errors import MeshscopeError, RunFailed
from .lessons import lesson_folder, lesson_folders
from .program import message_of, path_argument, start
from .record import Record
from .values import Path, plain

_VARIANT = "changed-by-python"


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line. Raises TypeError for what TOML has no word for."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(value) if math.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_value(str(key))} = {toml_value(each)}" for key, each in value.items()) + " }"
    raise TypeError(f"a scenario cannot hold {value!r}; it holds numbers, strings, booleans, lists and dicts of these")


def changed(text: str, overrides: Dict[str, Any]) -> str:
    """The scenario with a variant behind it that sets these keys: `train__steps` is train.steps."""
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    return f'{text.rstrip()}\n\n[[lesson.variant]]\nid = "{_VARIANT}"\nset = {toml_value(keys)}\n'


def _can_write(folder: pathlib.Path) -> bool:
    return os.access(folder, os.W_OK)


@contextlib.contextmanager
def _beside(file: pathlib.Path, text: str) -> Iterator[pathlib.Path]:
    """A file with this text from which the same relative paths lead to the same files as from `file`."""
    folder = file.absolute().parent  # of the link where the file is one: from there the command follows its paths
    if _can_write(folder):
        handle, name = tempfile.mkstemp(prefix=f".{file.stem}.", suffix=".toml", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            yield pathlib.Path(name)
        finally:
            os.unlink(name)
        return
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="meshscope-") as made:
        # Installed lessons: what lies beside the file and beside its folder is linked.
        copy = pathlib.Path(made) / folder.name
        copy.mkdir()
        for place, into in ((folder, copy), (folder.parent, copy.parent)):
            for entry in place.iterdir():
                if entry.name not in (file.name, folder.name):
                    (into / entry.name).symlink_to(entry)
        (copy / file.name).write_text(text, encoding="utf-8")
        yield copy / file.name


@contextlib.contextmanager
def scenario_file(scenario: Path, overrides: Dict[str, Any]) -> Iterator[pathlib.Path]:
    """The file to give to the command for a path, a lesson's name or a scenario's text."""
    given = os.fspath(scenario)
    if "\n" in given:
        with tempfile.TemporaryDirectory(prefix="meshscope-") as made:
            file = pathlib.Path(made) / "scenario.toml"
            file.write_text(changed(given, overrides) if overrides else given, encoding="utf-8")
            yield file
        return
    file = pathlib.Path(given)
    if not os.path.isfile(file):
        folder = lesson_folder(given)
        if folder is None:
            lessons = ", ".join(each.name for each in lesson_folders())
            raise MeshscopeError(f"there is no file and no lesson {given}; lessons: {lessons or 'none are installed'}. "
                                 "A scenario's text has several lines")
        file = folder / "scenario.toml"
    if not overrides:
        yield file
        return
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MeshscopeError(f"cannot read {file}: {error}") from None
    with _beside(file, changed(text, overrides)) as made_file:
        yield made_file


def named(message: str, file: pathlib.Path, scenario: Path, overrides: Optional[Dict[str, Any]] = None) -> str:
    """The message with the name that the user gave instead of that of a file made for the run.

    What stands behind the user's own lines are the changed keys: there it names the keywords instead of the line.
    """
    given = os.fspath(scenario)
    name = "the scenario" if "\n" in given else given
    if not overrides:
        return message.replace(str(file), name)
    last = file.read_text(encoding="utf-8").count("\n") - 4  # `changed` puts an empty line and three behind it
    at = re.compile(re.escape(str(file)) + r":(\d+):\d+(?=:)(.*)")
    if any(int(found[1]) > last and "lesson.variant" in found[2] for found in at.finditer(message)):
        return (f"{name}: keys are changed by a [[lesson.variant]] behind the scenario, which cannot follow its "
                "lesson.variant as it is written there; write each of its variants as a table [[lesson.variant]]")

    def place(found: "re.Match[str]") -> str:
        if int(found[1]) <= last:
            return found[0]
        meant = [key for key in overrides if key.replace("__", ".") in found[2]] or list(overrides)
        return f"{file} ({', '.join(meant)}){found[2]}"

    return at.sub(place, message).replace(str(file), name)


def run(scenario: Path, backend: Optional[str] = None, save: Optional[Path] = None, *, level: Optional[str] = None,
        variant: Optional[str] = None, schedule: Optional[str] = None, resume: Optional[Path] = None,
        weights: Optional[Path] = None, timeout_s: Optional[int] = None, lang: Optional[str] = None,
        **overrides: Any) -> Record:
    """Runs a scenario by the installed command and opens what it recorded.

    `scenario` is a file, a lesson's name (`"hsdp"`, `"63"`) or a scenario's text. `backend`, `level`, `variant`,
    `schedule`, `resume` and `timeout_s` (whole seconds) are options of `meshscope run`; `weights` names a safetensors file for the
    trained parameters. The record is written to `save`; without it, it lasts as long as what is returned. Other keywords
    change keys of the scenario: `train__steps=5`, or `**{"train.steps": 5}`.

    Raises RunFailed, with the command's message and what was recorded until then, where the run ends early or a check of
    the scenario does not hold.
    """
    if variant is not None and overrides:
        raise TypeError("a variant and changed keys do not go together; give one of them")
    options = {"backend": backend, "level": level, "variant": _VARIANT if overrides else variant, "schedule": schedule,
               "resume": resume, "timeout": None if timeout_s is None else str(timeout_s),
               "save": None if weights is None else os.path.abspath(os.fspath(weights))}
    arguments: List[str] = []
    for name, given in options.items():
        if given is not None:
            arguments += [f"--{name}", os.fspath(given)]
    if save is not None:
        return _run(scenario, os.path.abspath(os.fspath(save)), None, arguments, overrides, lang)
    made = tempfile.mkdtemp(prefix="meshscope-")
    try:
        return _run(scenario, os.path.join(made, "run.mscope"), made, arguments, overrides, lang)
    except BaseException as error:
        if getattr(error, "record", None) is None:
            shutil.rmtree(made, ignore_errors=True)
        raise


def _run(scenario: Path, trace: str, owns: Optional[str], options: List[str], overrides: Dict[str, Any],
         lang: Optional[str]) -> Record:
    before = _stamp(trace)
    with scenario_file(scenario, overrides) as file:
        ended = start(["run", path_argument(file), "--quiet", "--trace", trace, *options], lang)
        message = named("\n".join(filter(None, [ended.stdout.strip(), message_of(ended.stderr)])), file, scenario,
                        overrides)
    if ended.returncode == 0:
        return Record(trace, verify=False, owns=owns)
    record = Record(trace, verify=False, owns=owns) if _stamp(trace) not in (None, before) else None
    raise RunFailed(message, ended.returncode, ended.args, record)


def _stamp(path: str) -> Any:
    """Tells a file that was written anew from the one that lay there before; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
