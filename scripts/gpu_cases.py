"""The scenarios of scripts/check-gpu, and how their outcomes are held against PyTorch's files and against other runs."""
import json
import math
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "train"

# As tests/run/golden_case.cpp: the mesh's names of each kind of golden case, and its [parallel] data.
NAMES = {"fsdp": '"shard"', "fsdp1": '"shard"', "zero1": '"shard"', "pp": '"pp"', "pp_fsdp": '"pp", "shard"',
         "hsdp": '"replicate", "shard"', "tp": '"tp"', "tp_sp": '"tp"', "fsdp_tp": '"shard", "tp"',
         "hsdp_tp": '"replicate", "shard", "tp"'}
DATA = {"single": "none", "tp": "none", "tp_sp": "none", "pp": "none", "ddp": "ddp", "fsdp1": "fsdp1", "zero1": "zero1"}

MODEL = """format = 1
[model]
kind = "gpt"
dim = 64
hidden = 256
layers = 4
heads = 8
seq = 32
vocab = 128
[train]
steps = 4
global_batch = 16
[optimizer]
kind = "adamw"
lr = 0.001
"""
# Eight ranks by each strategy, and the same training on one.
EIGHT_RANKS = {
    "DDP": '[mesh]\nshape = [8]\n[parallel]\ndata = "ddp"\n',
    "FSDP2": '[mesh]\nshape = [8]\n[parallel]\ndata = "fsdp2"\n',
    "HSDP": '[mesh]\nshape = [2, 4]\nnames = ["replicate", "shard"]\n[parallel]\ndata = "fsdp2"\n',
    "TP": '[mesh]\nshape = [8]\nnames = ["tp"]\n',
    "3-D": '[mesh]\nshape = [2, 2, 2]\nnames = ["pp", "shard", "tp"]\n[parallel]\ndata = "fsdp2"\n'
           'schedule = "1F1B"\nmicrobatches = 4\n',
}
# Small enough for compute-sanitizer, which is some hundred times slower; between them every kind of collective and every
# kernel of a transformer: HSDP over 8 ranks, and what llama has and gpt has not.
_ONE_STEP = MODEL.replace("steps = 4", "steps = 1").replace("layers = 4", "layers = 2")
SANITIZED = {"gpt on 8 ranks": _ONE_STEP + EIGHT_RANKS["HSDP"],
             "llama": _ONE_STEP.replace('kind = "gpt"', 'kind = "llama"\nkv_heads = 4') + '[mesh]\nshape = [1]\n'}
# The training step that is timed: bf16 computing on float32 parameters, as PyTorch's MixedPrecisionPolicy has it.
TIMED = {"dim": 1024, "layers": 12, "heads": 16, "seq": 1024, "batch": 8, "hidden": 4096, "vocab": 50304}
# The same for the stand-in, which is slow.
SMALL = {"dim": 32, "layers": 2, "heads": 4, "seq": 16, "batch": 4, "hidden": 128, "vocab": 64}


def _gpt(steps, t):
    return (f'format = 1\n[model]\nkind = "gpt"\ndim = {t["dim"]}\nhidden = {t["hidden"]}\nlayers = {t["layers"]}\n'
            f'heads = {t["heads"]}\nseq = {t["seq"]}\nvocab = {t["vocab"]}\n[data]\nsamples = {t["batch"]}\n'
            f'[train]\nsteps = {steps}\nglobal_batch = {t["batch"]}\n[optimizer]\nkind = "adamw"\nlr = 0.001\n')


def timed_scenario(steps, size=None):
    return (_gpt(steps, size or TIMED) + '[mesh]\nshape = [1]\nnames = ["shard"]\n[parallel]\ndata = "fsdp2"\n'
            '[parallel.mixed_precision]\nparam = "bfloat16"\n')


def overlap_scenario():
    """Two ranks whose kernels and all-gathers both take long enough to be seen beside each other."""
    size = {**TIMED, "layers": 4, "seq": 256, "batch": 8, "vocab": 1024}
    return _gpt(3, size) + '[mesh]\nshape = [2]\nnames = ["shard"]\n[parallel]\ndata = "fsdp2"\n'


