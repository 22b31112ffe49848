"""Makes the course site: lessons, documents, glossary and search as static pages in two languages (docs/site.md)."""

import argparse
import os
import re
import sys
import time
import tomllib
from pathlib import Path

import docs_pages
import front_pages
import glossary
import lessons
import marks
from frame import Frame, HERE, Output, Words
from lesson_page import LessonPage
from search_index import Index

LANGUAGES = ("en", "zh")


class Site:
    """What pages ask of the whole."""

    def __init__(self, root, output, languages, found, documents, live):
        self.root, self.output, self.languages = root, output, languages
        self.lessons, self.documents, self.live = found, documents, live
        # A document without a translation is English, also where the site is Chinese only.
        self.words = {language: Words(language) for language in dict.fromkeys((*languages, "en"))}
        self.by_path = {document.path: document for document in documents}
        self.by_lesson = {lesson.name: lesson for lesson in found}
        self.version = re.search(r"project\(meshscope VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]
        self.chapters = {language: chapter_titles(root, language) for language in languages}

    def keep(self, path):
        """A file of the tree that a page shows: copied, and its place on the site."""
        target = f"files/{path}"
        if target not in self.output.written:
            self.output.write(target, (self.root / path).read_bytes())
        return target

    def size(self, lesson, file):
        """Of a picture: width and height in whole pixels, from the head of its file."""
        head = (lesson.pictures / file).open().read(200)
        found = re.search(r'width="([0-9.]+)" height="([0-9.]+)"', head)
        return round(float(found[1])), round(float(found[2]))

    def neighbours(self, lesson):
        at = self.lessons.index(lesson)
        return (self.lessons[at - 1] if at else None, self.lessons[at + 1] if at + 1 < len(self.lessons) else None)


def chapter_titles(root, language):
    """As `meshscope lesson list` has them."""
    with open(root / f"app/i18n/parts/cli.{language}.toml", "rb") as file:
        texts = tomllib.load(file)
    mark = "cli.lesson.chapter."
    return {int(key[len(mark) :]): text for key, text in texts.items() if key.startswith(mark) and key[len(mark) :].isdigit()}


def write_lessons(site, words, frame, index, sections):
    for lesson in site.lessons:
        links = glossary.Links(sections, words.language, "../glossary.html", {each.number: f"{each.name}.html" for each in site.lessons if each is not lesson})
        page = LessonPage(lesson, words, site, links)
        main = page.main()
        title = lesson.full_title(words.language)
        site.output.write(page.name, frame.page(page.name, title, main, here="home", description=marks.plain_text(lesson.goals(words.language))))
        index.add(page.name.split("/", 1)[1], title, "lesson", page.records)


def write_files(site):
    """What both languages share: pictures, the lessons' own files, the live page, style and scripts."""
    for lesson in site.lessons:
        for picture in sorted(lesson.pictures.glob("*.svg")):
            if picture.name.split(".")[1] in site.languages:
                site.output.write(f"pictures/{lesson.name}/{picture.name}", picture.read_bytes())
        for file in ("pytorch.py", "scenario.toml"):
            if (lesson.folder / file).exists():
                site.output.write(f"files/{lesson.name}/{file}", (lesson.folder / file).read_bytes())
    for asset in ("style.css", "page.js", "search.js"):
        site.output.write(f"assets/{asset}", (HERE / "templates" / asset).read_bytes())
    site.output.write("assets/icon.svg", (site.root / "packaging/desktop/meshscope.svg").read_bytes())
    if site.live:
        site.output.write("meshscope.html", site.live.read_bytes())


def write_docs(site, words, frame, index, sections, rest):
    language = words.language
    reader = docs_pages.Reader(site, language)
    titles = {}
    listed = [document for document in site.documents if document.name != "glossary"]
    for document in listed:
        main, title, records = docs_pages.page(site, words, reader, document)
        name = document.page(language)
        first = next((text for _, heading, text in records if text and not heading), "")
        titles[document.name] = title, first[:160].rsplit(" ", 1)[0] + " …" if len(first) > 160 else first
        same = len({document.language(each) for each in site.languages}) == 1
        site.output.write(name, frame.page(name, title, main, here="docs", description=titles[document.name][1], same_anchors=same))
        index.add(name.split("/", 1)[1], title, "document", records)
    name = f"{language}/docs/index.html"
    site.output.write(name, frame.page(name, words("docs"), front_pages.docs_list(words, listed, titles, name), here="docs"))
    document = next(document for document in site.documents if document.name == "glossary")
    rest_html = reader.read(document, rest)[0]
    main, records = front_pages.glossary_page(site, words, sections, f'<div lang="en">{rest_html}</div>')
    name = f"{language}/glossary.html"
    site.output.write(name, frame.page(name, words("glossary"), main, here="glossary", description=words("glossary_intro")))
    index.add("glossary.html", words("glossary"), "term", records)


def write_all(site):
    sections, rest = glossary.read((site.root / "docs/glossary.md").read_text())
    write_files(site)
    for language in site.languages:
        words, index = site.words[language], Index(language)
        frame = Frame(words, site)
        write_lessons(site, words, frame, index, sections)
        write_docs(site, words, frame, index, sections, rest)
        name = f"{language}/index.html"
        site.output.write(name, frame.page(name, "Meshscope", front_pages.front(site, words), here="home", description=words("sentence")))
        name = f"{language}/search.html"
        scripts = (f"index-{language}.js", "search.js")
        site.output.write(name, frame.page(name, words("search"), front_pages.search_page(words), here="search", scripts=scripts))
        site.output.write(f"assets/index-{language}.js", index.script())
    first = site.words[site.languages[0]]
    choice = front_pages.choose_page(site)
    page = Frame(first, site).page("index.html", "Meshscope", choice, description=first("sentence"), body_class="chooses")
    site.output.write("index.html", page)
    site.output.remove_others()


def main():
    parser = argparse.ArgumentParser(prog="scripts/site", description=__doc__)
    parser.add_argument("--lang", choices=LANGUAGES, help="one language only (default: both)")
    parser.add_argument("-o", dest="output", default="out/site", metavar="FOLDER", help="where the site goes (default: %(default)s)")
    parser.add_argument("--lesson", action="append", default=[], metavar="NAME", help="this lesson only; may be given again")
    parser.add_argument("--program", default="build/release/bin/meshscope-app", metavar="FILE", help="what draws the pictures (default: %(default)s)")
    parser.add_argument("--page", default="out/web/meshscope.html", metavar="FILE", help="the live page, where it was built (default: %(default)s)")
    parser.add_argument("--cache", default="build/site", metavar="FOLDER", help="where drawn lessons are kept (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="lessons drawn at a time (default: %(default)s)")
    given = parser.parse_args()
    begin = time.monotonic()
    root = HERE.parent
    program, live = Path(given.program), Path(given.page)
    if not program.is_file():
        raise SystemExit(f"site: {program} is not there; scripts/site builds it, or name another by --program")
    languages = [given.lang] if given.lang else list(LANGUAGES)
    found = lessons.find(root, given.lesson)
    output = Output(given.output)
    drawn = lessons.draw_all(found, lessons.Painter(program, Path(given.cache), root), max(1, given.jobs))
    site = Site(root, output, languages, found, docs_pages.find(root), live if live.is_file() else None)
    write_all(site)
    pages = sum(name.endswith(".html") for name in output.written) - bool(site.live)
    pictures = sum(name.startswith("pictures/") for name in output.written)
    size, seconds = output.size() / 1e6, time.monotonic() - begin
    print(f"{output.folder}/index.html: {pages} pages, {pictures} pictures, {size:.1f} MB; "
          f"{drawn} of {len(found)} lessons drawn anew; {seconds:.0f} s")
    if not site.live:
        print(f"The live page is not in it: {live} is not there. scripts/web builds it.", file=sys.stderr)


if __name__ == "__main__":
    main()
