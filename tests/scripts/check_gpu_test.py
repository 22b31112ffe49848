"""scripts/check-gpu where there is no GPU: what it says, and that its comparisons see what is wrong.

usage: check_gpu_test.py SCRIPT BUILD
"""

import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(2))
SCRIPT = pathlib.Path(sys.argv.pop(1))

loader = importlib.machinery.SourceFileLoader("check_gpu", str(SCRIPT))
check_gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
loader.exec_module(check_gpu)
cases = check_gpu.cases


def check_on(backend, folder):
    given = argparse.Namespace(python="python3", backend=backend, no_build=True, build=BUILD, minutes=10)
    return check_gpu.Check(given, pathlib.Path(folder))


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
                check = check_on("threads", folder)
                state, why = check_gpu.prove(check, check_gpu.golden, [])
        finally:
            cases.golden_names = every
        self.assertEqual((state, why), ("not proved", "held on the backend threads, which is no GPU"))
        self.assertEqual(check.figures, {"cases": 5, "agree": 5})
        self.assertGreater(len(cases.golden_names()), 40)

    def test_a_golden_case_that_trains_otherwise_fails(self):
        scenario = cases.golden_scenario
        cases.golden_scenario = lambda name: scenario(name).replace("lr = 0.01", "lr = 0.011").replace("lr = 0.1\n", "lr = 0.11\n")
        every, cases.golden_names = cases.golden_names, lambda: ["toy_ddp2", "gpt_ddp2"]
        try:
            with tempfile.TemporaryDirectory() as folder:
                state, why = check_gpu.prove(check_on("threads", folder), check_gpu.golden, [])
        finally:
            cases.golden_scenario, cases.golden_names = scenario, every
        self.assertEqual(state, "failed")
        self.assertIn("2 of 2 differ from PyTorch", why)

    def test_eight_ranks_train_as_one_by_every_strategy(self):
        with tempfile.TemporaryDirectory() as folder:
            check = check_on("threads", folder)
            state, why = check_gpu.prove(check, check_gpu.ranks8, [])
        self.assertEqual((state, why), ("not proved", "held on the backend threads, which is no GPU"))
        self.assertEqual(check.figures["strategies"], ["DDP", "FSDP2", "HSDP", "TP", "3-D"])

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
