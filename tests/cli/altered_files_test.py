"""Altered scenarios, profiles, checkpoints, traces and job files, given to the built program as a user would.

Each case is one file of a run that is whole, changed as its seed says (alter.py). Whatever the program then says, it
ends by itself within ten seconds (or, where it was told to work for long, soon after Ctrl-C), does not crash, touches
no file of another's, and writes nothing that a terminal would obey; what it exports is XML, JSON, CSV or HTML as it
should be.

usage: altered_files_test.py BIN_FOLDER    (MESHSCOPE_ALTERED_CASES=1000 of each kind, MESHSCOPE_ALTERED_SEED=1)
"""

import html.parser
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree

from alter import STEERING, TEXTS, Text, altered_checkpoint, altered_text, altered_trace, reseal

BIN = pathlib.Path(sys.argv[1]).resolve()
CASES = int(os.environ.get("MESHSCOPE_ALTERED_CASES", "12"))
SEED = int(os.environ.get("MESHSCOPE_ALTERED_SEED", "1"))
KINDS = sys.argv[2:] or ["scenario", "profile", "checkpoint", "trace", "job"]
MODEL = pathlib.Path(__file__).parent.parent / "golden" / "model_config" / "Llama-3.2-1B.json"
LIMIT_S = 10
# A machine that does many things at once is no hang of the program.
SLACK = float(os.environ.get("MESHSCOPE_ALTERED_SLACK", "6"))

SCENARIO = """format = 1
title = { en = "An altered file", zh = "改过的文件" }

[model]
kind = "mlp"
dim = 4
hidden = 8
layers = 2
seed = 1

[data]
kind = "regression"
samples = 8
seed = 1

[train]
steps = STEPS
global_batch = 4

[optimizer]
kind = "adamw"
lr = 0.01
betas = [0.9, 0.99]

[mesh]
shape = [2]
names = ["shard"]

[parallel]
data = "fsdp2"
units = [["layers.0"], ["layers.1"]]

[hardware]
ranks_per_node = 2

[record]
level = "hops"
CHECKPOINT
[[check]]
id = "every rank gathers"
sql = "SELECT count(*) > 0 FROM collectives"

[[check]]
id = "bytes"
sql = "SELECT sum(bytes) > 0 FROM hops"
"""

PROFILE = """name = "altered"
[compute]
float32_gflops = 100.0
bfloat16_gflops = 200.0
efficiency = 0.5
memory_GB_per_s = 50.0
launch_us = 5.0
overlap = true
[compute.kernels.linear]
gflops = 90.0
[links.inside]
latency_us = 2.0
GB_per_s = 20.0
[links.between]
latency_us = 10.0
GB_per_s = 5.0
"""


# Job files of other programs, whose numbers are altered first.
JOBS = {
    "run.sh": """TP=2
ARGS=(
    --num-layers 16 --hidden-size 2048 --num-attention-heads 32 --swiglu --group-query-attention --num-query-groups 8 --ffn-hidden-size 8192
    --pipeline-model-parallel-size 2 --tensor-model-parallel-size $TP --num-layers-per-virtual-pipeline-stage 2
    --context-parallel-size 2 --make-vocab-size-divisible-by 128
)
torchrun --nproc_per_node 8 --nnodes 2 x.py ${ARGS[@]} --micro-batch-size 2 --global-batch-size 16 --seq-length 32 --vocab-size 256
""",
    "ds.json": """{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
 "tensor_parallel": {"autotp_size": 1}, "sequence_parallel_size": 2,
 "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8, "zero_hpz_partition_size": 8}, "bf16": {"enabled": true}}
""",
    "acc.yaml": """distributed_type: FSDP
num_processes: 16
num_machines: 2
fsdp_config: {fsdp_version: 2, fsdp_min_num_params: 1000}
parallelism_config:
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: 4
  parallelism_config_tp_size: 2
""",
    "titan.toml": """[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 4
global_batch_size = 64
seq_len = 32
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
pipeline_parallel_degree = 2
pipeline_parallel_microbatch_size = 2
pipeline_parallel_layers_per_stage = 9
pipeline_parallel_schedule = "Interleaved1F1B"
tensor_parallel_degree = 2
""",
}
# The product of two of the last is 0 in 64 bits.
NUMBERS = ["0", "1", "2", "4", "8", "-1", "x", "1e300", "4611686018427387904"] + 2 * ["65536", "2147483648"] + 6 * ["1099511627776"]


def altered_job(text, rng):
    number = rng.choice(NUMBERS)
    for _ in range(rng.choice([1, 2, 2, 3])):
        at = rng.choice(list(re.finditer(r"(?<![\w.])\d[\de]*", text)))
        text = text[:at.start()] + number + text[at.end():]
    return altered_text(text, rng) if rng.random() < 0.3 else text.encode()


