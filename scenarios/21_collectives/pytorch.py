"""Every collective with small numbers, in PyTorch with gloo. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed import ReduceOp

WORLD = 4


def text(tensor):
    """As the lesson writes numbers: [1, 2.5]."""
    return "[" + ", ".join(f"{x:g}" for x in tensor.flatten().tolist()) + "]"


def collect(rank):
    pair = dist.new_group([0, 1])  # called by every rank, also by those that are not in it
    row = torch.arange(4.0) + 1 + 4 * rank
    result = {}
    if rank < 2:
        example = torch.arange(2.0) + 1 + 2 * rank
        result["start"] = text(example)
        both = torch.empty(4)
        dist.all_gather_into_tensor(both, example, group=pair)
        result["gather"] = text(both)
        dist.all_reduce(example, group=pair)
        result["sum"] = text(example)

    x = row.clone()
    dist.broadcast(x, src=0)
    result["broadcast"] = text(x)
    x = torch.empty(1)
    dist.scatter(x, list(row.split(1)) if rank == 0 else None, src=0)
    result["scatter"] = text(x)
    x = row.clone()
    dist.reduce(x, dst=0)
    result["reduce"] = text(x)
    one, parts = torch.tensor([rank + 1.0]), [torch.empty(1) for _ in range(WORLD)]
    dist.gather(one, parts if rank == 0 else None, dst=0)
    result["gathered"] = text(torch.cat(parts))
    x = torch.empty(WORLD)
    dist.all_gather_into_tensor(x, one)
    result["all_gather"] = text(x)
    x = row.clone()
    dist.all_reduce(x)
    result["all_reduce"] = text(x)
    x = torch.empty(1)
    dist.reduce_scatter_tensor(x, row)
    result["part"] = f"{x.item():g}"
    x = torch.empty(4)
    dist.all_to_all_single(x, row)
    result["exchange"] = text(x)
    if rank == 1:
        dist.send(row, dst=3)
    if rank == 3:
        x = torch.empty(4)
        dist.recv(x, src=1)
        result["received"] = text(x)
    dist.barrier()

    for op in ("SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR"):  # PREMUL_SUM needs nccl
        x = torch.tensor([rank + 1], dtype=torch.int32 if op[0] == "B" else torch.float32)
        dist.all_reduce(x, getattr(ReduceOp, op))
        result["sum_of_all" if op == "SUM" else op.lower()] = f"{x.item():g}"
    return result


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, collect(rank))
    if rank == 0:
        for what, r in (("start", 0), ("start", 1), ("gather", 0), ("gather", 1), ("sum", 1), ("broadcast", 3),
                        ("scatter", 2), ("reduce", 0), ("gathered", 0), ("all_gather", 3), ("all_reduce", 3),
                        ("part", 2), ("exchange", 0), ("exchange", 1), ("received", 3)):
            print(f"{what}{r} =", everyone[r][what])
        for op in ("sum_of_all", "product", "min", "max", "avg", "band", "bor", "bxor"):
            print(op, "=", everyone[0][op])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
