"""Zero first: rank 0 "downloads" a file, the others wait and then read it. Run: python pytorch.py"""
import os
import pathlib
import socket
import tempfile
import time

import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 4
BYTES = 4_000_000


def load(path, did):
    if path.exists():
        did.append("read")
        return path.read_bytes()
    did.append("download")
    time.sleep(0.5)  # the network
    path.write_bytes(bytes(BYTES))
    return path.read_bytes()


def barrier(did):
    did.append("barrier")
    dist.barrier()


def worker(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    path, did = pathlib.Path(folder) / "dataset.bin", []

    if rank > 0:
        barrier(did)
    data = load(path, did)
    if rank == 0:
        barrier(did)

    assert len(data) == BYTES
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, did)
    if rank == 0:
        print("ranks =", WORLD)
        print("downloads =", sum(one.count("download") for one in everyone))
        print("reads =", sum(one.count("read") for one in everyone))
        print("barriers =", max(one.count("barrier") for one in everyone))
        print(f"megabytes = {len(data) / 1e6:.0f}")
        print("order0 =", ", ".join(everyone[0]))
        print("order3 =", ", ".join(everyone[3]))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(free_port, folder), nprocs=WORLD)
