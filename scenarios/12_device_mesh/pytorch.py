"""The lesson's mesh in PyTorch 2.15: 8 ranks, (2, 4), its groups and a slice. Run: python pytorch.py"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

WORLD = 8


def text(rank_lists):
    """Each group once, by its first rank, as the lesson prints them."""
    unique = sorted({tuple(ranks) for ranks in rank_lists})
    return " ".join(str(list(ranks)) for ranks in unique)


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)

    # One line makes the groups of both dims.
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))
    mine = {name: dist.get_process_group_ranks(mesh.get_group(name)) for name in mesh.mesh_dim_names}

    # A slice keeps the coordinate of the rank that asks: rank 5 gets its own row, not row 0.
    mine["slice"] = mesh["shard"].mesh.tolist()

    # The sum over a group shows who is in it: every rank adds 2 to the power of its own number.
    bits = torch.tensor([2**rank])
    dist.all_reduce(bits, group=mesh.get_group("replicate"))
    mine["summed"] = [r for r in range(WORLD) if int(bits) >> r & 1]

    everyone = [None] * WORLD
    dist.all_gather_object(everyone, mine)
    if rank == 0:
        shard = text(one["shard"] for one in everyone)
        replicate = text(one["replicate"] for one in everyone)
        print("shard_groups =", shard)
        print("replicate_groups =", replicate)
        print("groups =", len({tuple(one[d]) for one in everyone for d in ("shard", "replicate")}))
        print("gather_ranks =", everyone[5]["slice"])
        print("first_row =", everyone[0]["slice"])
        print("reduce_ranks =", everyone[5]["summed"])
        print("world =", dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
