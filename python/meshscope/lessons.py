"""Where the lessons of the installed command lie, and which of them a word names."""

from __future__ import annotations

import math
import os
import pathlib
from typing import List, Optional, Tuple

from .errors import MeshscopeError
from .program import find_program
from .values import Path


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def _order(folder: pathlib.Path) -> Tuple[float, str]:
    """By number, as the command lists lessons; what has none comes last."""
    number = folder.name.partition("_")[0]
    return int(number) if _is_number(number) else math.inf, folder.name


def lesson_folders() -> List[pathlib.Path]:
    """The folders of all lessons by their numbers: those installed with the command, else those of the checkout that it was built in."""
    program = pathlib.Path(find_program()).resolve()
    places = [program.parent.parent / "share" / "meshscope" / "scenarios"]
    places += [up / "scenarios" for up in list(program.parents)[:4]]
    for place in places:
        found = [file.parent for file in place.glob("*/scenario.toml") if (file.parent / "lesson.en.md").is_file()]
        if found:
            return sorted(found, key=_order)
    return []


def lesson_argument(lesson: Path) -> str:
    """The lesson as the command is given it: a name, or a folder, that it takes for no option."""
    word = os.fspath(lesson)
    if word.startswith("-"):
        raise MeshscopeError(f"there is no lesson {word}")
    return word


def lesson_folder(word: str) -> Optional[pathlib.Path]:
    """The lesson that is called so, as the command has it: 63_hsdp, hsdp or 63; or that of a lesson's own
    folder, or of the scenario.toml in it."""
    if os.path.basename(word) == "scenario.toml" and os.path.isfile(word):
        return pathlib.Path(word).parent
    if os.path.isfile(os.path.join(word, "scenario.toml")):
        return pathlib.Path(word)
    for folder in lesson_folders():
        number, _, short = folder.name.partition("_")
        if word in (folder.name, short) or (_is_number(word) and _is_number(number) and word.lstrip("0") == number.lstrip("0")):
            return folder
    return None
