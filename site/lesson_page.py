"""A lesson as a page: goals, steps with pictures and questions, exercises, the same in PyTorch."""

import html
import json
import re

import marks
from frame import contents, picture_image, relative

WIDE = 900  # pixels of a picture
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?=( B\b)?)")


def covered(lines, quizzes):
    """What a picture tells above its step's questions: without a number that one of them asks for. The program covers
    only what it knows to be asked; in words the same number often stands elsewhere. Small ones are names, as of ranks."""
    answers = [(float(quiz["answer"].replace(",", "")), quiz["tolerance"]) for quiz in quizzes if quiz["kind"] == "number"]

    def cover(found):
        value = float(found[0].rstrip(",").replace(",", ""))
        asked = any(abs(value - answer) <= tolerance for answer, tolerance in answers)
        return "?" if asked and (value >= 100 or found[1]) else found[0]

    return [NUMBER.sub(cover, line) for line in lines]


class LessonPage:
    def __init__(self, lesson, words, site, terms):
        self.lesson, self.words, self.site, self.terms = lesson, words, site, terms
        self.language = words.language
        self.name = lesson.page(self.language)
        self.records = []  # for the search: anchor, heading, text

    def link(self, target):
        return html.escape(relative(target, self.name), quote=True)

    def text(self, both):
        return marks.blocks(both[self.language], self.terms)

    def note(self, anchor, heading, *texts):
        self.records.append((anchor, heading, " ".join(marks.plain_text(text) for text in texts)))

    # Pictures

    def told(self, told, quizzes=()):
        """What a picture tells in words, folded; "" where it tells nothing."""
        lines = [line.rstrip() for line in covered((*told["scene"], *told["facts"]), quizzes) if line.strip()]
        facts = "\n".join(html.escape(line) for line in lines)
        return f"<details><summary>{self.words.html('picture_tells')}</summary><pre class=\"told\">{facts}</pre></details>" if lines else ""

    def figure(self, step, kind, quizzes=()):
        """`quizzes`: those that are open."""
        told = self.lesson.picture(step, self.language, kind)
        file = self.link(f"pictures/{self.lesson.name}/{told['file']}")
        width, _ = self.site.size(self.lesson, told["file"])
        words = self.words
        region = words.html("picture_region", title=marks.plain_text(step["title"][self.language]))
        image = picture_image(self.site, words, self.name, self.lesson, step, told["file"], covered(told["scene"], quizzes))
        # Views that take the window's whole width have words too small for a column.
        wide = ' class="wide"' if width > WIDE else ""
        own = f"<p>{words.html('own_run')}</p>" if kind == "asked" and step["id"] in self.lesson.variant_steps else ""
        return f"""<figure{wide}>
<div class="picture" tabindex="0" role="region" aria-label="{region}">
<a href="{file}" title="{words.html('picture_open')}">{image}</a>
</div>
<figcaption>{own}{self.told(told, quizzes)}</figcaption>
</figure>"""

    def whole(self, step, quizzes):
        """What stands behind the answer, where the step's picture or its words leave something out."""
        asked, answered = (self.lesson.picture(step, self.language, kind) for kind in ("asked", "answered"))
        if asked and asked["file"] != answered["file"]:
            return f"<p>{self.words.html('after_answer')}</p>{self.figure(step, 'answered')}"
        words = self.told(answered)
        return words if words != self.told(asked or answered, quizzes) else ""

    # Questions

    def question(self, quiz, whole):
        """`whole`: the picture, or its words, that the answer belongs to; "" where nothing was left out."""
        words, language = self.words, self.language
        kind = quiz["kind"]
        given = f"q-{quiz['id']}"
        if kind == "choice":
            fields = "".join(
                f'<label class="choice"><input type="radio" name="{given}" value="{index}">'
                f'<span>{marks.inline(choice["text"][language])}</span></label>'
                for index, choice in enumerate(quiz["choices"])
            )
            answer = marks.inline(quiz["choices"][int(quiz["answer"])]["text"][language])
            hints = [
                [str(index), marks.inline(choice["hint"][language])]
                for index, choice in enumerate(quiz["choices"])
                if choice["hint"][language]
            ]
        else:
            label, mode = {"number": ("your_number", "decimal"), "ranks": ("your_ranks", "text"), "order": ("your_order", "text")}[kind]
            field = f'<input type="text" name="{given}" inputmode="{mode}" autocomplete="off" spellcheck="false">'
            fields = f'<label class="given">{words.html(label)} {field}</label>'
            answer = html.escape(quiz["shown"] if kind == "number" else quiz["answer"].replace(",", ", "))
            hints = [[hint["when"], marks.inline(hint["text"][language])] for hint in quiz["hints"]]
        data = {
            "kind": kind, "answer": quiz["answer"], "tolerance": quiz["tolerance"], "hints": hints,
            "right": words("right"), "wrong": words("wrong"),
            "empty": words({"choice": "choose", "number": "type_number", "ranks": "type_list", "order": "type_order"}[kind]),
        }
        return f"""<form class="question" id="{given}" data-quiz="{html.escape(json.dumps(data, ensure_ascii=False), quote=True)}">
<fieldset><legend><span class="badge">{words.html('question')}</span> {marks.inline(quiz['question'][language])}</legend>
{fields}
<p class="buttons"><button type="submit" hidden>{words.html('check')}</button></p>
<p class="verdict" role="status" aria-live="polite"></p>
</fieldset>
<details class="answer"><summary>{words.html('reveal')}</summary>
<p><strong>{words.html('answer')}</strong> {answer}</p>
{marks.blocks(quiz['reveal'][language])}
{whole}</details>
</form>"""

    # Sections

    def step(self, number, step):
        words = self.words
        quizzes = [quiz for quiz in self.lesson.data["questions"] if quiz["step"] == step["id"]]
        first = "asked" if self.lesson.picture(step, self.language, "asked") else "answered"
        title = step["title"][self.language]
        self.note(step["id"], marks.plain_text(title), step["body"][self.language], *(quiz["question"][self.language] for quiz in quizzes))
        count = len(self.lesson.data["steps"])
        live = ""
        if self.site.live:
            place = f"lesson={self.lesson.name}&step={number}&lang={self.language}&embed=1"
            live = f'<p class="live"><button type="button" hidden data-live="{html.escape(place)}">{words.html("live_step")}</button></p>'
        whole = self.whole(step, quizzes)
        questions = "\n".join(self.question(quiz, whole) for quiz in quizzes)
        return f"""<section class="step" id="{step['id']}" aria-labelledby="{step['id']}-title">
<p class="count">{words.html('step_of', number=number, count=count)}</p>
<h2 id="{step['id']}-title">{marks.inline(title)}</h2>
{self.text(step['body'])}
{self.figure(step, first, quizzes)}
{live}
{questions}
</section>"""

    def part(self, section):
        """break, change or summary."""
        words, anchor = self.words, section["id"]
        title = section["title"][self.language]
        self.note(anchor, marks.plain_text(title), section["body"][self.language])
        changes = ""
        if anchor in self.lesson.data["variants"]:
            lines = "\n".join(f"{change['key']} = {change['value'] or '–'}" for change in self.lesson.data["variants"][anchor])
            changes = f"<p class=\"caption\">{words.html('what_changes')}</p><pre><code>{html.escape(lines)}\n</code></pre>"
        badge = "" if anchor == "summary" else f'<p class="count">{words.html(anchor)}</p>'
        return f"""<section class="part" id="{anchor}" aria-labelledby="{anchor}-title">
{badge}
<h2 id="{anchor}-title">{marks.inline(title)}</h2>
{self.text(section['body'])}
{changes}
</section>"""

    def code(self, file, anchor, shown):
        """The lesson's own file, to take along, and where `shown` to read."""
        words = self.words
        target = self.link(f"files/{self.lesson.name}/{file}")
        inside = ""
        if shown:
            text = html.escape((self.lesson.folder / file).read_text())
            inside = f'<details><summary><code>{file}</code></summary><pre class="long" tabindex="0"><code>{text}</code></pre></details>\n'
        return f"""<section class="part" id="{anchor}" aria-labelledby="{anchor}-title">
<h2 id="{anchor}-title">{words.html(anchor)}</h2>
<p>{words.html(f'{anchor}_text')} <a href="{target}" download>{words.html('download', file=file)}</a></p>
{inside}</section>"""

    def neighbours(self):
        """Links to the lessons before and behind it."""
        found = []
        for key, lesson in zip(("previous", "next"), self.site.neighbours(self.lesson)):
            if lesson:
                rel = "prev" if key == "previous" else "next"
                title = f"<span>{self.words.html(key)}</span> {html.escape(lesson.title(self.language))}"
                found.append(f'<a class="{key}" rel="{rel}" href="{self.link(lesson.page(self.language))}">{title}</a>')
        return f'<nav class="neighbours" aria-label="{self.words.html("lessons")}">{"".join(found)}</nav>'

    def head(self):
        lesson, words, language = self.lesson, self.words, self.language
        title = f'{words.html("chapter", number=lesson.chapter)} · {html.escape(self.site.chapters[language][lesson.chapter])}'
        chapter = f'<a href="{self.link(f"{language}/index.html#chapter-{lesson.chapter}")}">{title}</a>'
        facts = [words("steps_count", count=len(lesson.data["steps"])), words("questions_count", count=len(lesson.data["questions"]))]
        if lesson.mesh_text():
            facts.insert(0, f"{words('mesh')} {lesson.mesh_text()}")
        live = ""
        if not self.site.live:
            live = f'<p class="note">{marks.inline(words("no_live"))}</p>'
        return f"""<p class="count">{chapter}</p>
<h1>{marks.inline(lesson.full_title(language))}</h1>
<p class="facts">{html.escape(' · '.join(facts))}</p>
{live}"""

    def main(self):
        data, words, language = self.lesson.data, self.words, self.language
        before = []
        for section in data["before"]:
            title = section["title"][language]
            self.note(section["id"], marks.plain_text(title), section["body"][language])
            heading = f"<h2 id=\"{section['id']}-title\">{marks.inline(title)}</h2>" if title else ""
            before.append(f'<section class="{section["id"]}" id="{section["id"]}">{heading}\n{self.text(section["body"])}</section>')
        steps = [self.step(number, step) for number, step in enumerate(data["steps"], 1)]
        parts = [self.part(section) for section in data["after"]]
        sections = [(part["id"], part["title"][language]) for part in (*data["steps"], *data["after"])]
        files = []
        # A scenario has the answers to the questions in it.
        for file, anchor, shown in (("pytorch.py", "pytorch", True), ("scenario.toml", "scenario", False)):
            if (self.lesson.folder / file).exists():
                files.append(self.code(file, anchor, shown))
                sections.append((anchor, words(anchor)))
        labels = {key: words(key) for key in ("live_step", "live_close", "live_note")}
        labels["live_title"] = words("live_title", title=self.lesson.title(language))
        said = html.escape(json.dumps(labels, ensure_ascii=False), quote=True)
        return f"""<div class="lesson" data-live-page="{self.link('meshscope.html')}" data-words="{said}">
{contents(words.html('in_this_lesson'), [(anchor, marks.inline(title)) for anchor, title in sections])}
<article>
{self.head()}
{''.join(before)}
{''.join(steps)}
{''.join(parts)}
{''.join(files)}
{self.neighbours()}
</article>
</div>"""
