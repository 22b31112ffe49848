"""What FSDP's options change in calls and bytes. Six layers, four ranks. PyTorch 2.15, CPU, gloo."""
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils._python_dispatch import TorchDispatchMode


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.down = nn.Linear(64, 32)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


class Traffic(TorchDispatchMode):
    """Calls of each collective, and the bytes a rank sends in a ring: (n-1)/n of the full buffer."""

    def __init__(self, world):
        super().__init__()
        self.world, self.calls, self.bytes = world, {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for op in ("_allgather_base_", "_reduce_scatter_base_"):
            if op in str(func):
                full = max(args[:2], key=lambda tensor: tensor.numel())
                self.calls[op] = self.calls.get(op, 0) + 1
                sent = full.numel() * full.element_size() * (self.world - 1) // self.world
                self.bytes[op] = self.bytes.get(op, 0) + sent
        return func(*args, **(kwargs or {}))


def step_of(mesh, accumulate=1, **options):
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(6)))
    options = {"reshard_after_forward": True, **options}
    for unit in (*model, model):
        fully_shard(unit, mesh=mesh, **options)
    with Traffic(mesh.size()) as traffic:
        for micro_batch in range(accumulate):
            model.set_requires_gradient_sync(micro_batch == accumulate - 1)
            (model(torch.randn(4 // accumulate, 32)).square().mean() / accumulate).backward()
    return traffic


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    plain = step_of(mesh)
    bf16 = step_of(mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    accumulated = step_of(mesh, accumulate=4)
    keep = step_of(mesh, reshard_after_forward=False)
    half = step_of(mesh, reshard_after_forward=2)
    if rank == 0:
        gather, scatter = "_allgather_base_", "_reduce_scatter_base_"
        print("gathers =", plain.calls[gather])
        print("scatters =", plain.calls[scatter])
        print("gather_bytes =", plain.bytes[gather])
        print("scatter_bytes =", plain.bytes[scatter])
        print("bf16.gather_bytes =", bf16.bytes[gather])
        print("bf16.scatter_bytes =", bf16.bytes[scatter])
        print("change.gathers =", accumulated.calls[gather])
        print("change.scatters =", accumulated.calls[scatter])
        print("keep.gathers =", keep.calls[gather])
        print("half.gathers =", half.calls[gather])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
