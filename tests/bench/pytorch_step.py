#!/usr/bin/env python3
"""Times PyTorch on the training step of `meshscope bench step`, for a comparison on the same machine in the same hour.

usage: pytorch_step.py --strategy single|ddp|fsdp2|tp --ranks N [--dim 256 --layers 4 --hidden 1024 --heads 8
                       --seq 128 --vocab 1024 --batch 8 --steps 20]

Needs torch from PyPI. One process and one thread a rank, gloo, float32, AdamW, the gpt model of this project, the
global batch shared out over the data ranks. Prints one JSON line: the median of the steps' times on rank 0, each
begun together after a barrier that is not counted.
"""
import argparse
import json
import os
import statistics
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.head_dim = dim // heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        batch, tokens, _ = x.shape
        # -1: the local heads under tensor parallelism
        q, k, v = (w(x).view(batch, tokens, -1, self.head_dim).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(batch, tokens, -1))


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(dim), Attention(dim, heads)
        self.ln2, self.mlp = nn.LayerNorm(dim), Mlp(dim, hidden)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.tok, self.pos = nn.Embedding(a.vocab, a.dim), nn.Embedding(a.seq, a.dim)
        self.blocks = nn.ModuleList(Block(a.dim, a.heads, a.hidden) for _ in range(a.layers))
        self.ln_f, self.head = nn.LayerNorm(a.dim), nn.Linear(a.dim, a.vocab, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def parallelize(model, a, world):
    """Returns the model as trained and how many parts the batch is cut into."""
    if a.strategy == "single":
        return model, 1
    if a.strategy == "ddp":
        return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True), world
    mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
    if a.strategy == "fsdp2":
        from torch.distributed.fsdp import fully_shard
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model, world
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   parallelize_module)
    whole = PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),))
    for block in model.blocks:
        plan = {"attn": whole, "mlp": whole, "attn.wo": RowwiseParallel(), "mlp.down": RowwiseParallel()}
        for name in ("attn.wq", "attn.wk", "attn.wv", "mlp.up"):
            plan[name] = ColwiseParallel()
        parallelize_module(block, mesh, plan)
    return model, 1


def run(rank, world, a, folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if a.strategy != "single":
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    model, parts = parallelize(Gpt(a), a, world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, a.vocab, (a.batch // parts, a.seq + 1))
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)
    times = []
    for step in range(a.steps + 3):
        if world > 1:
            dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x).reshape(-1, a.vocab), y).backward()
        optimizer.step()
        if step >= 3:
            times.append((time.perf_counter() - begin) * 1e3)
    if rank == 0:
        print(json.dumps({"strategy": a.strategy, "ranks": world, "ms": round(statistics.median(times), 2),
                          "library": f"PyTorch {torch.__version__}"}), flush=True)
    if world > 1:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--strategy", choices=("single", "ddp", "fsdp2", "tp"), required=True)
    for name, value in (("ranks", 1), ("dim", 256), ("layers", 4), ("hidden", 1024), ("heads", 8), ("seq", 128),
                        ("vocab", 1024), ("batch", 8), ("steps", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if a.ranks == 1:
            run(0, 1, a, folder)
        else:
            mp.spawn(run, args=(a.ranks, a, folder), nprocs=a.ranks)


if __name__ == "__main__":
    main()
