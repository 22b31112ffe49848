"""Runs go through the installed command, and its words come through."""

import gc
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

from support import PROGRAM, ROOT, TOY, InFolder, meshscope
from meshscope import program, running


class Running(InFolder):
    def test_a_file_a_text_and_a_lesson_run(self):
        (self.folder / "toy.toml").write_text(TOY)
        self.assertEqual(meshscope.run("toy.toml", backend="fibers").info.backend, "fibers")
        saved = meshscope.run(pathlib.Path("toy.toml"), save="kept.mscope", weights="w.safetensors", level="hops")
        self.assertEqual((saved.info.level, saved.path), ("hops", str(self.folder / "kept.mscope")))
        del saved
        gc.collect()
        self.assertEqual(sorted(os.listdir()), ["kept.mscope", "toy.toml", "w.safetensors"])
        self.assertEqual(len(meshscope.open("kept.mscope").losses()), 2)
        for name in ("22", "22_ring", "ring"):
            self.assertEqual(running.lesson_folder(name).name, "22_ring")
        lesson = ROOT / "scenarios" / "22_ring"
        self.assertEqual([running.lesson_folder(str(path)) for path in (lesson, lesson / "scenario.toml")], [lesson] * 2)
        self.assertIsNone(running.lesson_folder(str(lesson / "pytorch.py")))

    def test_keys_are_changed_and_paths_still_lead_where_they_led(self):
        (self.folder / "profiles").mkdir()
        profile = (ROOT / "scenarios" / "104_published" / "two_nodes.toml").read_text(encoding="utf-8")
        (self.folder / "nodes.toml").write_text(profile, encoding="utf-8")
        (self.folder / "profiles" / "toy.toml").write_text(TOY + '[hardware]\nprofile = "../nodes.toml"\n')
        for writable in (True, False):
            with mock.patch.object(running, "_can_write", lambda _: writable):
                record = meshscope.run("profiles/toy.toml", train__steps=3, **{"mesh.shape": [4], "optimizer.lr": 0.5})
            self.assertEqual((record.info.steps, record.mesh.shape), (3, (4,)))
            self.assertIn("lr = 0.5", record.info.scenario)
            self.assertEqual(os.listdir("profiles"), ["toy.toml"])
        self.assertEqual(meshscope.run(TOY, train__steps=1).info.steps, 1)

    def test_a_link_leads_where_the_link_lies_and_a_place_is_the_users_own(self):
        (self.folder / "there").mkdir()
        (self.folder / "there" / "toy.toml").write_text(TOY + '[hardware]\nprofile = "nodes.toml"\n')
        profile = (ROOT / "scenarios" / "104_published" / "two_nodes.toml").read_text(encoding="utf-8")
        (self.folder / "nodes.toml").write_text(profile, encoding="utf-8")
        os.symlink("there/toy.toml", "linked.toml")
        for writable in (True, False):
            with mock.patch.object(running, "_can_write", lambda _: writable):
                self.assertEqual(meshscope.run("linked.toml", train__steps=1).info.steps, 1)
        with self.assertRaisesRegex(meshscope.RunFailed, r"^the scenario:18:2: unknown key wrong"):
            meshscope.run(TOY.rstrip() + "\n[wrong]", train__steps=1)
        variants = '[lesson]\nvariant = [{id = "a", set = {"train.steps" = 1}}]\n'
        with self.assertRaisesRegex(meshscope.RunFailed, r"^the scenario: keys are changed by a \[\[lesson.variant\]\]"):
            meshscope.run(TOY + variants, train__steps=1)

    def test_what_looks_like_an_option_is_a_file(self):
        (self.folder / "-x.toml").write_text(TOY)
        self.assertEqual(meshscope.run("-x.toml", level="off").info.steps, 2)
        self.assertEqual(meshscope.predict(pathlib.Path("-x.toml"))["world_size"], 2)
        for ask in (meshscope.numbers, meshscope.questions):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "there is no lesson -1"):
                ask("-1")
        for nothing in ("x" * 300, "x\0y", "²", "9" * 5000):
            with self.assertRaisesRegex(meshscope.MeshscopeError, "no file and no lesson"):
                meshscope.run(nothing)

    def test_values_are_written_as_toml(self):
        value = {"a b": [1, 2.5, True, 'say "x"\n\x7f', float("inf")]}
        self.assertEqual(running.toml_value(value), r'{ "a b" = [1, 2.5, true, "say \"x\"\n\u007f", inf] }')
        scalar = types.SimpleNamespace(shape=(), item=lambda: 7)  # as numpy's are
        self.assertEqual(running.toml_value([scalar]), "[7]")
        with self.assertRaisesRegex(TypeError, "cannot hold None; it holds numbers, strings, booleans"):
            running.toml_value(None)

    def test_a_run_that_fails_says_why_and_keeps_what_it_recorded(self):
        with self.assertRaises(meshscope.RunFailed) as caught:
            meshscope.run(TOY + '[[faults]]\nkind = "kill"\nrank = 1\nstep = 1\n')
        self.assertEqual(caught.exception.exit_code, 75)
        self.assertIn("rank 1 died", str(caught.exception))
        self.assertEqual(caught.exception.record.info.failure["id"], "diagnosis.lost")
        self.assertEqual(caught.exception.record.info.steps, 1)

        with self.assertRaises(meshscope.RunFailed) as caught:
            meshscope.run(TOY + '[[check]]\nid = "never"\nsql = "SELECT 0"\n')
        self.assertEqual((caught.exception.exit_code, caught.exception.record.info.steps), (1, 2))
        self.assertIn("never", str(caught.exception))

        (self.folder / "toy.toml").write_text(TOY)
        (self.folder / "old.mscope").write_text("kept")
        with self.assertRaisesRegex(meshscope.RunFailed, r"^toy.toml \(train__stepz\): unknown key train.stepz\n.*train.steps"
                                    ) as caught:
            meshscope.run("toy.toml", train__stepz=3)
        self.assertIsNone(caught.exception.record)
        with self.assertRaisesRegex(meshscope.RunFailed, "已存在") as caught:
            meshscope.run("toy.toml", save="old.mscope", lang="zh")
        self.assertIsNone(caught.exception.record)
        with self.assertRaisesRegex(meshscope.MeshscopeError, "no file and no lesson nosuch; lessons: 11_processes, 12_.* 103_mfu, 104_published"):
            meshscope.run("nosuch")
        with self.assertRaisesRegex(TypeError, "a variant and changed keys"):
            meshscope.run("toy.toml", variant="break", train__steps=1)

    def test_a_timeout_is_whole_seconds(self):
        self.assertEqual(meshscope.run(TOY, backend="tcp", timeout_s=86400).info.backend, "tcp")
        for given in (0, 2.5, 1000000):
            with self.assertRaisesRegex(meshscope.RunFailed, f'--timeout cannot be "{given}": it takes a whole number from 1'):
                meshscope.run(TOY, backend="tcp", timeout_s=given)

    def test_nothing_is_left_of_a_run_that_never_began(self):
        with mock.patch.object(tempfile, "tempdir", str(self.folder)):
            with self.assertRaises(meshscope.RunFailed):
                meshscope.run(TOY, backend="nosuch")
        self.assertEqual(os.listdir(), [])


