"""Runs what README.md and docs/*.md say can be run: each line of a block of shell commands that begins with a program of ours.

usage: docs_commands_test.py SOURCE_ROOT BIN_FOLDER

A line must be accepted (exit code 2 says that it is not), and one whose files are all there must succeed. It is run in a scratch
folder beside the tree's own folders; one that takes long has been accepted by then and is stopped.
"""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONG_S = 0.8
PROGRAM = re.compile(r"(?:build/release/bin/)?(meshscope(?:-app)?)\s")
# No display; a file that only the reader has cannot be used, or is not there.
NO_DISPLAY, BAD_INPUT, NO_FILE = 69, 65, 74


def commands(page):
    """(line number, command) of the page's blocks of shell commands, without their comments, continued lines joined."""
    found, inside, whole, begin = [], False, "", 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = line.strip() == "```sh"
            continue
        if not inside:
            continue
        begin = begin or number
        whole += re.sub(r"(^|\s)#.*$", "", line).rstrip()
        if whole.endswith("\\"):
            whole = whole[:-1].rstrip() + " "
            continue
        if PROGRAM.match(whole + " "):
            found.append((begin, whole))
        whole, begin = "", 0
    return found


def lacks_a_file(command, folder):
    """Whether it names a file that is not there: one of the reader's own."""
    words = [word.partition("hf:")[2] or word for word in command.split()[1:]]
    named = [word for word in words if re.search(r"\.(toml|json|yaml|mscope|csv)$", word) or word in ("FILE", "FOLDER", "checkpoints")]
    return any(not (folder / word).exists() for word in named)


def run(command, root, programs, patience_s=LONG_S):
    """(exit code, what it said); None as the code where it was still at work when it was stopped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("scenarios", "tests", "docs"):
            (folder / part).symlink_to(root / part)
        (folder / "build/release").mkdir(parents=True)
        (folder / "build/release/bin").symlink_to(programs)
        own = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
        own |= {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "MESHSCOPE_PAGE": str(root / "app/web/page.html")}
        with open(folder / "said", "w+") as said:
            process = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=own, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(patience_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None, "", False
            said.seek(0)
            return code, said.read(), lacks_a_file(command, folder)


def wrong(command, root, programs):
    """What is wrong with the command; "" where nothing is."""
    code, said, lacks = run(command, root, programs)
    if code in (None, 0):
        return ""
    if code == NO_DISPLAY and "meshscope-app" in command:
        return ""
    if lacks and code in (BAD_INPUT, NO_FILE):
        return ""
    return f"exit code {code}:\n{said}"


def main():
    root, programs = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    have_window = (programs / "meshscope-app").exists()
    begin = time.monotonic()
    asked = {}  # the same line stands in several documents
    for page in (root / "README.md", root / "README.zh.md", *sorted((root / "docs").glob("*.md"))):
        for number, command in commands(page):
            if have_window or PROGRAM.match(command + " ")[1] == "meshscope":
                asked.setdefault(command, []).append(f"{page.relative_to(root)}:{number}")
    assert len(asked) > 25, f"only {len(asked)} commands were found: have the documents' blocks another mark?"
    # The check itself: a line that no program accepts is seen.
    code, said, _ = run("meshscope lesson list --no-such-option", root, programs, patience_s=300)
    assert code not in (None, 0) and "--no-such-option" in said, f"an option that there is not was accepted: {code}, {said}"
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda command: wrong(command, root, programs), asked))
    bad = [f"{', '.join(asked[command])}: {command}\n{answer}" for command, answer in zip(asked, answers) if answer]
    print("\n".join(bad))
    print(f"{len(asked)} commands, {len(bad)} wrong, {time.monotonic() - begin:.1f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
