"""DDP's buckets in PyTorch 2.15, seen by a communication hook on 2 ranks; gradients accumulate under no_sync."""

import os
import socket
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

RANKS, STEPS, MICRO_BATCHES, DIM = 2, 3, 2, 256
reduced = []  # element count of each bucket, in the order of its all_reduce


def average(_, bucket):
    """What DDP does without a hook: divide by the number of ranks, then sum."""
    reduced.append(bucket.buffer().numel())
    work = dist.all_reduce(bucket.buffer().div_(RANKS), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)  # different weights: DDP broadcasts rank 0's
    model = DDP(nn.Sequential(*[Layer() for _ in range(3)]))
    model.register_comm_hook(None, average)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    of_step = []
    for _ in range(STEPS):
        for m in range(MICRO_BATCHES):
            last = m == MICRO_BATCHES - 1
            x, y = torch.randn(2, 2, DIM)
            with nullcontext() if last else model.no_sync():
                nn.functional.mse_loss(model(x), y).backward()
            of_step.append(list(reduced))
            reduced.clear()
        optimizer.step()
        optimizer.zero_grad()

    if rank == 0:
        print(f"first = {of_step[1][0]:,}")
        print(f"quiet = {len(of_step[2])}")
        print(f"buckets = {len(of_step[3])}")
        print(f"bucket0 = {of_step[3][0]:,}")
        print(f"bucket1 = {of_step[3][1]:,}")
        assert of_step[5] == of_step[3]
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=RANKS)
