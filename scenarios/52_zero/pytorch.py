"""ZeRO's stages 0, 1 and 3 in PyTorch 2.15 on 4 ranks: DDP, ZeroRedundancyOptimizer, fully_shard (FSDP2)."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

RANKS, DIM, HIDDEN, LAYERS = 4, 16, 32, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def size(tensors):
    return sum(local(t).numel() * t.element_size() for t in tensors)


def one_step(model, optimizer):
    """Bytes on this rank: parameters, gradients, Adam's two averages."""
    nn.functional.mse_loss(model(torch.randn(2, DIM)), torch.randn(2, DIM)).backward()
    gradients = size(p.grad for p in model.parameters())
    optimizer.step()
    inner = getattr(optimizer, "optim", optimizer)  # ZeroRedundancyOptimizer keeps this rank's own in it
    adam = size(v for s in inner.state.values() for k, v in s.items() if k != "step")
    return size(model.parameters()), gradients, adam


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)

    def make():
        torch.manual_seed(1)
        return nn.Sequential(*[Layer() for _ in range(LAYERS)])

    ddp = DDP(make())
    stage0 = one_step(ddp, torch.optim.Adam(ddp.parameters(), lr=0.01))
    ddp = DDP(make())
    stage1 = one_step(ddp, ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.Adam, lr=0.01))
    sharded = make()
    for layer in sharded:
        fully_shard(layer)
    stage3 = one_step(fully_shard(sharded), torch.optim.Adam(sharded.parameters(), lr=0.01))

    of_all = torch.tensor([stage1[2]])  # whole parameters go to the least loaded rank, so shares differ a little
    dist.all_reduce(of_all)
    if rank == 0:
        print(f"count = {sum(p.numel() for p in make().parameters()):,}")
        print(f"zero.parameters = {stage0[0]:,}")
        print(f"zero.gradients = {stage0[1]:,}")
        print(f"zero.adam = {stage0[2]:,}")
        print(f"parameters = {stage1[0]:,}")
        print(f"adam = {of_all.item() // RANKS:,}")
        print(f"change.parameters = {stage3[0]:,}")
        print(f"change.gradients = {stage3[1]:,}")
        print(f"change.adam = {stage3[2]:,}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=RANKS)
