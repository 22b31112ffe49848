"""Finding the command `meshscope` and running it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
from typing import Any, List, Optional, Sequence

from .errors import CommandError, ProgramNotFound

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


def words(text: str) -> str:
    """The program's message, without its name before each line."""
    name = "meshscope: "
    return "\n".join(line[len(name):] if line.startswith(name) else line for line in text.strip().splitlines())


def start(arguments: Sequence[str], lang: Optional[str] = None, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Runs the command to its end, whatever its exit code. Ctrl-C is handed on, so that it can clean up."""
    command: List[str] = [find_program(), *(["--lang", lang] if lang else []), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace") as process:
        try:
            out, err = process.communicate(stdin)
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def run_program(arguments: Sequence[str], lang: Optional[str] = None, stdin: str = "") -> str:
    """What the command wrote to its standard output. Raises CommandError with its message where it failed."""
    ended = start(arguments, lang, stdin)
    if ended.returncode != 0:
        raise CommandError(words(ended.stderr) or words(ended.stdout), ended.returncode, ended.args)
    return ended.stdout


def ask_json(arguments: Sequence[str], lang: Optional[str] = None) -> Any:
    """The command's answer in JSON."""
    return json.loads(run_program(arguments, lang))
