"""Four processes on two pretended nodes: who is who. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

NODES, PER_NODE = 2, 2
WORLD = NODES * PER_NODE


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def launch(index, port):
    # What torchrun would set for the process `local_rank` of the node `node_rank`.
    node_rank, local_rank = divmod(index, PER_NODE)
    os.environ.update(
        RANK=str(node_rank * PER_NODE + local_rank),
        WORLD_SIZE=str(WORLD),
        LOCAL_RANK=str(local_rank),
        MASTER_ADDR="127.0.0.1",  # the node of rank 0
        MASTER_PORT=str(port),
    )
    train()


def train():
    # From here on nothing but the five variables says who this process is.
    dist.init_process_group("gloo", init_method="env://")
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])

    torch.manual_seed(rank)  # every process draws other first weights ...
    net = torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.ReLU(), torch.nn.Linear(10, 5))
    before = net[0].weight.detach().clone()
    model = DDP(net)  # ... and takes rank 0's here
    took_over = not torch.equal(before, net[0].weight)
    loss = model(torch.randn(2, 10)).square().mean()
    loss.backward()  # all_reduce of the gradients

    who = [None] * dist.get_world_size()
    dist.all_gather_object(who, (rank, local_rank, took_over))
    if rank == 0:
        print("world =", dist.get_world_size())
        print("last_rank =", max(r for r, _, _ in who))
        print("local3 =", next(local for r, local, _ in who if r == 3))
        print("root =", next(r for r, _, changed in who if not changed))
        print("parameters =", sum(p.numel() for p in net.parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(launch, args=(free_port(),), nprocs=WORLD)
