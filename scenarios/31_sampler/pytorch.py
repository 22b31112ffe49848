"""DistributedSampler in PyTorch 2.15: which samples do 2 ranks take of 11?"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, RANKS = 11, 2


def epoch_of(sampler, data):
    """The samples of one epoch, batch by batch, as this rank's DataLoader hands them out."""
    return [int(batch[0]) for batch in DataLoader(data, batch_size=1, sampler=sampler)]


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)

    data = TensorDataset(torch.arange(SAMPLES))
    mine = epoch_of(DistributedSampler(data, shuffle=False), data)
    lists = [None] * RANKS
    dist.all_gather_object(lists, mine)

    shuffled = DistributedSampler(data, shuffle=True, seed=0)
    first = epoch_of(shuffled, data)
    forgotten = epoch_of(shuffled, data)  # nobody called set_epoch
    shuffled.set_epoch(1)
    assert first == forgotten and first != epoch_of(shuffled, data)
    assert list(DistributedSampler(range(12), 4, 0, shuffle=False)) == [0, 4, 8]
    assert len(DistributedSampler(data, shuffle=False, drop_last=True)) == 5

    if rank == 0:
        print(f"each = {len(mine)}")
        print(f"dealt = {sum(map(len, lists))}")
        print(f"different = {len(set(sum(lists, [])))}")
        print(f"list0 = {lists[0]}")
        print(f"list1 = {lists[1]}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=RANKS)
