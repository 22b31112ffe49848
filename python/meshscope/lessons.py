"""Where the lessons of the installed command lie, and which of them a word names."""

from __future__ import annotations

import pathlib
from typing import List, Optional

from .program import find_program


def lesson_folders() -> List[pathlib.Path]:
    """The folders of all lessons: those installed with the command, else those of the checkout that it was built in."""
    program = pathlib.Path(find_program()).resolve()
    places = [program.parent.parent / "share" / "meshscope" / "scenarios"]
    places += [up / "scenarios" for up in list(program.parents)[:4]]
    for place in places:
        found = sorted(file.parent for file in place.glob("*/scenario.toml") if (file.parent / "lesson.en.md").is_file())
        if found:
            return found
    return []


def lesson_folder(word: str) -> Optional[pathlib.Path]:
    """The lesson that is called so, as the command has it: 63_hsdp, hsdp or 63; or a lesson's own folder."""
    if (pathlib.Path(word) / "scenario.toml").is_file():
        return pathlib.Path(word)
    for folder in lesson_folders():
        number, _, short = folder.name.partition("_")
        if word in (folder.name, short) or (word.isdigit() and number.isdigit() and int(word) == int(number)):
            return folder
    return None
