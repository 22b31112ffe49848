"""Training oracle for frozen parameters, LoRA and training in bfloat16 alone.

usage: frozen_oracle.py OUTDIR [CASE …]        (needs torch and safetensors; one process a rank, gloo)
Writes for each case OUTDIR/NAME.final.safetensors (weights after), OUTDIR/{plain,lora}.init.safetensors, OUTDIR/data.safetensors
(x0 y0 …) and OUTDIR/expected.json: losses, gradient norms where clipped, which parameters have a gradient and a state of the
optimizer, and every rank's collectives of set-up and of each step in the order issued (op, elements in and out).
The model is the gpt of targets_oracle.py; `frozen` names modules or parameters whose requires_grad is False.

LoRA as peft 0.17 has it, with PyTorch's own operators: base(x) + lora_B(lora_A(x)) * (alpha / r), without dropout, base weights frozen.
"""
import json, os, sys, tempfile, warnings
import torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist, torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.utils._python_dispatch import TorchDispatchMode
import targets_oracle as base

BATCH, STEPS, SEQ, VOCAB = 8, 3, base.SEQ, base.VOCAB
LOWER, UPPER = ["tok", "pos", "blocks.0", "blocks.1"], ["blocks.2", "blocks.3", "ln_f", "head"]
MIXED = ["tok", "blocks.0.attn", "blocks.1.mlp.up", "blocks.2.ln1.bias", "blocks.3.attn.wq", "blocks.3.mlp", "head"]
LORA = dict(r=4, alpha=8, targets=["wq", "wv"])
ALL = dict(r=2, alpha=8, targets=["wq", "wk", "wv", "wo", "up", "down"])
CASES = {
    "lower": dict(frozen=LOWER), "upper": dict(frozen=UPPER), "mixed": dict(frozen=MIXED, clip=0.5),
    "ddp2_lower": dict(ranks=2, data="ddp", frozen=LOWER), "ddp2_mixed": dict(ranks=2, data="ddp", frozen=MIXED, clip=0.5, micro=2),
    "zero1_mixed": dict(ranks=2, data="zero1", frozen=MIXED),
    "fsdp2_lower": dict(ranks=2, data="fsdp", frozen=LOWER), "fsdp2_upper": dict(ranks=2, data="fsdp", frozen=UPPER),
    "fsdp2_mixed": dict(ranks=2, data="fsdp", frozen=MIXED, clip=0.5), "fsdp2_mixed_accumulate": dict(ranks=2, data="fsdp", frozen=MIXED, micro=2),
    "hsdp2x2_mixed": dict(ranks=4, data="hsdp", frozen=MIXED), "fsdp2_mixed_bf16": dict(ranks=2, data="fsdp", frozen=MIXED, mixed=True),
    "fsdp1_lower": dict(ranks=2, data="fsdp1", frozen=LOWER), "fsdp1_mixed": dict(ranks=2, data="fsdp1", frozen=MIXED),
    "pp2_lower": dict(ranks=2, data="pp", frozen=LOWER), "pp2_upper": dict(ranks=2, data="pp", frozen=UPPER),
    "lora": dict(lora=LORA), "lora_all": dict(lora=ALL, clip=0.05), "lora_ddp2": dict(ranks=2, data="ddp", lora=LORA),
    "lora_fsdp2": dict(ranks=2, data="fsdp", lora=LORA), "lora_zero1": dict(ranks=2, data="zero1", lora=LORA),
    "bf16": dict(pure=True), "bf16_ddp2": dict(ranks=2, data="ddp", pure=True), "bf16_fsdp2": dict(ranks=2, data="fsdp", pure=True),
}
IN_PROCESS = {"fsdp1_refused": dict(frozen=MIXED)}


class Lora(nn.Linear):
    def __init__(s, host, r, alpha, generator):
        super().__init__(host.in_features, host.out_features, bias=False)
        s.weight, s.scaling = host.weight, alpha / r
        s.lora_A, s.lora_B = nn.Linear(s.in_features, r, bias=False), nn.Linear(r, s.out_features, bias=False)
        with torch.no_grad():   # kaiming_uniform_(A, a=√5) and, in peft, zeros; numbers in B show more
            bound = s.in_features ** -0.5
            s.lora_A.weight.copy_((torch.rand(s.lora_A.weight.shape, generator=generator) * 2 - 1) * bound)
            s.lora_B.weight.copy_(torch.randn(s.lora_B.weight.shape, generator=generator) * 0.05)

    def forward(s, x):
        return F.linear(x, s.weight) + s.lora_B(s.lora_A(x)) * s.scaling


