"""Showing a record or a lesson: in a notebook, or in the browser."""

from __future__ import annotations

import contextlib
import hashlib
import html
import os
import pathlib
import shutil
import tempfile
import urllib.parse
import webbrowser
from typing import Any, Dict, Optional, Union

from .errors import MeshscopeError, ProgramNotFound
from .lessons import lesson_folder, lesson_folders
from .page import checked_page, find_page, is_hosted
from .record import Record
from .values import Path

COPIES = "meshscope_pages"  # the folder of copies beside a notebook
# Jupyter drops messages beyond 1 MB a second over 3 s; a larger page is a file beside the notebook.
_LARGEST_OUTPUT = 2_000_000


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def _frame(height: int, attributes: str) -> str:
    return (f'<iframe {attributes} width="100%" height="{height}" style="border:0" '
            'sandbox="allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"></iframe>')


class _Output:
    """What a notebook shows as it is: IPython's own HTML warns of every frame."""

    def __init__(self, markup: str) -> None:
        self._markup = markup

    def _repr_html_(self) -> str:
        return self._markup

    def __repr__(self) -> str:
        return "Meshscope: this output is a page, which a notebook shows"


def _display(markup: str) -> None:
    from IPython.display import display

    display(_Output(markup))  # type: ignore[no-untyped-call]


def _put_beside(page: pathlib.Path) -> str:
    """A copy of the page beside the notebook, from where Jupyter serves it; gives its address.

    Its name tells its content, so that it stands for no other page and takes no file's place. Jupyter serves no folder whose
    name begins with a dot.
    """
    try:
        data = page.read_bytes()
        copy = pathlib.Path(COPIES) / f"{page.stem}-{hashlib.sha256(data).hexdigest()[:8]}.html"
        if not (copy.is_file() and copy.read_bytes() == data):
            copy.parent.mkdir(exist_ok=True)
            with open(copy, "xb") as out:
                out.write(data)
    except OSError as error:
        raise MeshscopeError(f"the page cannot be put beside the notebook: {error}") from None
    return urllib.parse.quote(copy.as_posix())


def _open_browser(address: str) -> None:
    if not webbrowser.open(address):
        raise MeshscopeError(f"no browser could be started; open this yourself: {address}")


def _redirect(address: str) -> str:
    """A file that leads to the address: what starts a browser often drops what follows the # of a file's address."""
    folder = tempfile.mkdtemp(prefix="meshscope-")
    file = pathlib.Path(folder) / "open.html"
    whole = html.escape(address, quote=True)
    file.write_text(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={whole}">'
                    f'<a href="{whole}">Meshscope</a>\n', encoding="utf-8")
    return file.as_uri()


def _show_record(record: Record, notebook: bool, height: int, lang: Optional[str], place: Dict[str, Any]) -> Optional[str]:
    # The browser reads the page after this program may have ended: the folder stays until the system empties it.
    folder = tempfile.mkdtemp(prefix="meshscope-")
    page = pathlib.Path(folder) / (pathlib.Path(record.path).stem + ".html")
    try:
        record.export("html", page, lang=lang, **place)
        if not notebook:
            _open_browser(page.as_uri())
            return str(page)
        if page.stat().st_size <= _LARGEST_OUTPUT:
            _display(_frame(height, f'srcdoc="{html.escape(page.read_text(encoding="utf-8"), quote=True)}"'))
        else:
            _display(_frame(height, f'src="{_put_beside(page)}#embed=1"'))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _lesson_word(lesson: str) -> str:
    """The lesson as the page knows it: by a path's last name. Refuses what the installed command has no lesson for; without
    it the page itself says so."""
    with contextlib.suppress(ProgramNotFound):
        lessons = [folder.name for folder in lesson_folders()]
        found = lesson_folder(lesson)
        name = found.resolve().name if found else None
        if lessons and name not in lessons:
            raise MeshscopeError(f"there is no lesson {lesson}; lessons: {', '.join(lessons)}")
        if name and os.path.exists(lesson):
            return name
    return lesson


def _show_lesson(notebook: bool, height: int, url: Optional[str], words: Dict[str, Any]) -> Optional[str]:
    page = checked_page(url, "url names") if url else find_page()
    if words.get("lesson") is not None:
        words["lesson"] = _lesson_word(words["lesson"])
    hosted = is_hosted(page)
    given = {name: str(each) for name, each in words.items() if each is not None}
    if notebook:
        given.setdefault("embed", "1")
    place = "#" + urllib.parse.urlencode(given) if given else ""
    if notebook:
        source = page if hosted else _put_beside(pathlib.Path(page))
        _display(_frame(height, f'src="{html.escape(source + place, quote=True)}"'))
        return None
    address = page + place if hosted else pathlib.Path(page).resolve().as_uri() + place
    _open_browser(address if hosted else _redirect(address))
    return address


def show(what: Union[Record, Path, None] = None, *, height: int = 720, url: Optional[str] = None,
         browser: bool = False, lang: Optional[str] = None, **place: Any) -> Optional[str]:
    """Shows a record (a Record, or the path of a .mscope file) or a lesson (`"hsdp"`; None is the welcome page).

    In a notebook it stands in the output, else (or with `browser=True`) the browser opens. Both are shown in meshscope.html
    (docs/web.md), opened at `step=3`, `view=…`, `rank=…`, `at=…`, `theme=…`: a record in a page of its own, as `meshscope
    trace export html` makes it (`steps="10:20"` of a long run), a lesson in the page itself, which runs it. `url` is where a
    host has the page, for lessons. In a notebook a page of more than 2 MB, as these are, is copied into the folder
    meshscope_pages beside the notebook, from where Jupyter serves it.

    Gives the path or the address of what the browser opened, and nothing in a notebook.
    """
    notebook = not browser and in_notebook()
    if not isinstance(what, Record) and what is not None and os.fspath(what).endswith(".mscope"):
        what = Record(what)
    if isinstance(what, Record):
        if url:
            raise TypeError("url is for lessons; a record is shown in a page of its own")
        return _show_record(what, notebook, height, lang, place)
    words = {"lesson": None if what is None else os.fspath(what), "lang": lang, **place}
    return _show_lesson(notebook, height, url, words)
