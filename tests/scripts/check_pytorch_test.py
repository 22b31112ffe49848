"""scripts/check-pytorch with a Python that prints what each lesson's pytorch.py says, and a Meshscope that answers."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = sys.argv.pop(1)

# Stands in for a Python with PyTorch: `-c` asks for its version, a file is a script that is run as it is.
PYTHON = f"""#!/bin/sh
if [ "$1" = -c ]; then
  if [ -n "$NO_TORCH" ]; then echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1; fi
  echo 2.15.0
  if [ -n "$NO_GLOO" ]; then echo "it has no torch.distributed with gloo" >&2; exit 1; fi
  exit 0
fi
exec {sys.executable} "$@"
"""

# Stands in for meshscope: lesson numbers NAME --json --scenarios FOLDER.
MESHSCOPE = """#!/bin/sh
[ "$1 $2 $4 $5" = "lesson numbers --json --scenarios" ] || exit 2
[ "$3" = 13_refused ] && { echo "number b: no such table" >&2; exit 1; }
cat "$6/$3/numbers.json"
"""


class CheckPytorch(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.root = pathlib.Path(self.kept.name)
        (self.root / "scenarios").mkdir()
        for name, text in (("python", PYTHON), ("meshscope", MESHSCOPE)):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)

    def lesson(self, name, numbers, script):
        folder = self.root / "scenarios" / name
        folder.mkdir()
        (folder / "scenario.toml").write_text("format = 1\n")
        (folder / "numbers.json").write_text(json.dumps({"lesson": name, "numbers": numbers}))
        if script is not None:
            (folder / "pytorch.py").write_text(script)

    def check(self, *words, **environment):
        return subprocess.run(
            [sys.executable, SCRIPT, "--python", str(self.root / "python"), "--meshscope", str(self.root / "meshscope"),
             "--scenarios", str(self.root / "scenarios"), *words],
            capture_output=True, text=True, env={**os.environ, **environment})

    def test_equal_numbers_agree_and_other_lines_do_not_count(self):
        self.lesson("11_a", {"a": "4", "b": "[0, 1] [2, 3]", "change.c": "1,056"},
                    "print('Training')\nprint('a = 4')\nprint('loss = 0.3')\nprint('b =', [0, 1], [2, 3])\n"
                    "print('change.c = 1,056')\n")
        ended = self.check()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("PyTorch 2.15.0\nok      11_a  (1/1)\n        a = 4\n", ended.stdout)
        self.assertIn("change.c = 1,056", ended.stdout)
        self.assertNotIn("loss", ended.stdout)
        self.assertIn("1 of 1 lessons agree", ended.stdout)

    def test_another_value_is_a_failure_that_names_both(self):
        self.lesson("11_a", {"a": "4", "b": "7"}, "print('a = 4')\nprint('b = 8')\n")
        self.lesson("12_b", {"a": "4", "b": "7"}, "print('a = 4')\nprint('b = 7')\n")
        ended = self.check()
        self.assertEqual(ended.returncode, 1)
        self.assertIn("failed  11_a  (1/2)\n", ended.stdout)
        self.assertIn("b: PyTorch says 8, Meshscope 7", ended.stdout)
        self.assertIn("ok      12_b  (2/2)\n", ended.stdout)
        self.assertIn("1 of 2 lessons agree", ended.stdout)

    def test_one_number_twice_is_not_two(self):
        self.lesson("11_a", {"a": "4", "b": "7"}, "print('a = 4')\nprint('a = 4')\nprint('c = 7')\n")
        ended = self.check()
        self.assertEqual(ended.returncode, 1)
        self.assertIn("2 or more are needed", ended.stdout)

    def test_a_script_that_is_missing_breaks_or_does_not_end_is_a_failure(self):
        self.lesson("11_a", {"a": "4"}, None)
        self.lesson("12_b", {"a": "4"}, "print('a = 4')\nraise RuntimeError('gloo is gone')\n")
        self.lesson("13_refused", {"a": "4"}, "print('a = 4')\n")
        self.lesson("14_slow", {"a": "4"}, "import time\ntime.sleep(60)\n")
        ended = self.check("--timeout", "1")
        self.assertEqual(ended.returncode, 1)
        for words in ("there is no pytorch.py", "pytorch.py ended with 1: RuntimeError: gloo is gone",
                      "ended with 1: number b: no such table", "did not end within 1 s", "0 of 4 lessons agree"):
            self.assertIn(words, ended.stdout)

    def test_lessons_can_be_named(self):
        self.lesson("11_a", {"a": "4"}, None)
        self.lesson("12_b", {"a": "4", "b": "7"}, "print('a = 4')\nprint('b = 7')\n")
        self.assertEqual(self.check("12_b").returncode, 0)
        ended = self.check("12_c")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("there is no lesson 12_c", ended.stderr)
        self.assertIn("did you mean 12_b?", ended.stderr)
        self.assertEqual(self.check(str(self.root / "scenarios" / "12_b") + "/").returncode, 0)
        self.assertIn("1 of 2 lessons agree", self.check("all").stdout)

    def test_lessons_are_meant_by_short_names_places_and_patterns(self):
        for name in ("11_a", "12_b", "21_c"):
            self.lesson(name, {"a": "4", "b": "7"}, "print('a = 4')\nprint('b = 7')\n")
        for words, names in ((["b"], ["12_b"]), (["21"], ["21_c"]), (["1*"], ["11_a", "12_b"]),
                             (["21_c", "a"], ["11_a", "21_c"])):
            ended = self.check(*words)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            told = [line.split()[1] for line in ended.stdout.splitlines() if line.startswith("ok ")]
            self.assertEqual(told, names)
        self.assertEqual(self.check("3*").returncode, 2)

    def test_a_table_of_all_ends_the_report(self):
        self.lesson("11_a", {"a": "4", "b": "7"}, "print('a = 4')\nprint('b = 8')\n")
        self.lesson("12_long_name", {"a": "4", "b": "7", "c": "1"}, "print('a = 4')\nprint('b = 7')\nprint('c = 1')\n")
        lines = self.check().stdout.splitlines()
        self.assertRegex(lines[-4], r"^lesson +numbers +seconds$")
        self.assertRegex(lines[-3], r"^11_a +failed +2 +\d+\.\d$")
        self.assertRegex(lines[-2], r"^12_long_name +ok +3 +\d+\.\d$")
        self.assertEqual(len({len(line) for line in lines[-4:-1]}), 1)  # its columns stand below each other

    def test_a_python_without_torch_is_told_before_anything_runs(self):
        self.lesson("11_a", {"a": "4"}, "print('a = 4')\n")
        ended = self.check(NO_TORCH="1")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("cannot import torch (ModuleNotFoundError", ended.stderr)
        self.assertIn("pip install torch", ended.stderr)
        self.assertEqual(ended.stdout, "")

    def test_a_torch_without_gloo_a_missing_program_and_an_empty_folder_are_told(self):
        self.lesson("11_a", {"a": "4"}, "print('a = 4')\n")
        ended = self.check(NO_GLOO="1")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("cannot run the lessons (it has no torch.distributed with gloo)", ended.stderr)
        for words, said in ((["--python", "/no/python"], "/no/python cannot be started: No such file"),
                            (["--meshscope", "/no/meshscope"], "/no/meshscope is no program here. Build it:"),
                            (["--scenarios", str(self.root)], "there are no lessons in " + str(self.root))):
            ended = self.check(*words)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(said, ended.stderr)
            self.assertEqual(ended.stdout, "")

    def test_the_help_names_every_option_once_with_what_it_does(self):
        ended = self.check("--help")
        self.assertEqual(ended.returncode, 0)
        for words in ("a Python with PyTorch", "where the lessons lie", "for each script", "a folder's path"):
            self.assertEqual(" ".join(ended.stdout.split()).count(words), 1)
        self.assertEqual(ended.stdout.count("usage:"), 1)

    def test_ctrl_c_and_sigterm_end_the_script_and_its_ranks_without_a_traceback(self):
        mark = self.root / "pid"
        self.lesson("11_a", {"a": "4"}, "import os, pathlib, time\n"
                    f"pathlib.Path({str(mark)!r} + 'x').write_text(str(os.getpid()))\n"
                    f"os.rename({str(mark)!r} + 'x', {str(mark)!r})\ntime.sleep(600)\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            started = subprocess.Popen(
                [sys.executable, SCRIPT, "--python", str(self.root / "python"), "--meshscope",
                 str(self.root / "meshscope"), "--scenarios", str(self.root / "scenarios")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while not mark.exists() and started.poll() is None:
                time.sleep(0.02)
            started.send_signal(number)
            _, err = started.communicate()
            self.assertEqual(started.returncode, 128 + number)
            self.assertIn("check-pytorch: stopped", err)
            self.assertNotIn("Traceback", err)
            with self.assertRaises(ProcessLookupError):
                os.kill(int(mark.read_text()), 0)
            mark.unlink()


if __name__ == "__main__":
    unittest.main()
