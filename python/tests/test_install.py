"""The wheel, built from the sdist, installs into a fresh environment that has nothing else, and reads a record there."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from support import ROOT, hsdp, meshscope

NEEDS = "from importlib.util import find_spec; assert all(map(find_spec, ('pip', 'setuptools', 'wheel')))"


def builder():
    """A Python that builds and installs packages: this one, or Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", NEEDS], capture_output=True).returncode == 0:
            return python
    raise AssertionError("no Python here has setuptools, wheel and pip: apt install python3-pip python3-setuptools python3-wheel")


class Install(unittest.TestCase):
    def test_the_wheel_of_the_sdist_installs_and_reads(self):
        with tempfile.TemporaryDirectory() as made:
            python, out = builder(), pathlib.Path(made, "out")
            told = subprocess.run([python, ROOT / "packaging" / "python_packages.py", out], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            version = meshscope.__version__
            wheel = out / f"meshscope-{version}-py3-none-any.whl"
            modules = {f"meshscope/{file.name}" for file in (ROOT / "python" / "meshscope").iterdir() if file.is_file()}
            with zipfile.ZipFile(wheel) as archive:
                names = {name for name in archive.namelist() if ".dist-info/" not in name}
                self.assertEqual(names, modules)
                metadata = archive.read(f"meshscope-{version}.dist-info/METADATA").decode()
                self.assertIn("Requires-Python: >=3.9\n", metadata)
                self.assertNotIn("Requires-Dist", metadata)
                self.assertIn("Apache License", archive.read(f"meshscope-{version}.dist-info/LICENSE").decode())
            with tarfile.open(out / f"meshscope-{version}.tar.gz") as archive:
                self.assertLessEqual({f"meshscope-{version}/{name}" for name in {*modules, "pyproject.toml", "README.md"}},
                                     set(archive.getnames()))

            fresh = pathlib.Path(made, "fresh")
            subprocess.run([python, "-m", "venv", "--without-pip", fresh], check=True)
            installed = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "--python", fresh / "bin" / "python",
                                        "install", "--no-index", "--no-compile", wheel], capture_output=True, text=True)
            self.assertEqual(installed.returncode, 0, installed.stderr)
            code = "import meshscope, sys; print(meshscope.__file__, len(meshscope.open(sys.argv[1]).hops()))"
            told = subprocess.run([fresh / "bin" / "python", "-I", "-c", code, hsdp().path], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            file, hops = told.stdout.split()
            self.assertEqual(int(hops), len(hsdp().hops()))
            self.assertTrue(file.startswith(str(fresh)), file)


if __name__ == "__main__":
    unittest.main()
