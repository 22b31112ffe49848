"""An all_reduce of 8 ranks as a star, a tree and a ring, and what each rank sends. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 8
ELEMENTS = 256
sent = 0


def send(x, to):
    global sent
    sent += x.nbytes
    return dist.isend(x.clone(), to)


def take(like, source):
    incoming = torch.empty_like(like)
    dist.recv(incoming, source)
    return incoming


def star(x, rank):
    if rank == 0:
        for r in range(1, WORLD):
            x += take(x, r)
        for work in [send(x, r) for r in range(1, WORLD)]:
            work.wait()
    else:
        send(x, 0).wait()
        x.copy_(take(x, 0))


def tree(x, rank):
    step = 1
    while step < WORLD and rank % (2 * step) == 0:  # add up what the partners below have
        x += take(x, rank + step)
        step *= 2
    if rank:
        send(x, rank - step).wait()
        x.copy_(take(x, rank - step))
    while step > 1:
        step //= 2
        send(x, rank + step).wait()


def ring(x, rank):
    chunks = x.chunk(WORLD)
    for i in range(2 * (WORLD - 1)):  # first half adds, second half copies
        work = send(chunks[(rank - i) % WORLD], (rank + 1) % WORLD)
        incoming = take(chunks[0], (rank - 1) % WORLD)
        work.wait()
        target = chunks[(rank - 1 - i) % WORLD]
        target.copy_(target + incoming if i < WORLD - 1 else incoming)


def run(rank, port):
    global sent
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    gradients = torch.arange(ELEMENTS).float() + rank
    expected = gradients.clone()
    dist.all_reduce(expected)
    for name, algorithm in ("star", star), ("tree", tree), ("ring", ring):
        sent, mine, everyone = 0, gradients.clone(), [None] * WORLD
        algorithm(mine, rank)
        assert torch.equal(mine, expected)
        dist.all_gather_object(everyone, sent)
        if rank == 0 and name == "star":
            print(f"buffer = {mine.nbytes:,}\nroot_sent = {everyone[0]:,}\nother_sent = {everyone[3]:,}")
        elif rank == 0:
            print(f"{name}.sent = {max(everyone):,}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(run, args=(free_port,), nprocs=WORLD)
