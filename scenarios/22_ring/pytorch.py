"""An all_reduce in a ring, built from send and recv, beside PyTorch's own. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 4
ELEMENTS = 256


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ring_all_reduce(buffer, rank):
    """In place; returns what this rank sent in each round, in bytes."""
    chunks = list(buffer.chunk(WORLD))
    right, left = (rank + 1) % WORLD, (rank - 1) % WORLD
    sent = []

    def exchange(give, take, add):
        incoming = torch.empty_like(chunks[take])
        work = dist.isend(chunks[give].clone(), right)
        dist.recv(incoming, left)
        work.wait()
        sent.append(chunks[give].nbytes)
        if add:
            chunks[take] += incoming
        else:
            chunks[take].copy_(incoming)

    for i in range(WORLD - 1):  # reduce_scatter: rank r ends with chunk r
        exchange((rank - 1 - i) % WORLD, (rank - 2 - i) % WORLD, add=True)
    for i in range(WORLD - 1):  # all_gather
        exchange((rank - i) % WORLD, (rank - 1 - i) % WORLD, add=False)
    return sent


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    torch.manual_seed(rank)
    gradients = torch.randint(-9, 9, (ELEMENTS,)).float()  # whole numbers: any order of adding gives the same

    whole = gradients.clone()
    dist.all_reduce(whole)

    mine = gradients.clone()
    sent = ring_all_reduce(mine, rank)
    assert torch.equal(mine, whole)

    # The same as two calls of PyTorch.
    part = torch.empty(ELEMENTS // WORLD)
    dist.reduce_scatter_tensor(part, gradients)
    gathered = torch.empty(ELEMENTS)
    dist.all_gather_into_tensor(gathered, part)
    assert torch.equal(gathered, whole)

    if rank == 0:
        print("elements =", gradients.numel())
        print(f"buffer = {gradients.nbytes:,}")
        print("chunk =", sent[0])
        print("rounds =", len(sent))
        print(f"sent = {sum(sent):,}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(free_port(),), nprocs=WORLD)
