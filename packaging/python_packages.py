"""Makes the Python package's sdist, and from it the wheel, without a network.

usage: python_packages.py OUT

Needs setuptools and wheel, as Debian has them (python3-setuptools, python3-wheel). The checkout stays as it is.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(kind, folder, out):
    """What pip asks of the backend that pyproject.toml names; gives the path of what was made."""
    code = f"import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"
    told = subprocess.run([sys.executable, "-c", code, str(out)], cwd=folder, capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(told.stdout + told.stderr)
    return out / told.stdout.splitlines()[-1]


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    if "SOURCE_DATE_EPOCH" not in os.environ:  # a wheel that is built twice is the same twice
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
