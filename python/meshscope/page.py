"""Where the page meshscope.html is."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from typing import Dict

from .errors import MeshscopeError, ProgramNotFound
from .program import find_program

PAGE = "MESHSCOPE_PAGE"


def find_page() -> str:
    """The page with engine and lessons (docs/web.md): what the variable MESHSCOPE_PAGE names (a file, or where a host has
    it), else the one that is installed with the command, else the one that scripts/web made in the checkout of the command or
    of this package."""
    named = os.environ.get(PAGE)
    return checked_page(named, f"the variable {PAGE} names") if named else _installed_page()


def page_environment() -> Dict[str, str]:
    """What the command is told of the page when it puts a record into one: a file, since it cannot fetch a page that a host
    has. Empty where the command finds the page, or says that there is none, by itself."""
    named = os.environ.get(PAGE, "")
    return {PAGE: _installed_page()} if is_hosted(named) else {}


def is_hosted(page: str) -> bool:
    """Whether it is an address, not a file."""
    return re.match("https?://", page) is not None


def _installed_page() -> str:
    checkouts, pages = [pathlib.Path(__file__).resolve().parents[2]], []
    with contextlib.suppress(ProgramNotFound):
        above = list(pathlib.Path(find_program()).resolve().parents)[:4]  # of its build/release/bin/meshscope
        pages.append(above[0].parent / "share" / "meshscope" / "meshscope.html")
        checkouts += above
    for page in (*pages, *(checkout / "out" / "web" / "meshscope.html" for checkout in checkouts)):
        if page.is_file():
            return str(page)
    raise MeshscopeError(
        "the page meshscope.html was not found: a package with the page brings it, scripts/web makes it in a checkout "
        f"(out/web/meshscope.html); or set the variable {PAGE} to its path, or to the address where your course has it"
    )


def checked_page(page: str, named_by: str) -> str:
    """The page, where it is a file or an address. Raises MeshscopeError, which begins with `named_by`."""
    if not is_hosted(page) and not os.path.isfile(page):
        raise MeshscopeError(f"{named_by} {page}, which is no file; give it the path or the address of meshscope.html")
    return page