def is_unseen(c):
    code = ord(c)
    return unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def steering_in(data, csv=False):
    """What of these bytes a terminal could obey, or would not show; None where there is nothing."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8 at byte {error.start}"
    if csv:
        text = text.replace("\r\n", "\n")
    for i, c in enumerate(text):
        if c not in "\n\t" and is_unseen(c):
            return f"U+{ord(c):04X} in {text[max(0, i - 30):i + 10]!r}"
    return None


# ---- running


class Page(html.parser.HTMLParser):
    """A page has one script with the run, and no tag that a file brought along."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


class Case:
    def __init__(self, kind, seed, root):
        self.kind, self.seed, self.root = kind, seed, root
        self.mine = root / "mine"
        self.mine.mkdir()
        (self.mine / "precious.txt").write_text("another's")
        (self.mine / "step_000001").mkdir()
        (self.mine / "step_000001" / "notes.txt").write_text("another's")
        self.found, self.codes = [], []

    def say(self, words, what):
        self.found.append(f"{self.kind} {self.seed}: {' '.join(map(str, words))}: {what}")

    def run(self, *words, program="meshscope", csv=False):
        words = [str(w) for w in words]
        command = [str(BIN / program), *words]
        environment = {k: v for k, v in os.environ.items() if k not in ("LANG", "LC_ALL", "LC_MESSAGES")}
        environment["MESHSCOPE_PAGE"] = str(pathlib.Path(__file__).resolve().parents[2] / "app" / "web" / "page.html")  # as tests/cli/program.cpp
        environment["LC_ALL"] = self.rng.choice(["C", "zh_CN.UTF-8"])
        limits = "ulimit -v 12000000; ulimit -c 0; exec \"$@\""
        child = subprocess.Popen(["sh", "-c", limits, "sh", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, cwd=self.root, env=environment, start_new_session=True)
        try:
            out, err = child.communicate(timeout=LIMIT_S * SLACK)
        except subprocess.TimeoutExpired:
            # It may have been told to train for days; then it ends when it is asked to.
            child.send_signal(signal.SIGINT)
            try:
                out, err = child.communicate(timeout=LIMIT_S * SLACK)
                if child.returncode != 130:
                    self.say(words, f"took long and ended with {child.returncode}")
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                self.say(words, "hangs")
                return
        self.codes.append(child.returncode)
        if child.returncode < 0 or child.returncode in (70, 126, 127, 134, 136, 139):
            self.say(words, f"exit {child.returncode}: {err[-300:]!r}")
        for name, data in (("stdout", out), ("stderr", err)):
            steering = steering_in(data, csv)
            if steering:
                self.say(words, f"{name}: {steering}")
        if "--json" in words and out.strip() and child.returncode == 0:
            self.check(words, "stdout", lambda: json.loads(out))

    def check(self, words, name, parse):
        try:
            parse()
        except Exception as error:  # whatever the reader has against it
            self.say(words, f"{name}: {error}")

    def check_file(self, name, form):
        path = self.root / name
        if not path.exists():
            return
        data = path.read_bytes()
        steering = steering_in(data, form == "csv")
        if steering:
            self.say([name], steering)
        elif form == "json":
            self.check([name], form, lambda: json.loads(data))
        elif form == "svg":
            self.check([name], form, lambda: xml.etree.ElementTree.fromstring(data))
        elif form == "html":
            page = Page()
            page.feed(data.decode())
            if page.tags.count("script") != 2 or "img" in page.tags:
                self.say([name], f"tags {sorted(set(page.tags))}, {page.tags.count('script')} scripts")

    def check_folder(self):
        kept = {self.mine / "precious.txt", self.mine / "step_000001" / "notes.txt"}
        for path in kept:
            if not path.exists() or path.read_text() != "another's":
                self.say([path.name], "a file of another's is gone or changed")


def scenario_text(steps, checkpoint=""):
    return SCENARIO.replace("STEPS", str(steps)).replace("CHECKPOINT", checkpoint)


def run_case(kind, seed, base, root):
    case = Case(kind, seed, root)
    case.rng = rng = random.Random(f"{kind} {seed}")
    if kind == "scenario":
        text = scenario_text(2, '\n[checkpoint]\nfolder = "mine"\nevery = 1\n' if rng.random() < 0.3 else "")
        (root / "s.toml").write_bytes(altered_text(text, rng))
        case.run("run", "s.toml", *rng.choice([[], ["--trace", "t.mscope"], ["--json", "-"], ["--level", "off"]]))
        case.run(*rng.choice([["predict", "s.toml"], ["predict", "s.toml", "--json"]]))
        if (root / "t.mscope").exists():
            case.run("trace", "info", "t.mscope")
    elif kind == "profile":
        (root / "p.toml").write_bytes(altered_text(PROFILE, rng))
        (root / "s.toml").write_text(scenario_text(2).replace("[hardware]", '[hardware]\nprofile = "p.toml"'))
        case.run("predict", base / "s.toml", "--profile", "p.toml", *rng.choice([[], ["--json"]]))
        case.run("run", "s.toml", "-q")
    elif kind == "job":
        name = rng.choice(list(JOBS))
        (root / name).write_bytes(altered_job(JOBS[name], rng))
        case.run("scenario", "from", name, *([] if name == "titan.toml" else ["--model", MODEL]), *(["--micro-batch", "2"] if name == "acc.yaml" else []), *rng.choice([["--seq", "32"], ["--seq", "32", "--world", "16"], ["-o", "s.toml"]]), *rng.choice([[], ["--json"]]))
    elif kind == "checkpoint":
        subprocess.run(["cp", "-r", base / "ck" / "step_000002", root / "step_000002"], check=True)
        altered_checkpoint(root / "step_000002", rng)
        case.run("run", base / "long.toml", "--resume", "step_000002", *rng.choice([[], ["-q"], ["--json", "-"]]))
    else:
        trace = root / "t.mscope"
        trace.write_bytes((base / "t.mscope").read_bytes())
        altered_trace(trace, rng)
        case.run("trace", "info", "t.mscope", *rng.choice([[], ["--json"]]))
        which = rng.randrange(6)
        if which == 0:
            case.run("trace", "export", "perfetto", "t.mscope", "-o", "p.json")
            case.check_file("p.json", "json")
        elif which == 1:
            case.run("trace", "export", "csv", "t.mscope", "-o", "c.csv", "--what", rng.choice(["collectives", "memory", "hops", "parameters"]))
            case.check_file("c.csv", "csv")
        elif which == 2:
            case.run("trace", "export", "html", "t.mscope", "-o", "h.html")
            case.check_file("h.html", "html")
        elif which == 3 and (BIN / "meshscope-app").exists():
            case.run("trace", "export", "svg", "t.mscope", "-o", "v.svg", "--view", rng.choice(["mesh", "timeline", "collective", "memory"]))
            case.check_file("v.svg", "svg")
        else:
            words = rng.choice([["--csv"], [], ["--json"]])
            case.run("trace", "query", "t.mscope", "SELECT * FROM " + rng.choice(["collectives", "groups", "ranks", "compute"]), *words,
                     csv="--csv" in words)
    case.check_folder()
    return case


def steering_everywhere(root):
    """Every text of a scenario, a profile, a trace and a command line steers; every command tells some of them."""
    case = Case("steering", 0, root)
    case.rng = random.Random(0)
    all_of_it = "".join(STEERING)
    escaped = "".join(f"\\u{ord(c):04x}" for c in all_of_it)
    told = scenario_text(2).replace('= "every', f'= "{escaped}every').replace('"An altered', f'"{escaped}An altered')
    told = told.replace('"改过', f'"{escaped}改过').replace('"shard"', f'"{escaped}shard"', 1)
    (root / "t.toml").write_text(told)
    (root / "sql.toml").write_text(told.replace(f'"{escaped}shard"', '"shard"').replace(
        "count(*) > 0 FROM", f"count(*) > 0 FROM '{escaped}' JOIN"))
    told = told.replace(f'"{escaped}shard"', '"shard"')
    (root / "s.toml").write_text(told)
    (root / "fails.toml").write_text(told.replace("count(*) > 0", "count(*) < 0"))
    (root / "keys.toml").write_text(f'format = 1\n"{escaped}" = 1\n[model]\nkind = "{escaped}"\n[train]\nsteps = "{escaped}"\n')
    (root / "p.toml").write_text(PROFILE.replace('"altered"', f'"{escaped}"').replace("kernels.linear", f'kernels."{escaped}"'))
    (root / "wrong.toml").write_text(PROFILE.replace("launch_us", f'"{escaped}"'))
    case.run("run", "s.toml", "--trace", "t.mscope")
    for name in ("s", "t", "sql", "fails", "keys"):
        for words in ([], ["--json", "-"], ["-q"]):
            case.run("run", f"{name}.toml", *words)
        case.run("predict", f"{name}.toml")
        case.run("predict", f"{name}.toml", "--json")
    for profile in ("p.toml", "wrong.toml", "no\x1b[2J\u202e.toml"):
        for words in ([], ["--json"]):
            case.run("predict", "s.toml", "--profile", profile, *words)
    db = sqlite3.connect(root / "t.mscope")
    for table, column in TEXTS.items():
        if table == "word":  # the vocabulary is known, or the file is of another program
            continue
        where = {"string": "id > 0", "meta": "key IN ('title_en', 'title_zh', 'backend', 'scenario_path', 'engine_version')"}
        db.execute(f"UPDATE {table} SET {column} = {column} || ? WHERE {where.get(table, '1')}", (all_of_it + "<b>&",))
        db.text_factory = Text
        reseal(db, table)
    db.commit()
    db.close()
    for words in ([], ["--json"]):
        case.run("trace", "info", "t.mscope", *words)
        if case.codes[-1] != 0:
            case.say(words, "a trace with such texts was to be told")
    for table in ("collectives", "compute", "hops", "memory", "parameters", "groups", "ranks"):
        for words in ([], ["--json"], ["--csv"]):
            case.run("trace", "query", "t.mscope", f"SELECT * FROM {table}", *words, csv="--csv" in words)
    case.run("trace", "query", "t.mscope", "SELECT char(27, 155, 8238, 0) AS '" + all_of_it + "'")
    for what in ("collectives", "memory", "compute", "parameters"):
        case.run("trace", "export", "csv", "t.mscope", "-o", "c.csv", "--what", what)
        case.check_file("c.csv", "csv")
        case.run("trace", "export", "csv", "t.mscope", "-o", "-", "--what", what, csv=True)
    for form, name in (("perfetto", "p.json"), ("html", "h.html")):
        case.run("trace", "export", form, "t.mscope", "-o", name)
        case.check_file(name, name.split(".")[1])
        case.run("trace", "export", form, "t.mscope", "-o", "-")
    if (BIN / "meshscope-app").exists():
        for view in ("mesh", "timeline", "collective", "memory"):
            case.run("trace", "export", "svg", "t.mscope", "-o", "v.svg", "--view", view)
            if case.codes[-1] != 0:
                case.say([view], "no picture was made")
            case.check_file("v.svg", "svg")
    word = "a\x1b[2J\u202e\x9b"
    for words in (["run", word], ["predict", word], [word], ["run", "s.toml", "--backend", word], ["run", "s.toml", word], ["run", "s.toml", "--" + word],
                  ["trace", "info", word], ["trace", "query", "t.mscope", word], ["trace", "export", "csv", "t.mscope", "-o", word + "/x"],
                  ["lesson", "run", word], ["lesson", word], ["lesson", "list", "--scenarios", word], ["mesh", "--shape", word], ["mesh", "--shape", "2,2", "--names", word + ",b"],
                  ["mesh", "--shape", "2,2", "--names", "a,b", "--slice", word], ["schedule", "--kind", word], ["sampler", "--samples", word],
                  ["run", "s.toml", "--resume", word], ["run", "s.toml", "--json", word + "/x"], ["run", "s.toml", "--timeout", word],
                  ["run", "s.toml", "--variant", word], ["doctor", "--nccl", word], ["launch", "-n", "1", "--", word]):
        case.run(*words)
    return case


def make_base(base):
    (base / "s.toml").write_text(scenario_text(2))
    (base / "short.toml").write_text(scenario_text(2, '\n[checkpoint]\nfolder = "ck"\nevery = 2\n'))
    (base / "long.toml").write_text(scenario_text(3))
    for words in (["run", "s.toml", "--trace", "t.mscope", "-q"], ["run", "short.toml", "-q"], ["run", "long.toml", "--resume", "ck", "-q"]):
        subprocess.run([BIN / "meshscope", *words], cwd=base, check=True)


def main():
    found, codes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder) / "base"
        base.mkdir()
        make_base(base)
        with tempfile.TemporaryDirectory(dir=folder) as root:
            found += steering_everywhere(pathlib.Path(root)).found
        for line in found:
            print(line)
        for kind in KINDS:
            for seed in range(SEED, SEED + CASES):
                with tempfile.TemporaryDirectory(dir=folder) as root:
                    case = run_case(kind, seed, base, pathlib.Path(root))
                found += case.found
                for line in case.found:
                    print(line, flush=True)
                for code in case.codes:
                    codes.setdefault(kind, {}).setdefault(code, 0)
                    codes[kind][code] += 1
    for kind, by_code in codes.items():
        print(f"{kind}: {CASES} files; exits {dict(sorted(by_code.items()))}")
        # A change that nothing ever refuses, or that nothing survives, tests nothing.
        if CASES >= 200 and len(by_code) < 2:
            found.append(f"{kind}: every command ended alike")
            print(found[-1])
    sys.exit(1 if found else 0)


main()
