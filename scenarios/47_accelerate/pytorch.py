"""What Accelerate's five lines turn on, written out in plain PyTorch 2.15 on 2 processes."""

import os
import socket
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

RANKS, ACCUMULATE = 2, 2
reductions = []  # one entry an all_reduce of gradients


def count_and_average(_, bucket):
    reductions.append(bucket.buffer().numel())
    return dist.all_reduce(bucket.buffer().div_(RANKS), async_op=True).get_future().then(lambda f: f.value()[0])


def my_batches(data, batch_size, rank):
    """prepare(loader): every RANKS-th batch; indices begin anew at the front where they do not come out even."""
    indices = list(range(len(data)))
    indices += indices[: -len(indices) % RANKS]
    batches = [indices[i : i + batch_size] for i in range(0, len(indices), batch_size)]
    return DataLoader(data, batch_sampler=batches[rank::RANKS])


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)  # Accelerator()
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(24, 10), torch.randn(24, 5))
    model = DDP(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))  # prepare(model)
    model.register_comm_hook(None, count_and_average)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    steps = 0
    for i, (x, y) in enumerate(my_batches(data, 2, rank)):
        last = (i + 1) % ACCUMULATE == 0
        with nullcontext() if last else model.no_sync():  # accumulate(model)
            (nn.functional.mse_loss(model(x), y) / ACCUMULATE).backward()  # accelerator.backward(loss)
        if last:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1

    evaluation = TensorDataset(torch.arange(5))
    mine = torch.cat([batch[0] for batch in my_batches(evaluation, 1, rank)])
    gathered = torch.empty(RANKS * len(mine), dtype=mine.dtype)
    dist.all_gather_into_tensor(gathered, mine)
    kept = gathered.view(RANKS, -1).T.flatten()[: len(evaluation)]  # gather_for_metrics
    assert kept.tolist() == [0, 1, 2, 3, 4]

    if rank == 0:
        print(f"ranks = {RANKS}")
        print(f"steps = {steps}")
        print(f"reductions = {len(reductions) // steps}")
        print(f"broadcast = {reductions[0]}")
        print(f"gathered = {len(gathered)}")
        print(f"kept = {len(kept)}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=RANKS)
