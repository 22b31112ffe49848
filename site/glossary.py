"""docs/glossary.md as a page, and its terms as links in lessons."""

import html
import re
from dataclasses import dataclass

CJK = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
FIRST_CHINESE = re.compile(f"[{CJK}]")
# Terms of one common word mean something else in most sentences.
COMMON = {"part", "piece", "link", "round", "view", "event", "step", "lesson", "cursor", "selection", "stream", "unit", "stage", "copy", "chunk"}


@dataclass
class Term:
    id: str
    english: str
    chinese: str
    meaning: dict  # by language


@dataclass
class Section:
    title: dict
    terms: list


def split_languages(text):
    """"a machine of the job 作业中的一台机器": the Chinese begins at its first Chinese character."""
    found = FIRST_CHINESE.search(text)
    if not found:
        return {"en": text.strip(), "zh": text.strip()}
    return {"en": text[: found.start()].strip(), "zh": text[found.start() :].strip()}


def read(text):
    """The sections of terms, and what follows them (names in the code) as Markdown."""
    sections = []
    head, *parts = re.split(r"^## ", text, flags=re.M)
    rest = ""
    for part in parts:
        title, _, body = part.partition("\n")
        rows = [line.strip().strip("|").split(" | ") for line in body.splitlines() if line.startswith("|")]
        if not rows or len(rows[0]) != 3:
            rest += f"## {part}"
            continue
        terms = []
        for row in rows[2:]:
            english, chinese, meaning = (cell.strip() for cell in row)
            term_id = re.sub(r"[^a-z0-9]+", "-", english.lower()).strip("-")
            terms.append(Term(term_id, english, chinese, split_languages(meaning)))
        sections.append(Section(split_languages(title), terms))
    return sections, rest


def spellings(term, language):
    """"world, world size" and "unit (FSDP)" name a term by several words, or one of a field."""
    text = term.english if language == "en" else term.chinese
    words = [word.strip() for word in re.split(r"[,，、]", re.sub(r"[(（][^)）]*[)）]", "", text))]
    if language == "en":
        return [word for word in words if word.lower() not in COMMON]
    return [word for word in words if len(word) > 1 and word.lower() not in COMMON]


class Links:
    """Links each term where a page first names it, and each other lesson that is named by its number. One a page."""

    def __init__(self, sections, language, page, lessons):
        """`lessons`: the page of each number."""
        self.page, self.lessons = page, lessons
        self.lesson = re.compile(r"\blesson (\d+)\b" if language == "en" else r"第 ?(\d+) ?课", re.I)
        self.by_word = {}
        for section in sections[:2]:  # what the window is called by is told in its own document
            for term in section.terms:
                for word in spellings(term, language):
                    self.by_word.setdefault(word.lower(), term)
        words = sorted(self.by_word, key=len, reverse=True)
        one = "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in words)
        # Whole words of Latin letters; a plural is the same word.
        edges = (r"(?<![\w.-])(", r")(?=s?(?![\w.-]|$)|s?\.?(?:\s|$))") if language == "en" else (r"(?<![A-Za-z0-9_.-])(", r")(?![A-Za-z0-9_-])")
        self.pattern = re.compile(edges[0] + one + edges[1], re.I)
        self.seen = set()
        self.language = language

    def link(self, text):
        out, at = [], 0
        for found in self.lesson.finditer(text):
            if found[1] in self.lessons:
                out.append(self.link_terms(text[at : found.start()]))
                out.append(f'<a href="{self.lessons[found[1]]}">{html.escape(found[0])}</a>')
                at = found.end()
        out.append(self.link_terms(text[at:]))
        return "".join(out)

    def link_terms(self, text):
        out, at = [], 0
        for found in self.pattern.finditer(text):
            term = self.by_word.get(re.sub(r"[\s-]", " ", found[1].lower())) or self.by_word.get(found[1].lower())
            if term is None or term.id in self.seen:
                continue
            self.seen.add(term.id)
            out.append(html.escape(text[at : found.start()]))
            title = html.escape(term.meaning[self.language], quote=True)
            out.append(f'<a class="term" href="{self.page}#{term.id}" title="{title}">{html.escape(found[1])}</a>')
            at = found.end()
        out.append(html.escape(text[at:]))
        return "".join(out)
