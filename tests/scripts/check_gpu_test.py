"""scripts/check-gpu where there is no GPU: what it says, and that its comparisons see what is wrong.

usage: check_gpu_test.py SCRIPT BUILD
"""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(2)).resolve()
SCRIPT = pathlib.Path(sys.argv.pop(1))

loader = importlib.machinery.SourceFileLoader("check_gpu", str(SCRIPT))
check_gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
loader.exec_module(check_gpu)
cases = check_gpu.cases


def check_over(name, folder):
    given = argparse.Namespace(python="python3", over=name, no_build=True, build=BUILD, minutes=10, peak=None)
    return check_gpu.Check(given, pathlib.Path(folder))


WINDOW = (BUILD / "bin" / "meshscope-app").exists()  # the thread sanitizer's build has none
HELD = {"most_in_use_bytes": 5_000_000, "most_reserved_bytes": 33_554_432, "own_bytes": 1_000_000, "piece_bytes": 512}


def figures(**changed):
    recorded = {"peak_bytes": 3_990_000, "peak_tensors": 17}
    made = cases.memory_figures(3_990_000, recorded, HELD, cases.SMALL)
    return {**made, **changed}


class CheckGpu(unittest.TestCase):
    def test_without_a_gpu_every_line_is_not_proved_and_the_exit_code_is_2(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            # A folder that holds no nvidia-smi.
            ended = subprocess.run([sys.executable, SCRIPT, "--report", report], capture_output=True, text=True,
                                   env={"PATH": folder})
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn("there is no GPU here", ended.stderr)
            told = json.loads(report.read_text())
        self.assertEqual(told["gpus"], [])
        self.assertEqual([line["id"] for line in told["lines"]], list(check_gpu.LINES))
        self.assertEqual({(line["state"], line["why"]) for line in told["lines"]}, {("not proved", "no device")})

    def test_a_driver_without_devices_is_no_gpu_either(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "nvidia-smi"
            fake.write_text("#!/bin/sh\necho 'No devices found.'\nexit 6\n")
            fake.chmod(0o755)
            ended = subprocess.run([sys.executable, SCRIPT, "--report", pathlib.Path(folder) / "r.json", "golden"],
                                   capture_output=True, text=True, env={"PATH": f"{folder}:/bin:/usr/bin"})
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("not proved", ended.stdout)

    def test_on_another_backend_golden_cases_hold_and_are_called_no_proof(self):
        names = ["toy_hsdp2x2", "mlp_pp2_1f1b", "gpt_fsdp2_bf16", "llama_hsdp2x2_tp2", "mlp_zero1_2"]
        every, cases.golden_names = cases.golden_names, lambda: names
        try:
            with tempfile.TemporaryDirectory() as folder:
                check = check_over("threads", folder)
                state, why = check_gpu.prove(check, check_gpu.golden, [])
        finally:
            cases.golden_names = every
        self.assertEqual((state, why), ("not proved", "held over the threads, which is no GPU"))
        self.assertEqual(check.figures, {"cases": 5, "agree": 5})
        self.assertGreater(len(cases.golden_names()), 40)

    def test_a_golden_case_that_trains_otherwise_fails(self):
        scenario = cases.golden_scenario
        cases.golden_scenario = lambda name: scenario(name).replace("lr = 0.01", "lr = 0.011").replace("lr = 0.1\n", "lr = 0.11\n")
        every, cases.golden_names = cases.golden_names, lambda: ["toy_ddp2", "gpt_ddp2"]
        try:
            with tempfile.TemporaryDirectory() as folder:
                state, why = check_gpu.prove(check_over("threads", folder), check_gpu.golden, [])
        finally:
            cases.golden_scenario, cases.golden_names = scenario, every
        self.assertEqual(state, "failed")
        self.assertIn("2 of 2 differ from PyTorch", why)

    def test_eight_ranks_train_as_one_by_every_strategy(self):
        with tempfile.TemporaryDirectory() as folder:
            check = check_over("threads", folder)
            state, why = check_gpu.prove(check, check_gpu.ranks8, [])
        self.assertEqual((state, why), ("not proved", "held over the threads, which is no GPU"))
        self.assertEqual(check.figures["strategies"], ["DDP", "FSDP2", "HSDP", "TP", "3-D"])

    def test_over_the_stand_in_the_lines_that_need_no_gpu_hold_and_prove_nothing(self):
        # Whole runs of the kernels' interpreter: few of each kind, the script's own way through all of them.
        kept = cases.golden_names, cases.EIGHT_RANKS, cases.MODEL
        cases.golden_names = lambda: ["toy_hsdp2x2", "mlp_fsdp2_bf16"]
        cases.EIGHT_RANKS = {name: kept[1][name] for name in ("HSDP",)}
        cases.MODEL = (kept[2].replace("dim = 64", "dim = 16").replace("hidden = 256", "hidden = 32")
                       .replace("layers = 4", "layers = 1").replace("seq = 32", "seq = 4").replace("steps = 4", "steps = 2"))
        try:
            with tempfile.TemporaryDirectory() as folder:
                check = check_over("stand-in", folder)
                for line in (check_gpu.golden, check_gpu.ranks8, check_gpu.memory):
                    with self.subTest(line=line.__name__):
                        told = check_gpu.prove(check, line, [])
                        self.assertEqual(told, ("not proved", "held over the stand-in, which is no GPU"))
                self.assertGreater(check.figures["piece_bytes"], 1)
                self.assertEqual(check.figures["recorded_bytes"], check.figures["predicted_bytes"])
                self.assertEqual(check_gpu.prove(check, check_gpu.nccl, []),
                                 ("not proved", "held over the stand-in, which is no GPU" if WINDOW else "meshscope-app is not built"))
                # A line that only a GPU can hold is not even tried.
                self.assertEqual(check_gpu.prove(check, check_gpu.speed, []), ("not proved", "no device"))
        finally:
            cases.golden_names, cases.EIGHT_RANKS, cases.MODEL = kept

    def test_a_run_on_another_backend_than_was_asked_for_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            for over, told, wanted, right in (("gpu", "cuda", "cuda", True), ("gpu", "cuda-stand-in", "cuda", False),
                                              ("stand-in", "cuda", "cuda", False), ("stand-in", "nccl-stand-in", "nccl", True)):
                check = check_over(over, folder)
                if right:
                    check.expect_backend(told, wanted)
                else:
                    self.assertRaises(check_gpu.Failed, check.expect_backend, told, wanted)

    def test_memory_is_held_to_what_rounding_explains(self):
        # 17 tensors, the device's own two blocks and one of scratch, by less than a piece each.
        self.assertEqual(figures()["rounding_bytes"], 20 * 512)
        self.assertEqual(figures()["measured_bytes"], 4_000_000)
        self.assertIsNone(cases.memory_difference(figures()))
        most = 3_990_000 + figures()["rounding_bytes"] + figures()["scratch_bytes"]
        self.assertIsNone(cases.memory_difference(figures(measured_bytes=most)))
        for wrong in (figures(measured_bytes=most + 1), figures(measured_bytes=3_989_999), figures(recorded_bytes=3_990_001)):
            self.assertIsNotNone(cases.memory_difference(wrong), wrong)
        # The largest of the four by hand: the sums over rows, 64 slices of two floats a column of the hidden layer.
        self.assertEqual(cases.kernel_scratch(cases.TIMED), 64 * 2 * 4 * 4096)

    def test_one_lines_failure_of_whatever_kind_does_not_stop_the_others(self):
        def line(error):
            def function(check):
                raise error
            return function

        with tempfile.TemporaryDirectory() as folder:
            check = check_over("gpu", folder)
            for error, state in ((check_gpu.Failed("wrong"), "failed"), (check_gpu.NotProved("no PyTorch"), "not proved"),
                                 (KeyError("gpu"), "failed"), (TypeError("none"), "failed"), (ZeroDivisionError(), "failed")):
                self.assertEqual(check_gpu.prove(check, line(error), ["a GPU"])[0], state)
            self.assertEqual(check_gpu.prove(check, lambda _: None, ["a GPU"]), ("proved", ""))
            check.build = pathlib.Path(folder)
            self.assertEqual(check_gpu.prove(check, check_gpu.ranks8, ["a GPU"]), ("not proved", "meshscope is not built"))

    def test_every_line_has_its_share_of_the_time_and_all_end_within_it(self):
        names = list(check_gpu.LINES)
        ends = check_gpu.timetable(names, 10)
        self.assertEqual(list(ends), names)
        self.assertEqual(sorted(ends.values()), list(ends.values()))
        self.assertLess(ends[names[-1]], 600)
        self.assertGreater(ends["build"], 180)
        self.assertAlmostEqual(check_gpu.timetable(["speed"], 2)["speed"], 120 - check_gpu.MARGIN_S)

    def test_what_is_not_over_when_the_lines_time_is_up_is_ended_and_not_proved(self):
        with tempfile.TemporaryDirectory() as folder:
            check = check_over("gpu", folder)
            check.until = time.monotonic() + 1.5
            self.assertRaisesRegex(check_gpu.NotProved, "sleep did not end", check.run, ["sleep", "100"])
            self.assertRaisesRegex(check_gpu.NotProved, "no time was left", check.run, ["sleep", "0"])
            check.until = time.monotonic() + 1000
            self.assertRaisesRegex(check_gpu.Failed, "sleep did not end", check.run, ["sleep", "100"], most=1.5)

    def test_the_report_is_there_after_each_line_whatever_happens_then(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            report = check_gpu.Report(path, ["a GPU"], ["build", "doctor"])
            report.lines["build"]["state"] = "proved"
            report.write()
            told = json.loads(path.read_text())
        self.assertEqual([(one["id"], one["state"], one["why"]) for one in told["lines"]],
                         [("build", "proved", "not come to"), ("doctor", "not proved", "not come to")])

    def test_a_driver_without_its_tools_is_seen_all_the_same(self):
        kept, path = check_gpu.DRIVER, os.environ["PATH"]
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.environ["PATH"] = folder
                check_gpu.DRIVER = pathlib.Path(folder)
                self.assertEqual(check_gpu.gpus(), [])
                (pathlib.Path(folder) / "0000:41:00.0").mkdir()
                (pathlib.Path(folder) / "0000:41:00.0" / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 1\n")
                self.assertEqual(check_gpu.gpus(), ["NVIDIA H100 80GB HBM3"])
            finally:
                check_gpu.DRIVER, os.environ["PATH"] = kept, path

    def test_the_peak_of_a_gpu_is_found_by_the_most_exact_name(self):
        def peak(name):
            return next((value for key, value in check_gpu.PEAKS.items() if key in name), None)
        for name, wanted in (("GPU 0: NVIDIA H100 80GB HBM3", 989), ("NVIDIA H100 PCIe", 756), ("NVIDIA H20", 148),
                             ("NVIDIA A100-SXM4-80GB", 312), ("NVIDIA L40S", 362), ("NVIDIA L40", 181), ("NVIDIA L4", 121),
                             ("NVIDIA A10G", 70), ("NVIDIA H200", 989), ("Tesla T4", None)):
            self.assertEqual(peak(name), wanted, name)

    def test_the_comparison_sees_losses_numbers_names_and_nan(self):
        right = {"a": (1.0, -2.0), "b": (0.0,)}
        self.assertIsNone(cases.compare([1.5], right, [1.5], right))
        self.assertIsNone(cases.compare([1.5], {"a": (1.00001, -2.0), "b": (0.0,)}, [1.5], right))
        for losses, numbers in (([1.51], right), ([1.5, 1.5], right), ([float("nan")], right),
                                ([1.5], {"a": (1.001, -2.0), "b": (0.0,)}), ([1.5], {"a": (1.0, -2.0)}),
                                ([1.5], {"a": (float("nan"), -2.0), "b": (0.0,)}), ([1.5], {"a": (1.0,), "b": (0.0,)})):
            self.assertIsNotNone(cases.compare(losses, numbers, [1.5], right), (losses, numbers))

    def test_the_timed_step_has_the_operations_of_its_matrices(self):
        # By hand: 12 layers of 12·1024², the head's 1024·50304; 6 for each and token; attention 6·12·1024·1024 a token.
        self.assertEqual(cases.timed_flops(), 8192 * (6 * (12 * 12 * 1024**2 + 1024 * 50304) + 6 * 12 * 1024 * 1024))


if __name__ == "__main__":
    unittest.main()
