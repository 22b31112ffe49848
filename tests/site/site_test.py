"""Makes the course site for two lessons and looks at every page of it.

usage: site_test.py SOURCE_ROOT BIN_FOLDER
"""

import html.parser
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import urllib.parse
from pathlib import Path

ROOT, PROGRAMS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "site"))
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# What a page loads by itself; a link only leads somewhere.
LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}
LESSON = "22_ring"
# Its pictures are the same with and without the answer; only their words are not.
OTHER = "51_adam_memory"


class Page(html.parser.HTMLParser):
    """Its anchors, links and what it loads; what is wrong with its tags."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.wrong, self.open, self.words = set(), [], [], [], [], ""
        self.lang = self.title = ""
        self.without_alt = self.unnamed = 0
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if len(given) != len(attributes):
            self.wrong.append(f"<{tag}> has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)
        if "id" in given:
            if given["id"] in self.ids:
                self.wrong.append(f"the id {given['id']} twice")
            self.ids.add(given["id"])
        if tag == "html":
            self.lang = given.get("lang")
        if tag == "img":
            self.without_alt += "alt" not in given
        if tag == "nav":
            self.unnamed += "aria-label" not in given
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [value for key, value in attributes if (tag, key) in LOADS]
        if any(key.startswith("on") or key == "style" for key in given):
            self.wrong.append(f"<{tag}> has a script or style of its own, which the content policy refuses")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing that is open")

    def handle_data(self, data):
        self.words += data
        if self.open and self.open[-1] == "title":
            self.title += data


def make(folder, *options):
    done = subprocess.run([ROOT / "scripts/site", "--program", PROGRAMS / "meshscope-app", "-o", folder / "site", "--cache", folder / "cache",
                           "--lesson", LESSON, "--lesson", OTHER, "--page", folder / "live.html", *options], text=True, capture_output=True)
    return done


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        (cls.folder / "live.html").write_text("<!DOCTYPE html><title>the live page</title>")
        done = make(cls.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.site = cls.folder / "site"
        names = sorted(path.relative_to(cls.site).as_posix() for path in cls.site.rglob("*.html"))
        cls.pages = {name: Page((cls.site / name).read_text()) for name in names if name != "meshscope.html"}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def lands(self, page, link):
        """The file and anchor that a link leads to."""
        path, _, anchor = link.partition("#")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), urllib.parse.unquote(path))) if path else page
        return name, urllib.parse.unquote(anchor)

    def test_every_page_is_well_formed_and_says_its_language(self):
        self.assertGreater(len(self.pages), 50)
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual(page.wrong, [])
                self.assertEqual(page.lang, "zh-CN" if name.startswith("zh/") else "en")
                self.assertIn("Meshscope", page.title)
                self.assertEqual((page.without_alt, page.unnamed), (0, 0))

    def test_every_link_and_anchor_is_there_and_nothing_is_loaded_from_elsewhere(self):
        for name, page in self.pages.items():
            for link in page.links + page.loads:
                with self.subTest(page=name, link=link):
                    if re.match(r"https?://", link):
                        self.assertNotIn(link, page.loads)
                        continue
                    self.assertNotRegex(link, r"^(/|[a-z]+:)")
                    file, anchor = self.lands(name, link)
                    self.assertTrue((self.site / file).is_file(), file)
                    if anchor and file in self.pages:
                        self.assertIn(anchor, self.pages[file].ids)

    def test_scripts_and_styles_ask_for_nothing(self):
        for path in (self.site / "assets").glob("*.*"):
            if not path.name.startswith("index-"):
                self.assertNotRegex(path.read_text().replace("http://www.w3.org/2000/svg", ""), r"https?://|fetch\(|XMLHttpRequest|@import|eval\(")
        for name in self.pages:
            self.assertTrue("default-src 'none'" in (self.site / name).read_text(), name)

    def test_the_colours_are_the_windows_own(self):
        """Where a hue has another shade for words, it is that one."""
        blocks = (ROOT / "app/gui/window/theme.cpp").read_text().split("set(t, {")[1:3]
        hues = [{name: words or fill for name, fill, words in re.findall(r"\{Token::(\w+), 0x(\w{6}), (?:0x(\w{6})|0)\}", block)} for block in blocks]
        light, dark, *_ = (self.site / "assets/style.css").read_text().split("@media ")  # what follows is for narrow ones and paper
        for theme, part in zip(hues, (dark, light), strict=True):
            used = dict(re.findall(r"--(\w+): #(\w{6});", part))
            self.assertEqual(used, {name: theme.get(name) for name in used})
            self.assertGreater(len(used), 15)

    def test_both_languages_have_the_same_pages_and_anchors(self):
        for name, page in self.pages.items():
            if not name.startswith("en/"):
                continue
            other = self.pages.get("zh/" + name[3:])
            with self.subTest(name):
                self.assertIsNotNone(other)
                # A document that is translated has the headings of its language.
                if not name.startswith("en/docs/"):
                    self.assertEqual(page.ids, other.ids)

    def test_the_site_says_the_same_in_both_languages(self):
        with open(ROOT / "site/words.toml", "rb") as file:
            words = tomllib.load(file)
        fields = {language: {key: sorted(re.findall(r"\{\w+\}", text)) for key, text in texts.items()} for language, texts in words.items()}
        self.assertEqual(fields["en"], fields["zh"])
        views = re.findall(r"^MESHSCOPE_VIEW\((\w+)\)$", (ROOT / "core/base/views.def").read_text(), re.M)
        self.assertEqual([key for key in words["en"] if key.startswith("view_")], [f"view_{view}" for view in views])

    def test_a_lesson_has_steps_pictures_questions_and_the_live_page(self):
        text = (self.site / f"en/lessons/{LESSON}.html").read_text()
        words = self.pages[f"en/lessons/{LESSON}.html"].words
        self.assertFalse("{{" in text, "a number was not filled in")
        for language in ("en", "zh"):
            text = (self.site / f"{language}/lessons/{LESSON}.html").read_text()
            self.assertEqual(text.count('<section class="step"'), 6)
            self.assertEqual(text.count('data-live="lesson=22_ring'), 6)
            quizzes = [json.loads(html.unescape(data)) for data in re.findall(r'data-quiz="([^"]*)"', text)]
            self.assertEqual(len(quizzes), 4)
            # What is asked at the first step is left out of its picture, and shown behind the answer.
            first = text.index(f"chunks.{language}.asked.svg")
            self.assertLess(first, text.index(f"chunks.{language}.svg"))
        self.assertTrue("1,536 B" in words and "dist.all_reduce" in words)
        self.assertTrue('class="term" href="../glossary.html#rank"' in text)

    def test_what_a_picture_tells_above_a_question_leaves_its_answer_out(self):
        asked = 0
        for language in ("en", "zh"):
            for lesson in (LESSON, OTHER):
                text = (self.site / f"{language}/lessons/{lesson}.html").read_text()
                for step in re.findall(r'<section class="step".*?</section>', text, re.S):
                    above, _, below = step.partition('<form class="question"')
                    for data in re.findall(r'data-quiz="([^"]*)"', step):
                        quiz = json.loads(html.unescape(data))
                        if quiz["kind"] != "number" or float(quiz["answer"]) < 100:
                            continue
                        told = "".join(re.findall(r'<pre class="told">.*?</pre>|alt="[^"]*"', above, re.S))
                        self.assertTrue(told)
                        self.assertNotRegex(told, rf"(?<![\d,.]){float(quiz['answer']):,.0f}(?![\d,])")
                        asked += f"{float(quiz['answer']):,.0f}" in below.split('<details class="answer">')[1]
        self.assertGreaterEqual(asked, 8)
        import lesson_page
        quiz = {"kind": "number", "answer": "8576", "tolerance": 0}
        self.assertEqual(lesson_page.covered(["rank 1: 18,576 B = copies 4,288 B, calls 8,576 B"], [quiz]), ["rank 1: 18,576 B = copies 4,288 B, calls ? B"])
        quiz["answer"] = "0"
        self.assertEqual(lesson_page.covered(["rank 0: 0 B, 27.0 µs"], [quiz]), ["rank 0: ? B, 27.0 µs"])

    def test_lessons_are_named_by_their_numbers(self):
        front, lesson = (self.pages[f"zh/{name}.html"].words for name in ("index", f"lessons/{LESSON}"))
        self.assertIn("从第 22 课开始", front)
        self.assertIn("Begin with lesson 22", self.pages["en/index.html"].words)
        self.assertIn("\n22 · ", lesson)
        self.assertEqual({row[1].split()[0] for row in self.index("en") if row[4] == "lesson"}, {"22", "51"})
        import glossary
        links = glossary.Links([], "en", "", {"51": "51_adam_memory.html"})
        self.assertEqual(links.link("Lesson 51, not lesson 5"), '<a href="51_adam_memory.html">Lesson 51</a>, not lesson 5')
        links = glossary.Links([], "zh", "", {"51": "51_adam_memory.html"})
        self.assertEqual(links.link("见第 51 课。"), '见<a href="51_adam_memory.html">第 51 课</a>。')

    def node(self, script):
        """What a script prints; the site's own scripts lie beside it as modules."""
        if not shutil.which("node"):
            self.skipTest("there is no node here (Debian: nodejs)")
        for name in ("search.js", "page.js"):
            shutil.copy(self.site / "assets" / name, self.folder / name)
        (self.folder / "ask.js").write_text(script)
        return subprocess.run(["node", self.folder / "ask.js"], text=True, capture_output=True, check=True).stdout.splitlines()

    def test_an_answer_is_judged_by_the_rules_of_the_course(self):
        """The cases of tests/scenario/evaluate_test.cpp, and what is no answer at all."""
        cases = [("number", *case) for case in (
            ("1056", " 1056 ", "right"), ("1056", "1,056", "right"), ("1056", "1,056 B", "right"), ("1056000", "1,056,000", "right"),
            ("-1.5", "−1.5", "right"), ("0.5", ".5", "right"), ("5", "+5.", "right"), ("1056", "1.056e3", "right"),
            ("1056", "10,56", "empty"), ("1056", "1,0560", "empty"), ("1056", "1056 or 12", "empty"), ("7168", "7168 of 8192", "empty"),
            ("1056", "1.056", "wrong"), ("1056", "10 56", "empty"), ("1", "nan", "empty"), ("1", "one", "empty"), ("1", "", "empty"))]
        cases += [("ranks", *case) for case in (
            ("[0, 2]", "2 , 0", "right"), ("[0, 1]", "0, 0, 1", "right"), ("[0, 1]", "0，1", "right"), ("[0, 1]", "0、1", "right"),
            ("[0, 1]", "0;1", "empty"), ("[0, 1]", "0 > 1", "empty"), ("[0, 1]", "0", "wrong"), ("[0, 1]", "", "empty"))]
        cases += [("order", "F0, B0", "f0 b0", "right"), ("order", "F0, B0", "B0 F0", "wrong"), ("order", "F0, B0", "F0 > B0", "wrong"),
                  ("order", "F0, B0", " ,", "empty"), ("choice", "1", "1", "right"), ("choice", "1", "0", "wrong"), ("choice", "1", "", "empty")]
        lines = self.node(f"const {{ judge }} = require('./page.js'); for (const [kind, answer, given] of {json.dumps(cases)})"
                          " console.log(judge({ kind, answer, tolerance: 0, hints: [], right: 'right', wrong: 'wrong', empty: 'empty' }, given).words);")
        self.assertEqual([(*case[:3], line) for case, line in zip(cases, lines, strict=True)], cases)

    def index(self, language):
        script = (self.site / f"assets/index-{language}.js").read_text()
        return json.loads(script[script.index("[") : script.rindex("]") + 1])

    def test_the_search_finds_words_of_lessons_documents_and_terms(self):
        wanted = (("en", "reduce_scatter", {"lesson", "document"}), ("zh", "检查点", {"term"}), ("zh", "梯度", {"lesson", "term"}))
        for language, word, kinds in wanted:
            found = {row[4] for row in self.index(language) if word in " ".join(row[1:4])}
            self.assertLessEqual(kinds, found)
        for row in self.index("zh"):
            name, anchor = self.lands("zh/search.html", row[0])
            self.assertTrue(not anchor or anchor in self.pages[name].ids, row[0])
        # What is found first: the section whose heading has the words, else one of the page whose title has them.
        asked = {
            "en": {"reduce_scat": "lessons/22_ring.html#scattered", "reduce-scatter": "lessons/22_ring.html#scattered",
                   "bus bandwidth": "glossary.html#bytes-sent-bus-bandwidth",
                   "all-reduce": "lessons/22_ring.html", "all_reduce.": "lessons/22_ring.html"},
            "zh": {"激活重计算": "glossary.html#activation-recomputation", "环 梯度": "lessons/22_ring.html#chunks",
                   "all_gather": "lessons/22_ring.html#gathered"}}
        program = "".join([
            f"globalThis.window = globalThis; require({json.dumps(str(self.site / 'assets/index-LANG.js'))});\n",
            "const { search, snippet } = require('./search.js');\n",
            "for (const query of QUERIES) { const found = search(window.meshscopeIndex, query), row = found[0] && found[0].row;",
            " console.log(JSON.stringify([found.length, row, row && snippet(row[3], query).map(p => p[0]).join('')])); }"])
        for language, queries in asked.items():
            lines = self.node(program.replace("LANG", language).replace("QUERIES", json.dumps(list(queries))))
            for (query, wanted), line in zip(queries.items(), lines, strict=True):
                count, row, part = json.loads(line)
                with self.subTest(query):
                    self.assertGreater(count, 0)
                    self.assertIn(wanted, (row[0], row[0].partition("#")[0]))
                    self.assertTrue(part.strip(" …") in row[3])

    def test_what_is_there_is_not_drawn_again_and_what_is_no_more_goes(self):
        before = {path: path.stat().st_mtime_ns for path in self.site.rglob("*.svg")}
        old = self.site / "en/lessons/01_gone.html"
        old.write_text("")
        again = make(self.folder)
        self.assertIn("0 of 2 lessons drawn anew", again.stdout)
        self.assertFalse(old.exists())
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.site.rglob("*.svg")})
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "letter.txt").write_text("kept")
        refused = make(self.folder, "-o", str(foreign))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("is not empty and holds no site made before", refused.stderr)
        self.assertEqual(os.listdir(foreign), ["letter.txt"])
        for options in (["--lang", "de"], ["--lang=de"]):
            self.assertIn("site: --lang takes en or zh, not: de", make(self.folder, *options).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