def kernel_scratch(size):
    """At most what a kernel of such a step holds for itself beside the tensors (backends/cuda/cuda_kernels*.cpp): the loss a
    double a row; attention's backward a float a row and head; Adam a table of 48 bytes a parameter; the sums over rows,
    where they are cut into slices, two floats a column and slice."""
    rows = size["batch"] * size["seq"]
    slices = min(max(rows // 128, 1), 64)
    sums = 0 if slices == 1 else slices * 2 * 4 * max(size["hidden"], 3 * size["dim"])
    return max(8 * rows, 4 * rows * size["heads"], 48 * (16 * size["layers"] + 8), sums)


def memory_figures(predicted, recorded, held, size):
    """What a run's memory came to: `recorded` of its rank and `held` by the device's pool, both as `run --json` has them.
    Every block is rounded up to whole pieces, by less than one each: of the tensors alive at the peak, of the device's own
    two blocks, and of a kernel's scratch."""
    return {"predicted_bytes": predicted, "recorded_bytes": recorded["peak_bytes"], "tensors": recorded["peak_tensors"],
            "piece_bytes": held["piece_bytes"], "measured_bytes": held["most_in_use_bytes"] - held["own_bytes"],
            "reserved_bytes": held["most_reserved_bytes"], "own_bytes": held["own_bytes"],
            "rounding_bytes": (recorded["peak_tensors"] + 3) * held["piece_bytes"], "scratch_bytes": kernel_scratch(size)}


def memory_difference(figures):
    """What is wrong with them in words, or nothing."""
    if figures["recorded_bytes"] != figures["predicted_bytes"]:
        return f"predicted {figures['predicted_bytes']} bytes, recorded {figures['recorded_bytes']}"
    above = figures["measured_bytes"] - figures["predicted_bytes"]
    if not 0 <= above <= figures["rounding_bytes"] + figures["scratch_bytes"]:
        return (f"predicted {figures['predicted_bytes']} bytes, but the device's pool gave out {figures['measured_bytes']}: "
                f"rounding explains {figures['rounding_bytes']}, the kernels' scratch memory {figures['scratch_bytes']}")
    return None


def timed_flops():
    """Of one step: 6 for each parameter and token, and attention's 12·layers·dim·seq a token (PaLM, appendix B)."""
    t = TIMED
    tokens = t["batch"] * t["seq"]
    matrices = t["layers"] * (4 * t["dim"] ** 2 + 2 * t["dim"] * t["hidden"]) + t["dim"] * t["vocab"]
    # Causal attention computes half of the scores.
    return tokens * (6 * matrices + 6 * t["layers"] * t["dim"] * t["seq"])


def golden_names():
    """All of them whose order of collectives does not matter for the numbers: every one."""
    return sorted(path.stem for path in GOLDEN.glob("*.json"))


def golden_scenario(name):
    case = json.loads((GOLDEN / f"{name}.json").read_text())["case"]
    strategy = case["strategy"]
    kind = strategy["kind"]
    lines = ["format = 1", "[model]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in case["model"].items()]
    lines += [f'weights = "{GOLDEN / name}.init.safetensors"', "[data]", f'file = "{GOLDEN / name}.data.safetensors"', "[train]"]
    lines += [f"{key} = {json.dumps(case[key])}" for key in ("steps", "global_batch", "accumulate", "clip_norm") if key in case]
    lines += ["[optimizer]"] + [f"{key} = {json.dumps(value)}" for key, value in case["optimizer"].items()]
    lines += ["[mesh]", f"shape = {'[1]' if kind == 'single' else json.dumps(strategy['mesh'])}",
              f"names = [{NAMES.get(kind, chr(34) + 'replicate' + chr(34))}]", "[parallel]", f'data = "{DATA.get(kind, "fsdp2")}"']
    if kind == "tp_sp":
        lines.append("sequence_parallel = true")
    if kind == "zero1":
        lines.append('zero_variant = "pytorch"')
    lines += [f"{key} = {json.dumps(strategy[key])}" for key in
              ("bucket_cap_mb", "reshard_after_forward", "tp_plan", "schedule", "microbatches", "stages_per_rank") if key in strategy]
    if "sharding" in strategy:
        lines.append(f'sharding_strategy = "{strategy["sharding"].lower()}"')
    if "mixed_precision" in strategy:
        lines += ["[parallel.mixed_precision]"] + [f"{k} = {json.dumps(v)}" for k, v in strategy["mixed_precision"].items()]
    return "\n".join(lines) + "\n"


def read_safetensors(path):
    """The float32 tensors of a file, flat, by name."""
    blob = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", blob)[0]
    header = json.loads(blob[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not float32")
        begin, end = entry["data_offsets"]
        tensors[name] = struct.unpack_from(f"<{(end - begin) // 4}f", blob, 8 + size + begin)
    return tensors


def compare(losses, parameters, wanted_losses, wanted, rough=False, loss_tolerance=2e-5):
    """The first difference in words, or nothing: the tolerances of tests/run/golden_case.cpp."""
    floor = 3e-4 if rough else 2e-5
    if len(losses) != len(wanted_losses):
        return f"{len(losses)} losses of {len(wanted_losses)}"
    for step, (have, want) in enumerate(zip(losses, wanted_losses)):
        if not abs(have - want) <= loss_tolerance * abs(want):
            return f"loss of step {step}: {have}, wanted {want}"
    if set(parameters) != set(wanted):
        return f"other parameters: {sorted(set(parameters) ^ set(wanted))}"
    for name, numbers in wanted.items():
        if len(parameters[name]) != len(numbers):
            return f"{name}: {len(parameters[name])} elements, wanted {len(numbers)}"
        for i, (have, want) in enumerate(zip(parameters[name], numbers)):
            if math.isnan(have) or abs(have - want) > floor + 2e-4 * abs(want):
                return f"{name} element {i}: {have}, wanted {want}"
    return None


def compare_golden(name, losses, parameters):
    gold = json.loads((GOLDEN / f"{name}.json").read_text())
    rough = "mixed_precision" in gold["case"]["strategy"]
    tolerance = 2e-5 if not rough else 5e-4 if gold["case"]["model"]["kind"] == "mlp" else 1e-2
    return compare(losses, parameters, gold["losses"], read_safetensors(f"{GOLDEN / name}.final.safetensors"), rough, tolerance)
