"""One transformer block under two tensor-parallel plans: their collectives, counted by PyTorch."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, parallelize_module

WORLD, DIM, HIDDEN, HEAD, BATCH, SEQ = 2, 16, 32, 4, 4, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn, self.mlp = Attention(), Mlp()

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


def counts(mesh, once):
    """all_reduces of one block in forward and in backward, and all all_gathers. once: one sum for q, k and v."""
    plan = {name: ColwiseParallel() for name in ("attn.wq", "attn.wk", "attn.wv", "mlp.up")}
    plan |= {"attn.wo": RowwiseParallel(), "mlp.down": RowwiseParallel()}
    if once:
        prepare = PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),))
        plan |= {"attn": prepare, "mlp": prepare}
    block = parallelize_module(Block(), mesh, plan)
    x = torch.randn(BATCH, SEQ, DIM, requires_grad=True)  # as an embedding before the block would make it
    reduces = lambda seen: sum(n for op, n in seen.get_comm_counts().items() if "all_reduce" in str(op))
    with CommDebugMode() as seen:
        y = block(x)
        forward = reduces(seen)
        y.sum().backward()
    gathers = sum(n for op, n in seen.get_comm_counts().items() if "all_gather" in str(op))
    return forward, reduces(seen) - forward, gathers, y.numel()


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))
    block, linear = counts(mesh, once=True), counts(mesh, once=False)
    if rank == 0:
        for name, value in zip(("forward_reduces", "backward_reduces", "gathers", "elements"), block):
            print(f"{name} = {value}")
        print(f"change.forward_reduces = {linear[0]}")  # a wrapper for each Linear
        print(f"change.backward_reduces = {linear[1]}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
