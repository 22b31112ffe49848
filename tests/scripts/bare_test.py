"""scripts/bare and scripts/test --bare where no bare machine can be made, and what scripts/lib.sh decides by itself.

usage: bare_test.py ROOT
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()


class Bare(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        (self.folder / "bin").mkdir()

    def stand_in(self, name, text):
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def call(self, *words, cwd=None, **environment):
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        kept["PATH"] = f"{self.folder / 'bin'}:{kept['PATH']}"
        kept["XDG_CACHE_HOME"] = str(self.folder / "cache")
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=cwd,
                              env={**kept, **environment})

    def bare(self, *words, **environment):
        return self.call(ROOT / "scripts/bare", *words, **environment)

    def test_help_says_what_it_needs_and_where_it_keeps_what_it_makes(self):
        told = self.bare("--help")
        self.assertEqual(told.returncode, 0, told.stderr)
        for words in ("usage: scripts/bare", "needs root", str(self.folder / "cache" / "meshscope/bare")):
            self.assertIn(words, told.stdout)

    def test_a_call_without_a_command_or_with_a_wrong_option_is_refused(self):
        for words, message in (([], "bare: it needs a command"), (["--chache", "x"], "bare: unknown option: --chache"),
                               (["--cache"], "bare: --cache needs a folder")):
            told = self.bare(*words)
            self.assertEqual(told.returncode, 1)
            self.assertIn(message, told.stderr)

    def test_without_root_it_says_so_and_that_is_a_failure_only_in_a_ci(self):
        self.stand_in("id", "echo 1000")
        told = self.bare("true")
        self.assertEqual(told.returncode, 77)
        self.assertEqual(told.stderr, "bare: no bare machine can be made here: that needs root\n")
        told = self.bare("true", CI="true")
        self.assertEqual(told.returncode, 1)
        self.assertEqual(told.stderr, "bare: CI=true, and no bare machine can be made here: that needs root\n")

    def test_without_namespaces_it_says_so_before_it_makes_anything(self):
        self.stand_in("id", "echo 0")
        self.stand_in("unshare", "exit 1")
        told = self.bare("true")
        self.assertEqual(told.returncode, 77)
        self.assertIn("does not permit namespaces", told.stderr)
        self.assertFalse((self.folder / "cache").exists())

    def test_scripts_test_counts_what_cannot_be_done_as_skipped_and_in_a_ci_as_failed(self):
        self.stand_in("id", "echo 1000")
        told = self.call(ROOT / "scripts/test", "--bare")
        self.assertEqual(told.stdout.splitlines()[-1], "0 passed, 0 failed, 2 skipped")
        self.assertEqual(told.returncode, 0)
        told = self.call(ROOT / "scripts/test", "--bare", CI="true")
        self.assertEqual(told.stdout.splitlines()[-1], "0 passed, 2 failed")
        self.assertIn("FAILED: scripts/demo on a bare machine", told.stdout)
        self.assertEqual(told.returncode, 1)

    def test_only_one_kind_of_tests_is_asked_for(self):
        told = self.call(ROOT / "scripts/test", "--bare", "--deep")
        self.assertEqual(told.returncode, 1)
        self.assertIn("test: --deep and --bare are not for the same call", told.stderr)

    def test_a_checkout_that_was_moved_is_configured_anew(self):
        self.stand_in("cmake", 'echo "cmake $*"')
        cache = self.folder / "build/release/CMakeCache.txt"
        cache.parent.mkdir(parents=True)
        script = f'. "{ROOT}/scripts/lib.sh"; configure release -DX=1'
        for home, said in ((self.folder, "cmake --preset release -DX=1\n"),
                           ("/was/here", "build/release was made in /was/here, so everything is built again.\n"
                                         "cmake --fresh --preset release -DX=1\n")):
            cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n")
            told = self.call("bash", "-euo", "pipefail", "-c", script, cwd=self.folder)
            self.assertEqual((told.returncode, told.stdout), (0, said), told.stderr)
        cache.unlink()
        told = self.call("bash", "-euo", "pipefail", "-c", script, cwd=self.folder)
        self.assertEqual((told.returncode, told.stdout), (0, "cmake --preset release -DX=1\n"), told.stderr)


if __name__ == "__main__":
    unittest.main()
