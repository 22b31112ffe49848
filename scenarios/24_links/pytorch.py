"""HSDP on two pretended nodes: what goes over which link, and the time-outs of the backends. Run: python pytorch.py"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.constants import default_pg_timeout
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils._python_dispatch import TorchDispatchMode

WORLD = 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(128, 512, bias=False)
        self.down = nn.Linear(512, 128, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


class Sizes(TorchDispatchMode):
    """Elements that go into each collective and come out of it."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            tensors = [a[0] if isinstance(a, list) else a for a in args[:2]]
            sizes = [t.numel() for t in tensors if isinstance(t, torch.Tensor)]
            self.calls.append((func.__name__, sizes[-1], sizes[0]))  # the output stands first
        return func(*args, **(kwargs or {}))


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD, timeout=default_pg_timeout)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(1)
    model = nn.Sequential(Layer())
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    with Sizes() as seen:
        model(torch.randn(2, 128)).square().mean().backward()

    if rank == 0:
        name, piece, whole = next(call for call in seen.calls if "allgather" in call[0])
        _, shard, _ = next(call for call in seen.calls if "allreduce" in call[0])
        print(f"# gloo waits {default_pg_timeout} by default")
        print(f"piece = {piece:,}")
        print(f"whole = {whole:,}")
        print(f"inside_kb = {4 * piece / 1000:.0f}")  # a ring of two: each sends its own piece
        print(f"across_kb = {2 * 4 * (shard // 2) / 1000:.0f}")  # two hops of half the shard
        print("shard_group =", dist.get_process_group_ranks(mesh.get_group("shard")))
        print("replicate_group =", dist.get_process_group_ranks(mesh.get_group("replicate")))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
