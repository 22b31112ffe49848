"""Markdown documents as pages: links between them kept, those to files that are no page left as words."""

import html
import posixpath
import re
from pathlib import Path

from markdown_it import MarkdownIt

from frame import contents, relative

# Documents beside docs/*.md, by the names that their pages get.
OTHERS = {
    "README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog",
    "core/README.md": "core", "scenarios/README.md": "scenarios", "python/README.md": "python-package",
    "packaging/README.md": "packaging",
}
# In which order the list has them; what is not named follows by name.
FIRST = ["readme", "teaching", "window", "web", "site", "sandbox", "scenario", "trace", "python", "diagnosis", "estimate"]


def slug(heading, taken):
    """An anchor as GitHub makes it."""
    base = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


class Document:
    """A Markdown file, and its translation where it has one."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.name = OTHERS.get(path) or Path(path).stem
        text = (root / path).read_text()
        chinese = root / re.sub(r"\.md$", ".zh.md", path)
        self.texts = {"en": text}
        self.paths = {"en": path, "zh": path}
        if chinese.exists():
            self.texts["zh"] = chinese.read_text()
            self.paths["zh"] = chinese.relative_to(root).as_posix()

    def page(self, language):
        return f"{language}/glossary.html" if self.name == "glossary" else f"{language}/docs/{self.name}.html"

    def text(self, language):
        return self.texts.get(language, self.texts["en"])

    def language(self, language):
        """Of the text that a page in `language` has."""
        return language if language in self.texts else "en"


def find(root):
    paths = [path.relative_to(root).as_posix() for path in sorted((root / "docs").glob("*.md")) if not path.name.endswith(".zh.md")]
    documents = [Document(root, path) for path in (*paths, *(path for path in OTHERS if (root / path).exists()))]
    place = {name: index for index, name in enumerate(FIRST)}
    return sorted(documents, key=lambda document: (place.get(document.name, len(FIRST)), document.name))


class Reader:
    """Turns a document's text into HTML for one page of one language."""

    def __init__(self, site, language):
        self.site, self.language = site, language
        self.markdown = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")

    def read(self, document, text=None):
        """HTML without the title; the title; records for the search; headings (level, anchor, HTML)."""
        page, path = document.page(self.language), document.paths[self.language]
        tokens = self.markdown.parse(document.text(self.language) if text is None else text)
        title, records, headings, taken = document.name, [], [], set()
        kept, skip = [], 0
        for index, token in enumerate(tokens):
            if skip:
                skip -= 1
                continue
            if token.type == "heading_open":
                inner = tokens[index + 1]
                words = plain(inner)
                if token.tag == "h1":
                    title, skip = words, 2
                    taken.add(slug(words, set()))
                    records.append(("", "", ""))
                    continue
                anchor = slug(words, taken)
                token.attrSet("id", anchor)
                headings.append((int(token.tag[1]), anchor, words))
                records.append((anchor, words, ""))
            elif token.type == "inline":
                self.follow_links(token, page, path)
                if re.fullmatch("中文|English", plain(token)):
                    continue  # the other language is in the page's head
                if not records:
                    records.append(("", "", ""))
                records[-1] = (*records[-1][:2], f"{records[-1][2]} {plain(token)}".strip())
            elif token.type in ("fence", "code_block"):
                records[-1:] = [(*records[-1][:2], f"{records[-1][2]} {token.content}".strip())] if records else []
            kept.append(token)
        body = self.markdown.renderer.render(kept, self.markdown.options, {})
        body = body.replace("<table>", '<div class="scrolls" tabindex="0"><table>').replace("</table>", "</table></div>")
        body = re.sub(r' style="text-align:(\w+)"', r' class="\1"', body)
        body = body.removeprefix("<p></p>\n")
        return body, title, records, headings

    def follow_links(self, token, page, path):
        """Links and pictures of the Markdown to where they lie on the site."""
        inside = []  # for each open link whether it is one on the site
        for child in token.children or []:
            if child.type == "link_open":
                target = self.target(child.attrGet("href"), page, path)
                inside.append(target is not None)
                if target is None:
                    child.tag, child.attrs = "span", {"class": "file"}
                else:
                    child.attrSet("href", target)
                    if target.startswith("http"):
                        child.attrSet("rel", "noopener noreferrer")
            elif child.type == "link_close":
                if not inside.pop():
                    child.tag = "span"
            elif child.type == "image":
                source = posixpath.normpath(posixpath.join(posixpath.dirname(path), child.attrGet("src")))
                child.attrSet("src", relative(self.site.keep(source), page))
                child.attrSet("loading", "lazy")

    def target(self, href, page, path):
        """Where a link leads from `page`; None for a file that is no page."""
        if re.match(r"https?://", href):
            return href
        name, hash_, anchor = href.partition("#")
        if not name:
            return href
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        translated = re.fullmatch(r"(.*)\.zh\.md", file)
        document = self.site.by_path.get(f"{translated[1]}.md" if translated else file)
        if document:
            language = "zh" if translated and "zh" in self.site.languages else self.language
            return relative(document.page(language) + hash_ + anchor, page)
        lesson = re.fullmatch(r"scenarios/(\w+)(/.*)?", file)
        if lesson and lesson[1] in self.site.by_lesson:
            return relative(self.site.by_lesson[lesson[1]].page(self.language), page)
        return None


def plain(token):
    """An inline token's words."""
    return "".join(child.content if child.type in ("text", "code_inline") else " " if "break" in child.type else "" for child in token.children or [])


def contents_of(headings, words):
    """The page's own table of contents; nothing where there is little to choose from."""
    top = [heading for heading in headings if heading[0] == 2]
    if len(top) < 3:
        return ""
    return contents(words.html("on_this_page"), [(anchor, html.escape(title)) for _, anchor, title in top])


def page(site, words, reader, document):
    """The document's page: its main part, title and records."""
    language = document.language(words.language)
    body, title, records, headings = reader.read(document)
    tag = site.words[language]("html_lang")
    foreign = f' lang="{tag}"' if language != words.language else ""
    note = f'<p class="note">{words.html("docs_english")}</p>' if foreign else ""
    main = f"""<div class="document">
{contents_of(headings, words)}
<article{foreign}>
<h1>{html.escape(title)}</h1>
{note.replace('<p', f'<p lang="{words("html_lang")}"', 1)}
{body}</article>
</div>"""
    return main, title, records