class Answers(InFolder):
    def test_they_are_the_commands_own(self):
        self.assertEqual(meshscope.predict(TOY, steps=2)["world_size"], 2)
        told = meshscope.mesh([2, 4], ["replicate", "shard"], rank=5, ask=['mesh.get_group("shard")'])
        self.assertEqual((told[0]["root"]["coordinate"], told[0]["root"]["groups"]), ([1, 1], [[1, 5], [4, 5, 6, 7]]))
        self.assertEqual(meshscope.mesh((4,), "dp"), meshscope.mesh((4,), ("dp",)))
        config = ROOT / "tests" / "golden" / "model_config" / "Llama-3.1-8B.json"
        plan = meshscope.plan(f"hf:{config}", gpus=8, seq=8192, only="tp=8", top=1)
        self.assertEqual((plan["gpus"], [layout["tp"] for layout in plan["layouts"]]), (8, [8]))
        self.assertEqual(meshscope.numbers("sampler"), meshscope.numbers("31"))
        with self.assertRaisesRegex(meshscope.CommandError, "needs 4 ranks") as caught:
            meshscope.mesh([2, 2], world=3)
        self.assertEqual(caught.exception.exit_code, 65)
        with self.assertRaisesRegex(meshscope.CommandError, "^the scenario:"):
            meshscope.predict("format = 1\nx = 2\n")


class Program(InFolder):
    def test_it_is_found_by_the_variable_then_on_the_path(self):
        with mock.patch.dict(os.environ, MESHSCOPE="nosuch"):
            with self.assertRaisesRegex(meshscope.ProgramNotFound, "MESHSCOPE names nosuch"):
                program.find_program()
        os.symlink(PROGRAM, "meshscope")
        with mock.patch.dict(os.environ, MESHSCOPE="", PATH=str(self.folder)):
            self.assertEqual(program.find_program(), str(self.folder / "meshscope"))
        with mock.patch.dict(os.environ, MESHSCOPE="", PATH=""):
            with mock.patch.object(program, "__file__", str(self.folder / "site" / "meshscope" / "program.py")):
                with self.assertRaisesRegex(meshscope.ProgramNotFound, "a record can be read without it"):
                    program.find_program()

    def test_another_program_is_told_from_it(self):
        stand_in = self.folder / "program"
        stand_in.write_text("no program")
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        with mock.patch.dict(os.environ, MESHSCOPE=str(stand_in)):
            with self.assertRaisesRegex(meshscope.ProgramNotFound, "program cannot be started"):
                meshscope.predict(TOY)
            for answer in ("hello", "{}", "[]"):
                stand_in.write_text(f"#!/bin/sh\necho '{answer}'\n")
                for ask in (lambda: meshscope.mesh((2,)), lambda: meshscope.numbers("ring")):
                    with self.assertRaisesRegex(meshscope.MeshscopeError, "program is no meshscope of this version"):
                        ask()

    def test_ctrl_c_reaches_it(self):
        # A program that says when it is there, and writes down that it was told to stop.
        stand_in = self.folder / "program"
        stand_in.write_text("#!/bin/sh\ntrap 'echo told > told; exit 130' INT\n: > there\n"
                            "n=0; while [ $n -lt 1200 ]; do sleep 0.05; n=$((n + 1)); done\n")
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        # What a shell starts in the background starts with SIGINT ignored.
        code = (f"import signal, sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import meshscope\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                "try: meshscope.predict('a\\nb')\nexcept KeyboardInterrupt: print('interrupted')")
        started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "MESHSCOPE": str(stand_in)}, start_new_session=True)
        self.addCleanup(started.stdout.close)
        self.addCleanup(lambda: started.poll() is None and os.killpg(started.pid, signal.SIGKILL))
        deadline = time.monotonic() + 60
        while not (self.folder / "there").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        self.assertEqual(started.communicate(timeout=60)[0], "interrupted\n")
        self.assertTrue((self.folder / "told").exists())

    def test_the_version_is_that_of_the_whole(self):
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertRegex(cmake, rf"project\(\s*meshscope\s+VERSION {meshscope.__version__}\b")


if __name__ == "__main__":
    unittest.main()
