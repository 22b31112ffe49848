"""What a rank of 8 keeps of a llama between two steps: DDP and FSDP2 in PyTorch 2.15, AdamW, CPU, gloo."""
import copy
import json
import os
import pathlib
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

C = json.loads((pathlib.Path(__file__).parent.parent / "101_config" / "config.json").read_text())
DIM, HIDDEN, VOCAB, RANKS = C["hidden_size"], C["intermediate_size"], C["vocab_size"], 8
KV = DIM // C["num_attention_heads"] * C["num_key_value_heads"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(DIM) for _ in range(2))
        self.qkv = nn.ModuleList(nn.Linear(DIM, n, bias=False) for n in (DIM, KV, KV))
        self.out, self.gate = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, HIDDEN, bias=False)
        self.up, self.down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):  # every weight is used; attention itself keeps nothing between the steps
        h = self.norms[0](x)
        x = x + self.out(self.qkv[0](h)) + (self.qkv[1](h) + self.qkv[2](h)).sum(-1, keepdim=True)
        h = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def kept_after_a_step(model):
    """Elements of parameters, and bytes of them and of AdamW's two averages, on this rank."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    model(torch.randint(VOCAB, (1, 32))).square().mean().backward()
    optimizer.step()
    parameters = [local(p) for p in model.parameters()]
    averages = [local(v) for s in optimizer.state.values() for k, v in s.items() if k != "step"]
    size = sum(t.numel() * t.element_size() for t in parameters + averages)
    return sum(p.numel() for p in parameters), size


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    blocks = [Block() for _ in range(C["num_hidden_layers"])]
    model = nn.Sequential(nn.Embedding(VOCAB, DIM), *blocks, nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False))
    elements, kept = kept_after_a_step(DistributedDataParallel(copy.deepcopy(model)))
    for block in model[1:-2]:
        fully_shard(block)
    shard, shard_kept = kept_after_a_step(fully_shard(model))
    if rank == 0:
        print("ddp.elements =", elements)
        print(f"ddp.kept = {kept:,}")
        print("shard_elements =", shard)
        print(f"kept = {shard_kept:,}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(main, args=(free_port,), nprocs=RANKS)
