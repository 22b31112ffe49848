"""What is shown: in a notebook as its output, elsewhere by the browser."""

import html
import os
import pathlib
import re
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

from support import ROOT, InFolder, hsdp, meshscope
from meshscope import page, showing


class Showing(InFolder):
    def setUp(self):
        super().setUp()
        hsdp()  # whose own folder is not one that a test looks for
        self.page = self.folder / "site" / "meshscope.html"
        self.page.parent.mkdir()
        self.page.write_text('<!DOCTYPE html><p>page</p><script type="text/plain" id="record"></script>')  # as app/web/page.html has it
        (self.folder / "tmp").mkdir()
        self.opened, self.displayed = [], []
        display = types.ModuleType("IPython.display")
        display.display = lambda shown: self.displayed.append(shown._repr_html_())
        self.notebook = {"IPython": types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1)),
                         "IPython.display": display}
        for patch in (mock.patch.dict(os.environ, MESHSCOPE_PAGE=str(self.page)),
                      mock.patch.dict(sys.modules, IPython=None),
                      mock.patch.object(showing.webbrowser, "open", lambda address: self.opened.append(address) or True),
                      mock.patch.object(tempfile, "tempdir", str(self.folder / "tmp"))):
            patch.start()
            self.addCleanup(patch.stop)

    def test_a_lesson_in_the_browser(self):
        address = meshscope.show("hsdp", step=3, lang="zh", at="0.5 ms")
        self.assertEqual(address, self.page.as_uri() + "#lesson=hsdp&lang=zh&step=3&at=0.5+ms")
        redirect = pathlib.Path(self.opened[0][len("file://"):]).read_text()
        self.assertEqual(html.unescape(re.search(r'url=(.*?)">', redirect)[1]), address)
        self.assertEqual(meshscope.show("ring", url="https://course.example/m.html"), "https://course.example/m.html#lesson=ring")
        self.assertEqual(self.opened[1], "https://course.example/m.html#lesson=ring")
        lesson = ROOT / "scenarios" / "22_ring"
        for path in (lesson, lesson / "scenario.toml"):
            self.assertEqual(meshscope.show(path), self.page.as_uri() + "#lesson=22_ring")

    def test_the_words_of_a_link_are_the_pages(self):
        page = (ROOT / "app" / "web" / "page.js").read_text(encoding="utf-8")
        known = re.search(r"\[(.*?)\]\.forEach", page)[1]
        for word in ("step", "lang", "view", "form", "rank", "at", "clock", "theme", "scale"):
            self.assertIn(f"'{word}'", known)
        self.assertIn("given.get('lesson')", page)

    def test_a_lesson_in_a_notebook(self):
        with mock.patch.dict(sys.modules, self.notebook):
            self.assertIsNone(meshscope.show("hsdp", height=500))
            meshscope.show(url="https://course.example/m.html")
        copy = "meshscope_pages/meshscope-6cf774eb.html"
        self.assertEqual((self.folder / copy).read_text(), self.page.read_text())
        self.assertIn(f'<iframe src="{copy}#lesson=hsdp&amp;embed=1" width="100%" height="500"', self.displayed[0])
        self.assertIn('<iframe src="https://course.example/m.html#embed=1" ', self.displayed[1])
        self.assertIn("allow-popups ", self.displayed[1])
        self.assertEqual(self.opened, [])

    def test_a_record_in_a_notebook_stands_in_its_output(self):
        with mock.patch.dict(sys.modules, self.notebook):
            meshscope.show(hsdp(), lang="zh")
            with mock.patch.object(showing, "_LARGEST_OUTPUT", 10):
                meshscope.show(hsdp())
        page = html.unescape(re.search(r'srcdoc="(.*?)" width', self.displayed[0], re.S)[1])
        self.assertRegex(page, r'^<!DOCTYPE html><!-- meshscope --><p>page</p><script type="text/plain" id="record" data-name="run.mscope" data-place="lang=zh">[A-Za-z0-9+/=]+</script>$')
        copy = re.search(r'src="(meshscope_pages/run-[0-9a-f]{8}\.html)#embed=1"', self.displayed[1])[1]
        self.assertEqual((self.folder / copy).read_text(encoding="utf-8")[:44], "<!DOCTYPE html><!-- meshscope --><p>page</p>")
        self.assertEqual(os.listdir(self.folder / "tmp"), [])

    def test_copies_take_no_files_place(self):
        pages = [self.folder / "a" / "run.html", self.folder / "b" / "run.html"]
        for page in pages:
            page.parent.mkdir()
            page.write_text(str(page))
        copies = [showing._put_beside(page) for page in (*pages, *pages)]
        self.assertEqual(copies[:2], copies[2:])
        self.assertEqual([(self.folder / copy).read_text() for copy in copies[:2]], list(map(str, pages)))
        (self.folder / copies[0]).write_text("notes")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "cannot be put beside the notebook: .*exists"):
            showing._put_beside(pages[0])
        self.assertEqual((self.folder / copies[0]).read_text(), "notes")

    def test_a_record_in_the_browser(self):
        shutil.copy(hsdp().path, "mine.mscope")
        shown = meshscope.show("mine.mscope", view="memory", rank=2, steps="1:3", lang="en")
        self.assertEqual(self.opened, [pathlib.Path(shown).as_uri()])
        self.assertIn('data-name="mine.mscope" data-place="view=memory&amp;rank=2&amp;lang=en"', pathlib.Path(shown).read_text(encoding="utf-8"))
        with self.assertRaisesRegex(TypeError, "^url is for lessons"):
            meshscope.show(hsdp(), url="m.html", rank=0)
        with self.assertRaisesRegex(meshscope.MeshscopeError, "--view cannot be memroy; it takes mesh, "):
            meshscope.show(hsdp(), view="memroy")
        self.assertEqual(len(os.listdir(self.folder / "tmp")), 1)

    def test_the_page_of_the_checkout_is_found(self):
        programs, web = self.folder / "tree" / "build" / "release" / "bin", self.folder / "tree" / "out" / "web"
        programs.mkdir(parents=True)
        web.mkdir(parents=True)
        (programs / "meshscope").write_text("#!/bin/sh\n")
        (programs / "meshscope").chmod(0o755)
        (web / "meshscope.html").write_text("page")
        installed = str(self.folder / "site" / "meshscope" / "page.py")
        with mock.patch.dict(os.environ, MESHSCOPE_PAGE="", MESHSCOPE=str(programs / "meshscope")), \
                mock.patch.object(page, "__file__", installed):
            self.assertEqual(page.find_page(), str(web / "meshscope.html"))

    def test_a_record_is_put_into_a_file_where_the_page_is_hosted(self):
        with mock.patch.object(page, "_installed_page", lambda: "here.html"):
            for named, told in (("https://course.example/meshscope.html", {"MESHSCOPE_PAGE": "here.html"}), ("mine.html", {}), ("", {})):
                with mock.patch.dict(os.environ, MESHSCOPE_PAGE=named):
                    self.assertEqual(page.page_environment(), told)

    def test_what_is_missing_is_said(self):
        with mock.patch.dict(os.environ, MESHSCOPE_PAGE="nosuch.html"):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "MESHSCOPE_PAGE names nosuch.html"):
                meshscope.show("hsdp")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "url names nosuch.html, which is no file"):
            meshscope.show("hsdp", url="nosuch.html")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "no lesson hsdq; lessons: 11_processes, 12_"):
            meshscope.show("hsdq")
        site = str(self.folder / "site" / "meshscope" / "page.py")
        with mock.patch.dict(os.environ, MESHSCOPE_PAGE="", MESHSCOPE="nosuch"), mock.patch.object(page, "__file__", site):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "scripts/web makes it"):
                meshscope.show("hsdp")
        with mock.patch.object(showing.webbrowser, "open", lambda address: False):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "open this yourself: file://"):
                meshscope.show("hsdp")


if __name__ == "__main__":
    unittest.main()
