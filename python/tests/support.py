"""What the tests share: the program, the checkout, and one run of the lesson hsdp."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import meshscope  # noqa: E402

PROGRAM = shutil.which(os.environ.get("MESHSCOPE") or str(ROOT / "build" / "release" / "bin" / "meshscope"))
if PROGRAM is None:
    sys.exit("these tests need the program: build it, or set MESHSCOPE to its path")
os.environ["MESHSCOPE"] = PROGRAM

TOY = """format = 1
[model]
kind = "toy"
[data]
kind = "regression"
samples = 8
[train]
steps = 2
global_batch = 8
[optimizer]
kind = "sgd"
lr = 0.1
[mesh]
shape = [2]
names = ["replicate"]
[parallel]
data = "ddp"
"""


@functools.lru_cache(maxsize=None)
def hsdp():
    """A record of the lesson, at the level values; all tests read the same."""
    return meshscope.run("hsdp")


def asked(path, sql):
    """The rows that the program itself gives."""
    told = subprocess.run([PROGRAM, "trace", "query", path, sql, "--json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)["rows"]


class InFolder(unittest.TestCase):
    """A test with a folder of its own, `self.folder`, that is the current one."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name).resolve()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
