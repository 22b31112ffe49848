"""What every rank sees when all slice a (2, 2, 2) mesh with the same line. Run: python pytorch.py"""
import os
import socket

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

WORLD = 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("replicate", "shard", "tp"))

    # The same line on every rank.
    sheet = mesh["replicate", "shard"].mesh.tolist()

    def members(name):
        return dist.get_process_group_ranks(mesh.get_group(name))

    seen = [None] * WORLD
    dist.all_gather_object(seen, {"sheet": sheet, **{n: members(n) for n in mesh.mesh_dim_names}})
    if rank == 0:
        for r, what in enumerate(seen):
            print(f"rank {r}: {what['sheet']}, tp group {what['tp']}")
        assert all(r in sum(what["sheet"], []) for r, what in enumerate(seen))
        print("sheet0 =", seen[0]["sheet"])
        print("sheet3 =", seen[3]["sheet"])
        print("shard3 =", seen[3]["shard"])
        print("replicate3 =", seen[3]["replicate"])
        print("tp6 =", seen[6]["tp"])
        print("tp_groups =", len({tuple(what["tp"]) for what in seen}))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(free_port(),), nprocs=WORLD)
