"""The groups of a (4, 2) mesh: PyTorch's own, and by the reshape rule. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

SHAPE, NAMES = (4, 2), ("pp", "tp")
WORLD = 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def by_hand(dim):
    """Move the dim last, reshape to rows of its size: each row is a group."""
    ranks = torch.arange(WORLD).view(SHAPE)
    return ranks.movedim(dim, -1).reshape(-1, SHAPE[dim]).tolist()


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", SHAPE, mesh_dim_names=NAMES)

    mine = {name: dist.get_process_group_ranks(mesh.get_group(name)) for name in NAMES}
    for dim, name in enumerate(NAMES):
        assert mine[name] in by_hand(dim), "the rule and PyTorch agree on every rank"

    seen = [None] * WORLD
    dist.all_gather_object(seen, (list(mesh.get_coordinate()), mine))
    if rank == 0:
        coordinate, groups = seen[5]
        print("coordinate5 =", coordinate)
        print("tp5 =", groups["tp"])
        print("pp5 =", groups["pp"])
        print("pp2 =", seen[2][1]["pp"])
        print("tp_groups =", *by_hand(1))
        print("pp_groups =", *by_hand(0))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(free_port(),), nprocs=WORLD)
