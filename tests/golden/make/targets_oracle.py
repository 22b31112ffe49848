"""Training oracle for losses over some of the targets, tied heads and padded vocabularies.

usage: targets_oracle.py OUTDIR        (needs torch and safetensors)
Writes for each case OUTDIR/NAME.final.safetensors (weights after), OUTDIR/MODEL.init.safetensors for each model,
OUTDIR/data.safetensors (x0 y0 …, targets of -100 count nothing), OUTDIR/token0.safetensors (the same with 0 in the place of
-100), and OUTDIR/expected.json with losses and gradient norms. Real processes, gloo; gpt with LayerNorm as torch.nn has it.

`tokens`: each micro-batch's loss is cross_entropy(logits.float(), targets, reduction="sum") * ranks / N, where N, the targets that
count in the global batch, is summed by one all_reduce of one int64 ahead of the step's forwards: transformers' Trainer
(num_items_in_batch, average_tokens_across_devices). `microbatches`: cross_entropy's own mean, divided by the micro-batches.
"""
import json, os, sys, tempfile
import torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist, torch.multiprocessing as mp
from safetensors.torch import save_file

VOCAB, SEQ, DIM, HEADS, HIDDEN, LAYERS, BATCH, STEPS = 30, 8, 16, 2, 32, 4, 8, 3
LENGTHS = [8, 3, 5, 2, 1, 7, 4, 6, 2, 8, 1]                     # of the samples, in turn: never equal halves
# ranks, micro-batches, how the loss is averaged, what trains, and which model
CASES = {
    "tokens": dict(micro=1, mean="tokens"),
    "tokens_accumulate": dict(micro=2, mean="tokens"),
    "tokens_ddp2": dict(ranks=2, micro=2, mean="tokens", data="ddp"),
    "tokens_fsdp2": dict(ranks=2, micro=1, mean="tokens", data="fsdp"),
    "tokens_fsdp2_bf16": dict(ranks=2, micro=1, mean="tokens", data="fsdp", bf16=True),
    "microbatches_ddp2": dict(ranks=2, micro=2, mean="microbatches", data="ddp"),
    "tied_clipped": dict(micro=2, mean="tokens", model="tied", clip=0.5),
    "padded": dict(micro=1, mean="tokens", model="padded"),
}
MODELS = {"plain": dict(), "tied": dict(tied=True), "padded": dict(rows=36)}   # 30 rounded up to a multiple of 12


class Linears(nn.Module):
    def __init__(s, **sizes):
        super().__init__()
        for name, (inputs, outputs) in sizes.items(): setattr(s, name, nn.Linear(inputs, outputs, bias=False))


class Block(nn.Module):
    def __init__(s):
        super().__init__()
        s.ln1 = nn.LayerNorm(DIM); s.attn = Linears(wq=(DIM, DIM), wk=(DIM, DIM), wv=(DIM, DIM), wo=(DIM, DIM))
        s.ln2 = nn.LayerNorm(DIM); s.mlp = Linears(up=(DIM, HIDDEN), down=(HIDDEN, DIM))

    def forward(s, x):
        b, t, _ = x.shape
        y = s.ln1(x)
        q, k, v = (w(y).view(b, t, HEADS, -1).transpose(1, 2) for w in (s.attn.wq, s.attn.wk, s.attn.wv))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + s.attn.wo(o.transpose(1, 2).reshape(b, t, -1))
        return x + s.mlp.down(F.gelu(s.mlp.up(s.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(s, rows=VOCAB, tied=False):
        super().__init__()
        s.tok = nn.Embedding(rows, DIM); s.pos = nn.Embedding(SEQ, DIM)
        s.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        s.ln_f = nn.LayerNorm(DIM); s.head = nn.Linear(DIM, rows, bias=False)
        if tied: s.head.weight = s.tok.weight

    def forward(s, tokens):
        x = s.tok(tokens) + s.pos(torch.arange(tokens.shape[1]))
        for block in s.blocks: x = block(x)
        return s.head(s.ln_f(x))


def make_model(name):
    torch.manual_seed(11)
    return Gpt(**MODELS[name])


def make_data():
    generator, data, sample = torch.Generator().manual_seed(3), {}, 0
    for step in range(STEPS):
        tokens = torch.randint(1, VOCAB, (BATCH, SEQ + 1), generator=generator)
        x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        for row in range(BATCH):
            length = LENGTHS[sample % len(LENGTHS)]; sample += 1
            x[row, length:] = 0; y[row, length:] = -100
        data[f"x{step}"], data[f"y{step}"] = x, y
    return data


def whole(tensor):
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach().contiguous().clone()


def loss_of(case, logits, targets, divisor):
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    if case["mean"] == "tokens": return F.cross_entropy(logits.float(), targets, reduction="sum") / divisor
    return F.cross_entropy(logits, targets) / case["micro"]


def train(rank, name, work):
    case, ranks = CASES[name], CASES[name].get("ranks", 1)
    torch.set_num_threads(1)
    model, data = make_model(case.get("model", "plain")), make_data()
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{work}/store", rank=rank, world_size=ranks)
    ddp = case.get("data") == "ddp"
    if ddp: model = nn.parallel.DistributedDataParallel(model)
    if case.get("data") == "fsdp":
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if case.get("bf16") else MixedPrecisionPolicy()
        mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
        for block in model.blocks: fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, norms = [], []
    for step in range(STEPS):
        x, y = (data[f"{n}{step}"].chunk(ranks)[rank] for n in "xy")
        count = (y != -100).sum()
        if ranks > 1: dist.all_reduce(count)
        optimizer.zero_grad(); total = torch.zeros(())
        for m, (xs, ys) in enumerate(zip(x.chunk(case["micro"]), y.chunk(case["micro"]))):
            if ddp: model.require_backward_grad_sync = m + 1 == case["micro"]
            loss = loss_of(case, model(xs), ys, count.item() / ranks)
            loss.backward(); total += loss.detach()
        if "clip" in case: norms.append(nn.utils.clip_grad_norm_(model.parameters(), case["clip"]).item())
        optimizer.step()
        if ranks > 1: dist.all_reduce(total); total /= ranks
        losses.append(total.item())
    inner = model.module if ddp else model
    final = {n: whole(p) for n, p in inner.named_parameters()}   # a tied head is not named twice
    if rank == 0: torch.save((losses, norms, final), f"{work}/result.pt")
    if ranks > 1: dist.destroy_process_group()


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    data = make_data()
    save_file(data, f"{out}/data.safetensors")
    save_file({n: t.where(t != -100, 0) for n, t in data.items()}, f"{out}/token0.safetensors")
    for name in MODELS:
        save_file({n: whole(p) for n, p in make_model(name).named_parameters()}, f"{out}/{name}.init.safetensors")
    expected = {"made_by": f"PyTorch {torch.__version__}, gloo", "cases": {}}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as work:
            ranks = case.get("ranks", 1)
            if ranks == 1: train(0, name, work)
            else: mp.spawn(train, args=(name, work), nprocs=ranks)
            losses, norms, final = torch.load(f"{work}/result.pt")
        save_file(final, f"{out}/{name}.final.safetensors")
        expected["cases"][name] = {"losses": losses, "model": case.get("model", "plain"), **({"grad_norms": norms} if norms else {})}
        print(name, losses, norms, flush=True)
    with open(f"{out}/expected.json", "w") as file: json.dump(expected, file, indent=1); file.write("\n")


if __name__ == "__main__": main()
