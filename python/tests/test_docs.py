"""docs/python.md: its examples run, one after the other, and print what stands behind them."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from unittest import mock

from support import ROOT, InFolder, meshscope
from meshscope import showing


class Docs(InFolder):
    def test_the_examples_print_what_they_say(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        self.assertGreater(len(blocks), 5)
        (self.folder / "class").mkdir()  # as who reads it a second time has it
        page = self.folder / "page.html"
        page.write_text('<script type="text/plain" id="record"></script>')
        names = {"__name__": "docs"}
        with mock.patch.dict(os.environ, MESHSCOPE_PAGE=str(page)), \
                mock.patch.object(tempfile, "tempdir", str(self.folder)), \
                mock.patch.object(showing.webbrowser, "open", lambda address: True):
            for block in blocks:
                told = io.StringIO()
                with contextlib.redirect_stdout(told):
                    exec(compile(block, "docs/python.md", "exec"), names)
                said = [line for comment in re.findall(r"print\(.*\)\s+# (.*)$", block, re.M) for line in comment.split("; ")]
                self.assertEqual(told.getvalue().splitlines(), said, block)

    def test_what_it_names_exists(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)\(\)`", text):
            self.assertTrue(hasattr(meshscope.Record, name) or hasattr(meshscope.Rows, name), name)
        for name in meshscope.__all__:
            if name[0].islower():
                self.assertRegex(text, rf"\b{name}\(", name)


if __name__ == "__main__":
    unittest.main()
