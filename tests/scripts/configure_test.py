"""The programs are configured where nothing is that only tests need; scripts/test asks for all of it.

usage: configure_test.py ROOT CMAKE CXX GUI
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GUI = sys.argv.pop(4)
CXX = sys.argv.pop(3)
CMAKE = sys.argv.pop(2)
ROOT = pathlib.Path(sys.argv.pop(1))


def packages_of(folders):
    """What the CMake files of these folders look for with find_package."""
    found = set()
    for folder in folders:
        for file in [*(ROOT / folder).rglob("CMakeLists.txt"), *(ROOT / folder).rglob("*.cmake")]:
            found |= set(re.findall(r"^\s*find_package\((\w+)", file.read_text(), re.M))
    return found


ONLY_TESTS = packages_of(["tests"]) - packages_of(["core", "backends", "app", "cmake"])


def list_in_lib(name):
    """A list of packages of scripts/lib.sh."""
    told = subprocess.run(["bash", "-c", f'. "$1/scripts/lib.sh"; printf "%s\\n" "${{{name}[@]}}"', "_", str(ROOT)],
                          capture_output=True, text=True, check=True)
    return told.stdout.split()


class Configure(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.build = pathlib.Path(kept.name) / "build"

    def configure(self, *options):
        return subprocess.run([CMAKE, "-S", ROOT, "-B", self.build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}",
                               f"-DMESHSCOPE_GUI={GUI}", "-DMESHSCOPE_CUDA=OFF", *options],
                              capture_output=True, text=True)

    def targets(self):
        named = subprocess.run([CMAKE, "--build", self.build, "--target", "help"], capture_output=True, text=True,
                               check=True).stdout
        return set(re.findall(r"^(\S+): phony", named, re.M))

    def test_programs_need_nothing_that_only_tests_need(self):
        self.assertLessEqual({"Catch2", "Python3"}, ONLY_TESTS)
        without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in sorted(ONLY_TESTS)]
        programs = {"meshscope"} | ({"meshscope-app"} if GUI != "OFF" else set())

        told = self.configure(*without)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("There are no tests in this build; they need: catch2 python3", told.stdout)
        self.assertLessEqual(programs, self.targets())
        self.assertNotIn("test_mesh", self.targets())

        asked = self.configure("-DMESHSCOPE_TESTS=ON")
        self.assertNotEqual(asked.returncode, 0)
        self.assertRegex(asked.stderr, r"are\s+missing:\s+catch2\s+python3\n")

        # As scripts/test after scripts/demo on a machine that was bare: what was missing is there now.
        later = self.configure("-DMESHSCOPE_TESTS=ON", *[f"-U{option[2:-3]}" for option in without])
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assertLessEqual(programs | {"test_mesh"}, self.targets())

        gone = ["-DMESHSCOPE_TEST_ffmpeg=", "-DMESHSCOPE_TEST_mpiexec.mpich="]  # looked for, and not there
        asked = self.configure("-DMESHSCOPE_TESTS=ON", *gone)
        self.assertNotEqual(asked.returncode, 0)
        self.assertRegex(asked.stderr, r"are\s+missing:\s+ffmpeg\s+mpich\n")
        told = self.configure("-DMESHSCOPE_TESTS=AUTO", *gone)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("Some tests will fail; they need: ffmpeg mpich", told.stdout)

    def test_whoever_ran_the_tests_has_what_the_demo_needs_and_the_demo_asks_for_no_more(self):
        demo, tests = list_in_lib("demo_packages"), list_in_lib("test_packages")
        self.assertLessEqual(set(demo), set(tests))
        self.assertFalse({"catch2", "python3", "xvfb", "xdotool"} & set(demo))


if __name__ == "__main__":
    unittest.main()
