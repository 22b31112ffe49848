"""One gpt under DDP, FSDP and TP: what a rank keeps, and how often it talks. PyTorch 2.15, CPU, gloo."""
import copy
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, parallelize_module

DIM, HIDDEN, BLOCKS, HEADS, VOCAB, SEQ = 64, 256, 8, 8, 64, 32


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, _ = x.shape  # -1: under TP a rank has its own heads only
        q, k, v = (w(x).view(b, t, -1, DIM // HEADS).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        up, down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)
        self.ln1, self.attn = nn.LayerNorm(DIM), Attention()
        self.ln2, self.mlp = nn.LayerNorm(DIM), nn.Sequential(up, nn.GELU(approximate="tanh"), down)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(SEQ, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.ln_f, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(SEQ))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def talk(model, samples):
    """The collectives of one forward and backward, by name, and the elements of parameters on this rank."""
    with CommDebugMode() as comms:
        model(torch.randint(VOCAB, (samples, SEQ))).square().mean().backward()
    counts = {str(op).split(".")[-1].replace("_", ""): n for op, n in comms.get_comm_counts().items()}
    return counts, sum((p.to_local() if isinstance(p, DTensor) else p).numel() for p in model.parameters())


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = Gpt()

    fsdp, mesh = copy.deepcopy(model), init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    for unit in (*fsdp.blocks, fsdp):  # eight blocks, and the root with the rest
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    fsdp_counts, fsdp_kept = talk(fsdp, 1)

    tp, mesh = copy.deepcopy(model), init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
    once = PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),))
    columns = {f"attn.{w}": ColwiseParallel() for w in ("wq", "wk", "wv")}
    for block in tp.blocks:
        plan = {"attn": once, "mlp": once, **columns, "mlp.0": ColwiseParallel()}
        parallelize_module(block, mesh, {**plan, "attn.wo": RowwiseParallel(), "mlp.2": RowwiseParallel()})
    tp_counts, _ = talk(tp, world)

    if rank == 0:
        print("parameter_elements =", sum(p.numel() for p in model.parameters()))
        print("fsdp.shard_elements =", fsdp_kept)
        print("fsdp.gathers =", fsdp_counts["allgatherbase"])
        print("fsdp.scatters =", fsdp_counts["reducescatterbase"])
        print("tp.reduces =", tp_counts["allreduce"])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(8, port), nprocs=8)
