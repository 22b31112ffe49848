"""Finding the command `meshscope` and running it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ._version import __version__
from .errors import CommandError, MeshscopeError, ProgramNotFound
from .values import Path

ENVIRONMENT = "MESHSCOPE"
_GRACE_S = 10  # what a run that was told to stop has for writing its record


def find_program() -> str:
    """The command's path: what the variable MESHSCOPE names, else `meshscope` on PATH, else the build of the checkout
    that this package lies in."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProgramNotFound(f"the variable {ENVIRONMENT} names {named}, which is no program; give it the path of the "
                                  "command meshscope")
        return found
    found = shutil.which("meshscope")
    if found is not None:
        return found
    for build in ("release", "package", "debug"):
        program = pathlib.Path(__file__).resolve().parents[2] / "build" / build / "bin" / "meshscope"
        if os.access(program, os.X_OK):
            return str(program)
    raise ProgramNotFound(
        "the command meshscope was not found: install its package, or unpack its tarball and set the variable "
        f"{ENVIRONMENT} to the path of bin/meshscope (a record can be read without it)"
    )


def options_of(options: Dict[str, Any]) -> List[str]:
    """`gpus_per_node=8` as `--gpus-per-node 8`; True is the option alone, a list is the option several times."""
    arguments: List[str] = []
    for name, given in options.items():
        option = "--" + name.replace("_", "-")
        if given is None or given is False:
            continue
        for each in given if isinstance(given, (list, tuple)) else [given]:
            arguments += [option] if each is True else [option, str(each)]
    return arguments


def path_argument(path: Path) -> str:
    """The path so that the command takes it for no option."""
    text = os.fspath(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def message_of(text: str) -> str:
    """The program's message, without its name before each line."""
    name = "meshscope: "
    return "\n".join(line[len(name):] if line.startswith(name) else line for line in text.strip().splitlines())


@contextlib.contextmanager
def _interrupt_held() -> Iterator[List[Any]]:
    """Ctrl-C within it is only noted: a process that is being started would else be left behind."""
    pressed: List[Any] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield pressed
        return
    signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler)


def start(arguments: Sequence[str], lang: Optional[str] = None, stdin: str = "",
          environment: Optional[Mapping[str, str]] = None) -> "subprocess.CompletedProcess[str]":
    """Runs the command to its end, whatever its exit code; `environment` is added to this program's. Ctrl-C is handed on, so
    that it can clean up."""
    command: List[str] = [find_program(), *(["--lang", lang] if lang else []), *arguments]
    try:
        with _interrupt_held() as pressed:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       encoding="utf-8", errors="replace", env={**os.environ, **(environment or {})})
    except OSError as error:
        raise ProgramNotFound(f"{command[0]} cannot be started: {error.strerror or error}; is it the command meshscope for "
                              "this machine?") from None
    with process:
        try:
            if pressed:
                signal.raise_signal(signal.SIGINT)
            out, err = process.communicate(stdin)
        except BaseException:
            if os.name == "nt":  # where a process cannot be sent SIGINT
                process.terminate()
            else:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def checked(arguments: Sequence[str], lang: Optional[str] = None, stdin: str = "",
            environment: Optional[Mapping[str, str]] = None) -> "subprocess.CompletedProcess[str]":
    """The command run to its end. Raises CommandError with its message where it failed."""
    ended = start(arguments, lang, stdin, environment)
    if ended.returncode != 0:
        raise CommandError(message_of(ended.stderr) or message_of(ended.stdout), ended.returncode, ended.args)
    return ended


def run_program(arguments: Sequence[str], lang: Optional[str] = None,
                environment: Optional[Mapping[str, str]] = None) -> str:
    """What the command wrote to its standard output. Raises CommandError as `checked` does."""
    return checked(arguments, lang, environment=environment).stdout


def ask_json(arguments: Sequence[str], lang: Optional[str] = None) -> Any:
    """The command's answer in JSON."""
    return decoded(run_program(arguments, lang))


def decoded(answer: str) -> Any:
    """What this JSON of the command says."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        raise other_version() from None


def other_version() -> MeshscopeError:
    return MeshscopeError(f"{find_program()} is no meshscope of this version ({__version__}): its answer is another one's")
