"""Does rank 0 broadcast averaged gradients in every DDP step? PyTorch 2.15's profiler and a hook answer."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.profiler import ProfilerActivity, profile

RANKS, STEPS = 4, 3
buffers = []  # (gradients before, gradients after) of each all_reduce


def watch(_, bucket):
    before = bucket.buffer().clone()

    def keep(done):
        buffers.append((before, done.value()[0].clone()))
        return done.value()[0]

    work = dist.all_reduce(bucket.buffer().div_(RANKS), async_op=True)
    return work.get_future().then(keep)


def different(mine):
    """How many different tensors the ranks hold."""
    everyones = [torch.empty_like(mine) for _ in range(RANKS)]
    dist.all_gather(everyones, mine)
    return len({tuple(t.tolist()) for t in everyones})


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)
    model = DDP(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))
    model.register_comm_hook(None, watch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for _ in range(STEPS):
        with profile(activities=[ProfilerActivity.CPU]) as recorded:
            nn.functional.mse_loss(model(torch.randn(2, 10)), torch.randn(2, 5)).backward()
            optimizer.step()
            optimizer.zero_grad()
    calls = [e.name for e in recorded.events() if e.name.startswith("c10d::")]  # of step 2

    before, after = buffers[-1]
    distinct_in, distinct_out = different(before), different(after)
    if rank == 0:
        print(f"calls = {len(calls)}")
        print(f"float_broadcasts = {sum('broadcast' in name for name in calls)}")
        print(f"elements = {before.numel()}")
        print(f"distinct_in = {distinct_in}")
        print(f"distinct_out = {distinct_out}")
        assert calls == ["c10d::allreduce_"]
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=RANKS)
