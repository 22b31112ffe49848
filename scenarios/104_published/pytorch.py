"""Rank 0's share of a llama on a (pp 2, shard 2, tp 2) mesh and under FSDP2 alone. PyTorch 2.15, CPU, gloo."""
import json
import os
import pathlib
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

C = json.loads((pathlib.Path(__file__).parent.parent / "101_config" / "config.json").read_text())
DIM, HIDDEN, VOCAB, LAYERS = C["hidden_size"], C["intermediate_size"], C["vocab_size"], C["num_hidden_layers"]
KV = DIM // C["num_attention_heads"] * C["num_key_value_heads"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.wq, self.wo = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.wk, self.wv = nn.Linear(DIM, KV, bias=False), nn.Linear(DIM, KV, bias=False)
        self.gate, self.up = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(DIM, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, DIM, bias=False)


PLAN = {
    **{name: ColwiseParallel() for name in ("wq", "wk", "wv", "gate", "up")},
    **{name: RowwiseParallel() for name in ("wo", "down")},
}


def stage(first, last):
    """The layers from `first` to before `last`, with the table of words or the norm and head at the ends."""
    parts = [nn.Embedding(VOCAB, DIM)] if first == 0 else []
    parts += [Block() for _ in range(first, last)]
    if last == LAYERS:
        parts += [nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)]
    return nn.Sequential(*parts)


def shard(model, mesh):
    for part in model:
        if isinstance(part, Block):
            fully_shard(part, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def own_elements(model):
    return sum(p.to_local().numel() for p in model.parameters())


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=8)
    cube = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "shard", "tp"))
    line = init_device_mesh("cpu", (8,), mesh_dim_names=("shard",))

    half = cube.get_local_rank("pp")
    model = stage(half * LAYERS // 2, (half + 1) * LAYERS // 2)
    for part in model:
        if isinstance(part, Block):
            parallelize_module(part, cube["tp"], PLAN)
    shard(model, cube["shard"])
    alone = shard(stage(0, LAYERS), line)
    if rank == 0:
        print("elements =", own_elements(model))
        print("fsdp.elements =", own_elements(alone))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(main, args=(free_port,), nprocs=8)