def make_model(case):
    torch.manual_seed(11)
    model = base.Gpt()
    if lora := case.get("lora"):
        model.requires_grad_(False)
        generator = torch.Generator().manual_seed(5)
        for block in model.blocks:
            for part in (block.attn, block.mlp):
                for name, child in list(part.named_children()):
                    if name in lora["targets"]: setattr(part, name, Lora(child, lora["r"], lora["alpha"], generator))
    for name, p in model.named_parameters():
        if any(name == f or name.startswith(f + ".") for f in case.get("frozen", [])): p.requires_grad_(False)
    return model.bfloat16() if case.get("pure") else model


def make_data():
    generator, data = torch.Generator().manual_seed(3), {}
    for step in range(STEPS):
        tokens = torch.randint(0, VOCAB, (BATCH, SEQ + 1), generator=generator)
        data[f"x{step}"], data[f"y{step}"] = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    return data


class Recorder(TorchDispatchMode):
    """The collectives in the order issued: op, elements in, elements out."""

    def __init__(s): super().__init__(); s.calls = []

    def __torch_dispatch__(s, func, types, args=(), kwargs=None):
        name = str(func)
        if name.startswith("c10d"):
            count = lambda a: sum(t.numel() for t in torch.utils._pytree.tree_leaves(a) if isinstance(t, torch.Tensor))
            op = name.split(".")[1]
            if op in ("_allgather_base_", "_reduce_scatter_base_"): s.calls.append([op, count(args[1]), count(args[0])])
            elif op not in ("barrier", "monitored_barrier_"): s.calls.append([op, count(args[0]), count(args[0])])
        return func(*args, **(kwargs or {}))

    def take(s): calls, s.calls = s.calls, []; return calls


def wrap(model, case, ranks):
    data = case.get("data")
    if data in ("ddp", "zero1"): return nn.parallel.DistributedDataParallel(model)
    if data in ("fsdp", "hsdp"):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if case.get("mixed") else MixedPrecisionPolicy()
        shape, names = ((2, 2), ("replicate", "shard")) if data == "hsdp" else ((ranks,), ("shard",))
        mesh = dist.device_mesh.init_device_mesh("cpu", shape, mesh_dim_names=names)
        for block in model.blocks: fully_shard(block, mesh=mesh, mp_policy=policy)
        return fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    if data == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy
        return FSDP(model, auto_wrap_policy=ModuleWrapPolicy({base.Block}), use_orig_params=True, device_id=torch.device("cpu"))
    return model


class Half(nn.Module):
    """A stage: blocks 0 and 1 behind the embeddings, or blocks 2 and 3 ahead of the head."""

    def __init__(s, model, stage):
        super().__init__()
        s.stage, s.blocks = stage, nn.ModuleDict({str(i): model.blocks[i] for i in ((0, 1), (2, 3))[stage]})
        if stage == 0: s.tok, s.pos = model.tok, model.pos
        else: s.ln_f, s.head = model.ln_f, model.head

    def forward(s, x):
        if s.stage == 0: x = s.tok(x) + s.pos(torch.arange(x.shape[1]))
        for block in s.blocks.values(): x = block(x)
        return s.head(s.ln_f(x)) if s.stage == 1 else x


def flat_loss(logits, targets): return F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))


def norm_of(model, case):
    if case.get("data") == "fsdp1": return model.clip_grad_norm_(case["clip"]).item()
    norm = nn.utils.clip_grad_norm_(model.parameters(), case["clip"])
    return (norm.full_tensor() if hasattr(norm, "full_tensor") else norm).item()


