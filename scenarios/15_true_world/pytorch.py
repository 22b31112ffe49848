"""A (2, 2, 2) mesh with 6, 8 and 9 processes. Run: python pytorch.py"""
import os
import socket

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

SHAPE, NAMES = (2, 2, 2), ("replicate", "shard", "tp")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("gloo")
    try:
        mesh = init_device_mesh("cpu", SHAPE, mesh_dim_names=NAMES)
    except RuntimeError as refused:
        if rank == 0:
            print(f"# {world} processes: {refused}")
        dist.destroy_process_group()
        return

    coordinate = mesh.get_coordinate()  # None outside of the mesh
    mine = [] if coordinate is None else [dist.get_process_group_ranks(g) for g in mesh.get_all_groups()]
    seen = [None] * world
    dist.all_gather_object(seen, (coordinate, mine))
    if rank == 0 and world == 9:
        inside = [c for c, _ in seen if c is not None]
        print("world =", world)
        print("needed =", len(inside))
        print("idle =", ",".join(str(r) for r, (c, _) in enumerate(seen) if c is None))
        print("coordinate7 =", seen[7][0])
        print("lost_groups =", len({tuple(group) for r in (6, 7) for group in seen[r][1]}))
    dist.destroy_process_group()


if __name__ == "__main__":
    for world in (6, 8, 9):
        mp.spawn(run, args=(world, free_port()), nprocs=world)
