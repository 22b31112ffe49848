"""How often does FSDP gather? Five layers, five units, four ranks. PyTorch 2.15, CPU, gloo."""
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def collectives(function):
    """The collectives of one call: how many all_gathers, how many reduce_scatters."""
    with CommDebugMode() as comms:
        result = function()
    counts = {str(op): n for op, n in comms.get_comm_counts().items()}
    gathers = sum(n for op, n in counts.items() if "allgather" in op)
    scatters = sum(n for op, n in counts.items() if "reduce_scatter" in op)
    return result, gathers, scatters


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(5)))
    for layer in model:
        fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    fully_shard(model, mesh=mesh)

    for _ in range(2):
        model.zero_grad()
        loss, forward_gathers, _ = collectives(lambda: model(torch.randn(2, 8)).square().mean())
        _, backward_gathers, scatters = collectives(lambda: loss.backward())

    if rank == 0:
        print("forward_gathers =", forward_gathers)
        print("backward_gathers =", backward_gathers)
        print("gathers =", forward_gathers + backward_gathers)
        print("scatters =", scatters)
        print("shard =", sum(p.to_local().numel() for p in model[1].parameters()))
        print("whole =", sum(p.numel() for p in model[1].parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
