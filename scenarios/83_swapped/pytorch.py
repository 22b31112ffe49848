"""Two ranks in the wrong order, and one with the wrong reduce op, under TORCH_DISTRIBUTED_DEBUG=DETAIL."""
import os
import re
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD, ODD = 4, 2
NET1, NET2 = (10, 11), (5, 11)  # rows of the toy model's two units, a bias in each row


def shard(unit):
    """Elements that each rank puts in: its rows, padded to equally many."""
    rows, columns = unit
    return -(-rows // WORLD) * columns


def gather(elements):
    parts = [torch.empty(elements) for _ in range(WORLD)]
    dist.all_gather(parts, torch.zeros(elements))


def main(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    value = torch.ones(2 * WORLD)
    dist.all_reduce(value, op=dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM)
    if rank == 0:
        print("SUM on three ranks, MAX on rank 1, and no error:", value.int().tolist())
    error = ""
    try:
        for unit in (NET2, NET1) if rank == ODD else (NET1, NET2):
            gather(shard(unit))
    except RuntimeError as mismatch:
        error = str(mismatch)
    if rank == ODD:
        shapes = [int(n) for n in re.findall(r"TensorShape=\[(\d+)\]", error)]
        print(f"odd = {shapes[0]}")
        print(f"theirs = {shapes[1]}")
        print(f"odd_out = {WORLD * shapes[0]}")
        print(f"theirs_out = {WORLD * shapes[1]}")
        print(error.split(":")[0], "...", flush=True)
    os._exit(0)


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
