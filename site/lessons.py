"""The lessons: their folders, and what the program makes of each (texts with numbers filled in, answers, pictures)."""

import concurrent.futures
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path


class Lesson:
    """A folder of scenarios/, and after draw() what the program wrote of it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.name = self.folder.name
        with open(self.folder / "scenario.toml", "rb") as file:
            scenario = tomllib.load(file)
        self.chapter = scenario["lesson"]["chapter"]
        self.mesh = scenario.get("mesh", {})
        # Steps that show the run of a variant once their questions are answered.
        self.variant_steps = {step["id"] for step in scenario["lesson"].get("step", []) if step.get("run")}
        self.data = None
        self.pictures = None

    @property
    def number(self):
        """"63" of 63_hsdp; "" where the folder has none."""
        return re.match(r"\d*", self.name)[0]

    @property
    def order(self):
        return self.chapter, int(self.number or 0), self.name

    def page(self, language):
        return f"{language}/lessons/{self.name}.html"

    def title(self, language):
        return self.data["title"][language]

    def full_title(self, language):
        """With the number that texts call it by: "63 · HSDP"."""
        return f"{self.number} · {self.title(language)}" if self.number else self.title(language)

    def goals(self, language):
        """The text of its section "goals"; "" without one."""
        return next((section["body"][language] for section in self.data["before"] if section["id"] == "goals"), "")

    def mesh_text(self):
        """"(2, 2) replicate, shard"; "" without a mesh."""
        if "shape" not in self.mesh:
            return ""
        names = ", ".join(name for name in self.mesh.get("names", []) if name)
        return ("(" + ", ".join(map(str, self.mesh["shape"])) + ") " + names).strip()

    def picture(self, step, language, kind="answered"):
        """Of a step: {file, scene, facts}; None where there is none of that kind."""
        return step["pictures"][language].get(kind)


def find(root, names):
    """All lessons in the course's order, or those of these names: "63_hsdp", "hsdp" or "63"."""
    folders = sorted(path.parent for path in (root / "scenarios").glob("*/lesson.en.md"))
    lessons = sorted((Lesson(folder) for folder in folders), key=lambda lesson: lesson.order)
    if not names:
        return lessons
    known = {}
    for lesson in lessons:
        number, _, word = lesson.name.partition("_")
        for name in (lesson.name, number, word):
            known.setdefault(name, lesson)
    for name in names:
        if name not in known:
            raise SystemExit(f"site: there is no lesson {name}. There are: {', '.join(lesson.name for lesson in lessons)}")
    asked = {known[name].name for name in names}
    return [lesson for lesson in lessons if lesson.name in asked]


def digest(paths):
    """Of the files' names and contents."""
    sum_ = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        sum_.update(f"{path.name} {len(data)}\n".encode() + data)
    return sum_.hexdigest()


def program_files(program):
    """The program, and its own libraries beside it."""
    library = program.resolve().parent.parent / "lib"
    return [program, *sorted(path for path in library.glob("*.so*") if path.is_file())]


class Painter:
    """Draws lessons by `meshscope-app --lesson-pages`, and again only those whose files or program are others."""

    def __init__(self, program, cache, root):
        self.program, self.cache, self.root = program, cache, root
        self.program_sum = digest(program_files(program))
        self.shared = digest(sorted(path for path in (root / "scenarios" / "models").glob("*") if path.is_file()))

    def draw(self, lesson):
        """True when it was drawn, False when it was there."""
        files = sorted(path for path in lesson.folder.iterdir() if path.is_file())
        stamp = f"{self.program_sum} {self.shared} {digest(files)}\n"
        folder = self.cache / lesson.name
        mark = folder / "stamp"
        fresh = not (mark.exists() and mark.read_text() == stamp)
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(
                [self.program, lesson.folder, "--lesson-pages", folder, "--lang", "en"],
                cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )
            if done.returncode != 0:
                raise SystemExit(f"site: {self.program.name} could not draw {lesson.name} (exit code {done.returncode}):\n{done.stdout}")
            mark.write_text(stamp)
        lesson.data = json.loads((folder / "lesson.json").read_text())
        lesson.pictures = folder
        return fresh


def draw_all(lessons, painter, jobs):
    """In the order in which they are done; tells how far it is on the terminal. Returns how many were drawn anew."""
    begin, drawn = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tasks = {pool.submit(painter.draw, lesson): lesson for lesson in lessons}
        try:
            for done, task in enumerate(concurrent.futures.as_completed(tasks), 1):
                drawn += task.result()
                name = tasks[task].name
                if sys.stdout.isatty():
                    print(f"\r    lesson {done} of {len(lessons)}: {name:<28}", end="\n" if done == len(lessons) else "", flush=True)
                elif done % 10 == 0 or done == len(lessons):
                    print(f"    lesson {done} of {len(lessons)}, {time.monotonic() - begin:.0f} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return drawn
