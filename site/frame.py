"""What all pages have: words in two languages, the frame round a page, files written where they changed."""

import html
import os
import re
import tomllib
from pathlib import Path

import marks

HERE = Path(__file__).parent
MOST_ALT = 300  # letters of a picture's short text; the rest stands under it
MARK = ".meshscope-site"
# The navigation's entries.
PLACES = (("home", "index.html"), ("docs", "docs/index.html"), ("glossary", "glossary.html"), ("search", "search.html"))


class Words:
    """The site's own words in one language."""

    def __init__(self, language):
        with open(HERE / "words.toml", "rb") as file:
            self.texts = tomllib.load(file)[language]
        self.language = language

    def __call__(self, key, **values):
        text = self.texts[key]
        return text.format(**values) if values else text

    def html(self, key, **values):
        return html.escape(self(key, **values))


class Output:
    """The site's folder: what is written is remembered, what was there before and is not written again goes."""

    def __init__(self, folder):
        self.folder = Path(folder)
        if self.folder.exists() and any(self.folder.iterdir()) and not (self.folder / MARK).exists():
            raise SystemExit(f"site: {folder} is not empty and holds no site made before; name an empty folder, or remove it")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.written = set()
        self.write(MARK, "A site of Meshscope; scripts/site writes here, and removes what it has not written.\n")

    def write(self, name, content):
        data = content if isinstance(content, bytes) else content.encode()
        path = self.folder / name
        self.written.add(name)
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(data)
        part.replace(path)

    def remove_others(self):
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_dir():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path.relative_to(self.folder).as_posix() not in self.written:
                path.unlink()

    def size(self):
        return sum((self.folder / name).stat().st_size for name in self.written)


def relative(target, page):
    """From one page of the site to another, both by their names below its folder; an anchor stays."""
    name, hash_, anchor = target.partition("#")
    if name == page:
        return (hash_ + anchor) or os.path.basename(page)
    return os.path.relpath(name, os.path.dirname(page) or ".").replace(os.sep, "/") + hash_ + anchor


def picture_alt(words, step, lines):
    """A picture's short text: its step, its view, and the first lines of what it tells."""
    text = words("picture_of", title=marks.plain_text(step["title"][words.language]), view=words(f"view_{step['view']}"))
    for line in lines:
        if len(text) + len(line) > MOST_ALT:
            break
        text += words("picture_line", line=" ".join(line.split()).rstrip(".。"))
    return html.escape(text, quote=True)


def picture_image(site, words, page, lesson, step, file, lines):
    """A step's picture on a page; `lines` is what its short text may tell of it."""
    width, height = site.size(lesson, file)
    source = html.escape(relative(f"pictures/{lesson.name}/{file}", page), quote=True)
    return f'<img src="{source}" width="{width}" height="{height}" loading="lazy" alt="{picture_alt(words, step, lines)}">'


def contents(label, sections):
    """A page's own table of contents. `sections`: anchor and title, as HTML; so is `label`."""
    entries = "".join(f'<li><a href="#{html.escape(anchor, quote=True)}">{title}</a></li>' for anchor, title in sections)
    return f'<nav class="contents" aria-label="{label}"><details open><summary>{label}</summary><ol>{entries}</ol></details></nav>'


class Frame:
    """Fills templates/page.html."""

    def __init__(self, words, site):
        self.words, self.site = words, site
        self.template = (HERE / "templates" / "page.html").read_text()

    def other_language(self, page):
        """The same page in the other language, where the site has it."""
        others = [language for language in self.site.languages if language != self.words.language]
        return f"{others[0]}/{page.split('/', 1)[1]}" if others and "/" in page else None

    def page(self, name, title, main, *, description="", here="", scripts=(), body_class="", same_anchors=True):
        """`name`: the page below the site's folder; `here`: which entry of the navigation it stands under;
        `same_anchors`: whether the page in the other language has the same ones."""
        words, language = self.words, self.words.language
        items = []
        for key, target in PLACES:
            current = ' aria-current="page"' if here == key else ""
            items.append(f'<a href="{relative(f"{language}/{target}", name)}"{current}>{words.html(key)}</a>')
        other = self.other_language(name)
        if other:
            code = other.split("/")[0]
            tag = self.site.words[code]("html_lang")
            link = relative(other, name)
            same = ' data-anchors="same"' if same_anchors else ""
            items.append(f'<a class="language" lang="{tag}" hreflang="{tag}" data-language="{code}"{same} href="{link}">{words.html("other")}</a>')
        fields = {
            "html_lang": words("html_lang"),
            "title": html.escape(title if title == "Meshscope" else f"{title} · Meshscope"),
            "description": html.escape(description, quote=True),
            "root": relative("assets/style.css", name)[: -len("assets/style.css")],
            "body_class": body_class,
            "skip": words.html("skip"),
            "site_navigation": words.html("site_navigation"),
            "home": relative(f"{language}/index.html", name),
            "navigation": "\n".join(items),
            "main": main,
            "footer": words.html("footer", version=self.site.version),
            "scripts": "".join(
                f'\n<script src="{relative(f"assets/{script}", name)}" defer></script>' for script in ("page.js", *scripts)
            ),
        }
        return re.sub(r"@(\w+)@", lambda found: fields[found[1]], self.template)
