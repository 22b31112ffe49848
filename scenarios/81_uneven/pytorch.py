"""3, 3, 3 and 2 batches: first as it hangs, under DETAIL and a time-out of seconds, then with DDP's Join."""
import datetime
import os
import re
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

WORLD, BATCHES = 4, (3, 3, 3, 2)


def start(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(rank)
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))


def backward(model):
    nn.functional.mse_loss(model(torch.randn(2, 10)), torch.randn(2, 5)).backward()


def hang(rank, port):
    """Data parallelism by hand: one all_reduce of all gradients a step."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)  # as TORCH_DISTRIBUTED_DEBUG=DETAIL
    toy = start(rank, port)
    group = dist.new_group(timeout=datetime.timedelta(seconds=10))  # 30 minutes by default
    finished, error = 0, ""
    for _ in range(BATCHES[rank]):
        toy.zero_grad()
        backward(toy)
        gradients = torch.cat([p.grad.flatten() for p in toy.parameters()])
        try:
            dist.all_reduce(gradients, group=group)
        except RuntimeError as problem:
            error = str(problem)
            break
        finished += 1
    if rank == 0:
        print(f"finished = {finished}")
        print(f"elements = {gradients.numel()}")
        print("culprit =", re.search(r"Ranks (\S+) failed to pass", error).group(1))
        print("rank 0 saw:", error, flush=True)
    if not error:
        time.sleep(15)  # this rank's loop is over; it lives on and takes part in nothing
    os._exit(0)  # after a time-out the group cannot be shut down in order


def join(rank, port):
    model = DistributedDataParallel(start(rank, port))
    computed = 0
    with Join([model]):
        for _ in range(BATCHES[rank]):
            backward(model)
            computed += 1
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, computed)
    if rank == 0:
        print("with Join all came to the end; batches computed:", everyone)
    dist.destroy_process_group()


if __name__ == "__main__":
    for work in (hang, join):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(work, args=(port,), nprocs=WORLD)
