"""Makes the Python package's sdist, and from it the wheel, without a network.

usage: python_packages.py OUT

Needs setuptools and wheel, as Debian has them (python3-setuptools, python3-wheel). The checkout stays as it is.
"""

import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from setuptools import build_meta  # the backend that pyproject.toml names

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(kind, folder, out):
    """Does what pip would ask of the backend; gives the path of what was made."""
    os.chdir(folder)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            return out / getattr(build_meta, f"build_{kind}")(str(out))
    except BaseException:
        sys.stderr.write(told.getvalue())
        raise


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    # A wheel that is built twice is the same twice, where the sources have their history.
    if "SOURCE_DATE_EPOCH" not in os.environ and shutil.which("git"):
        time = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
        if time.returncode == 0:
            os.environ["SOURCE_DATE_EPOCH"] = time.stdout.strip()
    with tempfile.TemporaryDirectory() as made:
        tree = pathlib.Path(made, "python")
        shutil.copytree(ROOT / "python", tree, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "tests"))
        sdist = build("sdist", tree, out)
        with tarfile.open(sdist) as archive:
            archive.extractall(made)
        wheel = build("wheel", pathlib.Path(made, sdist.name[: -len(".tar.gz")]), out)
    print(sdist, wheel, sep="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
