"""Slices by two names: which order PyTorch takes, and what a flattened slice holds. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

WORLD = 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("replicate", "shard", "cp"))

    # In mesh order it works ...
    flat = mesh["shard", "cp"]._flatten()
    # ... in the other order it is refused, though the docstring shows such a line.
    try:
        mesh["cp", "shard"]
        raise AssertionError("PyTorch took the names in the other order")
    except KeyError as refused:
        if rank == 0:
            print("#", refused.args[0])

    # A group that is there already can be made a mesh again, and a dim can be taken apart; neither turns anything.
    assert torch.equal(DeviceMesh.from_group(flat.get_group(), "cpu").mesh, flat.mesh)
    assert mesh._unflatten(0, (2, 1), ("outer", "inner")).shape == (2, 1, 2, 2)

    mine = {
        "flat": dist.get_process_group_ranks(flat.get_group()),
        "place": flat.get_local_rank(),
        "coordinate": mesh.get_coordinate(),
        "local": mesh.get_local_rank("cp"),
        "groups": [dist.get_process_group_ranks(g) for g in mesh.get_all_groups()],
        "cp": dist.get_process_group_ranks(mesh.get_group("cp")),
    }
    seen = [None] * WORLD
    dist.all_gather_object(seen, mine)
    if rank == 0:
        print("ndim =", mesh.ndim)
        print("shape =", tuple(mesh.shape))
        print("size1 =", mesh.size(1))
        print("coordinate5 =", seen[5]["coordinate"])
        print("local5 =", seen[5]["local"])
        print("all_groups5 =", *seen[5]["groups"])
        print("flat5 =", seen[5]["flat"])
        print("cp5 =", seen[5]["cp"])
        print("place5 =", seen[5]["place"])
        print("place6 =", seen[6]["place"])
        print("flat_groups =", len({tuple(one["flat"]) for one in seen}))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(free_port(),), nprocs=WORLD)