def train(rank, name, work):
    warnings.simplefilter("ignore")
    case, ranks = CASES[name], CASES[name].get("ranks", 1)
    torch.set_num_threads(1)
    data, recorder, plain = make_data(), Recorder(), make_model(CASES[name])
    if ranks > 1: dist.init_process_group("gloo", init_method=f"file://{work}/{name}.store", rank=rank, world_size=ranks)
    pipeline, micro = case.get("data") == "pp", case.get("micro", 1)
    with recorder:
        if pipeline:
            from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
            model = Half(plain, rank)
            schedule = ScheduleGPipe(PipelineStage(model, rank, ranks, torch.device("cpu")), 4, loss_fn=flat_loss)
        else: model = wrap(plain, case, ranks)
    told = {"setup": recorder.take(), "steps": []}
    trained = [p for p in model.parameters() if p.requires_grad]
    if case.get("data") == "zero1":
        from torch.distributed.optim import ZeroRedundancyOptimizer
        optimizer = ZeroRedundancyOptimizer(trained, torch.optim.SGD, lr=0.1, momentum=0.9)
    elif case.get("pure"): optimizer = torch.optim.AdamW(trained, lr=0.01, fused=True)
    else: optimizer = torch.optim.SGD(trained or [torch.zeros(1)], lr=0.1, momentum=0.9)
    losses, norms, sync = [], [], case.get("data") in ("ddp", "zero1", "fsdp", "hsdp")
    for step in range(STEPS):
        shares = 1 if pipeline else ranks
        x, y = (data[f"{n}{step}"].chunk(shares)[0 if pipeline else rank] for n in "xy")
        with recorder:
            optimizer.zero_grad(); total = torch.zeros(())
            if pipeline:
                parts = []
                schedule.step(*([x] if rank == 0 else []), **({"target": y, "losses": parts} if rank == 1 else {}))
                if parts: total = torch.stack(parts).mean().detach()
            for m, (xs, ys) in enumerate([] if pipeline else zip(x.chunk(micro), y.chunk(micro))):
                last = m + 1 == micro
                if case.get("data") in ("ddp", "zero1"): model.require_backward_grad_sync = last
                if case.get("data") in ("fsdp", "hsdp"): model.set_requires_gradient_sync(last)
                loss = flat_loss(model(xs), ys) / micro
                loss.backward(); total += loss.detach().float()
            calls = recorder.take()
            if "clip" in case: norms.append(norm_of(model, case))
            if step == 0: told["grads"] = [n for n, p in model.named_parameters() if p.grad is not None and p.grad.numel() > 0]
            recorder.take(); optimizer.step(); told["steps"].append(calls + recorder.take())
        if pipeline: dist.broadcast(total, 1)
        elif ranks > 1: dist.all_reduce(total); total /= ranks
        losses.append(total.item())
    if case.get("data") == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        with FSDP.summon_full_params(model): final = {n: p.detach().clone() for n, p in plain.named_parameters()}
        final = {n.replace("_fsdp_wrapped_module.", ""): p for n, p in final.items()}
        told["grads"] = [n.replace("_fsdp_wrapped_module.", "") for n in told["grads"]]
    else: final = {n: base.whole(p) for n, p in (model if pipeline else plain).named_parameters()}
    told["grads"] = [n.removeprefix("module.") for n in told["grads"]]
    torch.save((losses, norms, {n: p.float() for n, p in final.items()}, told), f"{work}/{name}.rank{rank}.pt")
    if ranks > 1: dist.destroy_process_group()


def train_all(rank, names, work):
    for name in names: train(rank, name, work); print(name, flush=True) if rank == 0 else None


def refusal(rank, work):
    """What FullyShardedDataParallel says of a unit with frozen and trained parameters when use_orig_params is False."""
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    dist.init_process_group("gloo", init_method=f"file://{work}/store", rank=rank, world_size=2)
    try: FSDP(make_model(IN_PROCESS["fsdp1_refused"]).blocks[0], use_orig_params=False, device_id=torch.device("cpu"))
    except ValueError as error: torch.save(str(error), f"{work}/refusal{rank}.pt")
    dist.destroy_process_group()


def main():
    out, wanted = sys.argv[1], sys.argv[2:] or CASES
    os.makedirs(out, exist_ok=True)
    save_file(make_data(), f"{out}/data.safetensors")
    for name, case in {"plain": {}, "lora": CASES["lora"], "lora_all": CASES["lora_all"]}.items():
        save_file({n: base.whole(p) for n, p in make_model(case).named_parameters()}, f"{out}/{name}.init.safetensors")
    expected = {"made_by": f"PyTorch {torch.__version__}, gloo", "cases": {}}
    with tempfile.TemporaryDirectory() as work:
        mp.spawn(refusal, args=(work,), nprocs=2)
        expected["fsdp1_refused"] = torch.load(f"{work}/refusal0.pt")
    work = tempfile.mkdtemp()
    for ranks in (1, 2, 4):
        names = [name for name in wanted if CASES[name].get("ranks", 1) == ranks]
        if names: mp.spawn(train_all, args=(names, work), nprocs=ranks)
    for name in wanted:
        case = CASES[name]
        results = [torch.load(f"{work}/{name}.rank{r}.pt") for r in range(case.get("ranks", 1))]
        losses, norms, final, _ = results[0]
        if case.get("data") == "pp": final |= results[1][2]
        save_file(final, f"{out}/{name}.final.safetensors")
        expected["cases"][name] = {"losses": losses, **({"grad_norms": norms} if norms else {}), "case": case, "ranks": [r[3] for r in results]}
    with open(f"{out}/expected.json", "w") as file: json.dump(expected, file, separators=(",", ":")); file.write("\n")


if __name__ == "__main__": main()
