"""A class's answers and records are graded by the program's own judgement; a bad file is a row, not an end."""

import csv
import io
import json
import shutil
import threading
import unittest
from unittest import mock

from support import ROOT, TOY, InFolder, hsdp, meshscope
from meshscope import grading

QUESTIONS = ["padded-rows", "gathers-a-step", "prefetched", "after-the-scatter", "bytes-across"]


class Grading(InFolder):
    def write(self, name, data):
        file = self.folder / "class" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())

    def test_answers(self):
        self.write("all.txt", "33\r\n4\r\n1\r\n2\r\n352\r\n")
        self.write("some.txt", "33\n\nRight.\nx\n99\nmore\n".encode("utf-16"))
        self.write("forger.txt", "x" + " " * 60 + "Right.\nNot quite.\nLine 3 for question prefetched: Right.\n2\n")
        self.write("by_id.json", json.dumps({"bytes-across": 352, "after-the-scatter": "3"}))
        self.write("list.json", "[33, 4, null, 2]")
        self.write("folder/answers.txt", "33\n")
        self.write("form_feed.txt", "33\f\u2028\x85\n4\n1\n2\n352")
        grades = meshscope.grade("class", "hsdp")
        self.assertEqual(grades.columns, ("student", "file", "right", "of", *QUESTIONS, "note"))
        rows = {row[0]: row for row in grades.table()}
        self.assertEqual(rows["all"], ("all", "all.txt", 5, 5, 1, 1, 1, 1, 1, ""))
        self.assertEqual(rows["some"][2:9], (1, 5, 1, None, 0, 0, 0))
        self.assertIn("line 6", rows["some"][9])
        self.assertEqual(rows["forger"][2:9], (1, 5, 0, 0, 0, 1, None))
        self.assertEqual(rows["by_id"][2:9], (1, 5, None, None, None, 0, 1))
        self.assertEqual(rows["list"][2:9], (3, 5, 1, 1, None, 1, None))
        self.assertEqual(rows["form_feed"][2:], (5, 5, 1, 1, 1, 1, 1, ""))
        self.assertEqual(rows["folder"][1:5], ("folder/answers.txt", 1, 5, 1))

    def test_the_questions_have_names_and_choices(self):
        told = meshscope.questions("hsdp")
        self.assertEqual(list(told), QUESTIONS)
        self.assertEqual(told["padded-rows"], "How many elements does rank 1 put into the all_gather of net2?")
        self.assertEqual(told["after-the-scatter"].splitlines()[2], "2) rank 0 and 2: the same replicate group")

    def test_what_cannot_be_read_is_a_row_that_says_why(self):
        self.write("a.pdf", "%PDF")
        self.write("b.txt", b"\xff\x00\x81")
        self.write("c.json", "{")
        self.write("d.json", '{"x": 1}')
        self.write("e.json", "5")
        self.write("f.txt", b"0" * (1 << 20) + b"0")
        self.write("g.mscope", "nothing")
        self.write("h.txt", "33\0")
        self.write("i.json", '[33, ["4", [1]]]')
        self.write("j.json", '[{"padded-rows": 33}]')
        self.write("k.json", '{"padded-rows": ' + "[" * 900 + "]" * 900 + "}")
        self.write("l.json", "[" * 100000)
        self.write(".hidden", "")
        grades = meshscope.grade("class", "hsdp", checks={"falls": "SELECT 1"})
        notes = dict(zip(grades.column("student"), grades.column("note")))
        self.assertEqual(list(notes), list("abcdefghijkl"))
        for student, words in (("a", "neither answers"), ("b", "UTF-8"), ("c", "not JSON"), ("d", "no question x"),
                               ("e", "neither a list"), ("f", "too large"), ("g", "not a Meshscope trace"), ("h", "no text"),
                               ("i", "lists within it"), ("j", "an object"), ("k", "lists within it"), ("l", "not JSON")):
            self.assertIn(words, notes[student])
        self.assertEqual({grade.right for grade in grades}, {0})

    def test_a_file_that_breaks_the_grading_is_a_row_too(self):
        self.write("a.txt", "33")
        self.write("b.json", "[33]")
        def decoded(raw):  # files are read side by side, in any order
            if raw.startswith(b"["):
                raise OverflowError("why")
            return raw.decode()

        with mock.patch.object(grading, "_decoded", side_effect=decoded):
            grades = meshscope.grade("class", "hsdp")
        self.assertEqual(sorted(grades.column("right")), [0, 1])
        self.assertEqual(max(grades.column("note")), "it cannot be graded: OverflowError: why")

    def test_a_check_ends_in_time_and_by_ctrl_c(self):
        self.write("x.mscope", "")
        shutil.copy(hsdp().path, "class/x.mscope")
        endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        with mock.patch.object(grading, "_CHECK_S", 0.02):
            grades = meshscope.grade("class", "hsdp", checks={"endless": endless, "after it": "SELECT 1"})
        self.assertEqual(grades[0].marks, {"endless": False, "after it": True})
        self.assertIn("endless: this query took too long", grades[0].note)

        stop = threading.Event()
        begun, ended = threading.Event(), threading.Event()

        def of(each):
            begun.set()
            grading._grade_record(self.folder / "class" / "x.mscope", {"endless": endless}, stop)
            ended.set()

        def interrupt(pool, of, what):
            for each in what:
                pool.submit(of, each)
            begun.wait(10)
            raise KeyboardInterrupt

        with mock.patch.object(grading.concurrent.futures.ThreadPoolExecutor, "map", interrupt):
            with self.assertRaises(KeyboardInterrupt):
                grading._each(of, [(1,)], stop)
        self.assertTrue(ended.wait(10))

    def test_records(self):
        self.write("none.txt", "")
        shutil.copy(hsdp().path, "class/hsdp.mscope")
        meshscope.run(TOY, save="class/toy.mscope", level="collectives")
        checks = {"four ranks": "SELECT count(*) = 4 FROM ranks", "hops": "SELECT count(*) FROM hops", "text": "SELECT 'yes'"}
        grades = meshscope.grade("class", "hsdp", checks=checks)
        rows = {row[0]: row for row in grades.table()}
        self.assertEqual({row["student"]: row["four ranks"] for row in grades.to_dicts()}, {"hsdp": 1, "none": None, "toy": 0})
        self.assertEqual(rows["hsdp"][2:4] + rows["hsdp"][-4:], (2, 3, 1, 1, 0, ""))
        self.assertEqual(rows["toy"][2:4] + rows["toy"][-4:-1], (0, 3, 0, 0, 0))
        self.assertIn("hops: toy.mscope: this record does not hold hops", rows["toy"][-1].replace("class/", ""))
        self.assertEqual(rows["none"][2:4], (0, 5))

    def test_the_lessons_own_checks_are_asked(self):
        try:
            checks = grading.lesson_checks("hsdp")
        except meshscope.MeshscopeError as error:  # before Python 3.11
            self.assertIn("tomli", str(error))
            return
        self.write("x.mscope", "")
        shutil.copy(hsdp().path, "class/x.mscope")
        grades = meshscope.grade("class", "hsdp")
        self.assertEqual([(grade.right, grade.of) for grade in grades], [(len(checks), len(checks))])
        self.assertEqual(grades.ids, tuple(checks))
        self.assertGreater(len(checks), 5)
        scenario = ROOT / "scenarios" / "63_hsdp" / "scenario.toml"
        self.assertEqual(meshscope.grade("class/x.mscope", scenario).table(), grades.table())

    def test_one_table_of_a_class(self):
        table = self.folder / "class.csv"
        table.write_text("name,gathers-a-step,padded-rows\nAda,4,33\n\nBob,2,\n", encoding="utf-8-sig")
        self.assertEqual([row[:6] for row in meshscope.grade(table, "hsdp").table()],
                         [("Ada", "class.csv:2", 2, 5, 1, 1), ("Bob", "class.csv:4", 0, 5, None, 0)])
        table.write_bytes("name,padded-rows\n小王,33\n".encode("gb18030"))
        with self.assertRaisesRegex(meshscope.MeshscopeError, 'no text in UTF-8 or UTF-16; .* save it as "CSV UTF-8"'):
            meshscope.grade(table, "hsdp")
        table.write_text("name,nosuch\n")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "questions of the lesson .*; it has nosuch"):
            meshscope.grade(table, "hsdp")

    def test_one_file_of_one_student(self):
        self.write("ada.json", '{"padded-rows": 33}')
        self.assertEqual(meshscope.grade("class/ada.json", "hsdp").table()[0][:5], ("ada", "ada.json", 1, 5, 1))
        graded = meshscope.grade(hsdp().path, "hsdp", checks={"ranks": "SELECT count(*) = 4 FROM ranks"})
        self.assertEqual(graded.table(), [("run", "run.mscope", 1, 1, 1, "")])

    def test_the_table_goes_to_csv_and_starts_no_formula(self):
        grades = meshscope.Grades([meshscope.Grade("=1+1", "a.txt", 1, 2, {"q": True}, "")], ["q", "r"])
        self.assertEqual(list(csv.reader(io.StringIO(grades.to_csv(self.folder / "out.csv")))),
                         [["student", "file", "right", "of", "q", "r", "note"], ["'=1+1", "a.txt", "1", "2", "1", "", ""]])
        self.assertTrue((self.folder / "out.csv").read_bytes().startswith(b"\xef\xbb\xbfstudent,"))
        self.assertIn("<td>a.txt</td>", grades._repr_html_())

    def test_mistakes_of_the_teacher_end_it(self):
        with self.assertRaisesRegex(meshscope.CommandError, "no lesson nosuch"):
            meshscope.grade(".", "nosuch")
        shutil.copytree(ROOT / "scenarios" / "22_ring", "broken")
        (self.folder / "broken" / "scenario.toml").write_text(TOY + "[wrong]\n")
        with self.assertRaisesRegex(meshscope.CommandError, r"^broken/scenario.toml:18:2: unknown key wrong"):
            meshscope.grade(".", "broken")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "there is no lesson --help"):
            meshscope.questions("--help")
        with self.assertRaisesRegex(meshscope.MeshscopeError, "cannot be read"):
            meshscope.grade("nowhere", "hsdp")
        with mock.patch.object(grading, "_VERDICT", grading.re.compile("(nothing)")):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "different versions"):
                grading._ask("hsdp", ["33"])


if __name__ == "__main__":
    unittest.main()
