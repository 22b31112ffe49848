"""HSDP of the toy model on a (2, 2) mesh in PyTorch 2.15, one unit a Linear. Run: python pytorch.py"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils._python_dispatch import TorchDispatchMode

WORLD = 4


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


class Collectives(TorchDispatchMode):
    """Writes down every collective: its op, how many elements go in, how many come out."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            name = func.__name__.split(".")[0]
            tensors = [a[0] if isinstance(a, list) else a for a in args[:2]]
            sizes = [t.numel() for t in tensors if isinstance(t, torch.Tensor)]
            self.calls.append((name, sizes[-1], sizes[0]))  # the output stands first
        return func(*args, **(kwargs or {}))

    def of(self, word):
        return [call for call in self.calls if word in call[0]]


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))

    torch.manual_seed(1)
    model = ToyModel()
    for layer in (model.net1, model.net2):  # one unit each
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        torch.manual_seed(rank)  # each rank has samples of its own
        loss = nn.functional.mse_loss(model(torch.randn(2, 10)), torch.randn(2, 5))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with Collectives() as recorded:
        step()

    if rank == 0:
        gathers, scatters = recorded.of("allgather"), recorded.of("reduce_scatter")
        reduces = recorded.of("allreduce")
        ring = lambda n: (n - 1) / n  # what a rank sends of a buffer, in a ring of n
        inside = ring(2) * 4 * (sum(out for _, _, out in gathers) + sum(into for _, into, _ in scatters))
        across = 2 * ring(2) * 4 * sum(into for _, into, _ in reduces)
        print("gathers =", len(gathers))
        print("net1_in =", gathers[0][1])
        print("net1_out =", gathers[0][2])
        print("net2_in =", gathers[1][1])
        print(f"inside_bytes = {inside:,.0f}")
        print(f"across_bytes = {across:.0f}")
        print("shard_group =", dist.get_process_group_ranks(mesh.get_group("shard")))
        print("replicate_group =", dist.get_process_group_ranks(mesh.get_group("replicate")))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
