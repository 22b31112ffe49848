"""Sequence parallelism on one transformer block: shapes and collectives, counted by PyTorch."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module)

WORLD, DIM, HIDDEN, HEAD, BATCH, SEQ = 2, 16, 32, 4, 4, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(DIM), Attention(), nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, HIDDEN, bias=False), nn.GELU("tanh"), nn.Linear(HIDDEN, DIM, bias=False))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


def count(seen, word):
    return sum(n for op, n in seen.get_comm_counts().items() if word in str(op))


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))
    whole = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    block = parallelize_module(Block(), mesh, {
        "ln1": SequenceParallel(), "attn": whole,
        "attn.wq": ColwiseParallel(), "attn.wk": ColwiseParallel(), "attn.wv": ColwiseParallel(),
        "attn.wo": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "ln2": SequenceParallel(), "mlp": whole,
        "mlp.0": ColwiseParallel(), "mlp.2": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
    here = torch.randn(BATCH, SEQ // WORLD, DIM, requires_grad=True)  # this rank's positions
    x = DTensor.from_local(here, mesh, [Shard(1)])
    with CommDebugMode() as seen:
        y = block(x)
        gathers, scatters = count(seen, "all_gather"), count(seen, "reduce_scatter")
        y.to_local().sum().backward()
    if rank == 0:
        print(f"norm_elements = {block.ln1(x).to_local().numel()}")
        print(f"gathers = {gathers}")
        print(f"scatters = {scatters}")
        print(f"backward_gathers = {count(seen, 'all_gather') - gathers}")
        print(f"backward_scatters = {count(seen, 'reduce_scatter') - scatters}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
