"""packaging/app_manual.cmake: the window's manual pages, and whose pages they replace.

usage: app_manual_test.py ROOT CMAKE
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop()
ROOT = pathlib.Path(sys.argv.pop()).resolve()


class AppManual(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.program = self.folder / "program"
        self.program.write_text("#!/bin/sh\nprintf 'meshscope-app: opens a window\\n\\n.x  --help\\n'\n")
        self.program.chmod(0o755)
        self.page = self.folder / "man1" / "meshscope-app.1"

    def write(self):
        return subprocess.run([CMAKE, f"-DPROGRAM={self.program}", f"-DOUT={self.folder}",
                               "-P", ROOT / "packaging" / "app_manual.cmake"], capture_output=True, text=True)

    def test_pages_begin_with_the_mark_of_all_manual_pages_and_are_replaced(self):
        for _ in range(2):
            self.assertEqual(self.write().returncode, 0)
        self.assertTrue(self.page.read_text().startswith('.\\" meshscope manual\n.TH MESHSCOPE'))
        self.assertTrue((self.folder / "zh_CN" / "man1" / "meshscope-app.1").is_file())

    def test_a_page_of_somebody_else_stays(self):
        self.page.parent.mkdir()
        self.page.write_text(".TH MINE 1\n")
        done = self.write()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(self.page), done.stderr)
        self.assertEqual(self.page.read_text(), ".TH MINE 1\n")


if __name__ == "__main__":
    unittest.main()
