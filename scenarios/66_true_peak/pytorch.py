"""How much of the model is whole at once? Ten layers, four ranks. PyTorch 2.15, CPU, gloo."""
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(10)))
    unit = sum(p.numel() * p.element_size() for p in model[0].parameters())
    for module in (*model, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    tracker = FSDPMemTracker(model, optimizer)  # PyTorch's own account of what memory holds, and why
    with tracker:
        for _ in range(2):
            model(torch.randn(2, 16)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    peak = next(iter(tracker.get_tracker_snapshot("peak").values()))
    peak = {str(kind).split(".")[-1]: size for kind, size in peak.items()}

    if rank == 0:
        print("unit_bytes =", unit)
        print("model_bytes =", unit * len(model))
        print("gathered =", peak["UNSHARDED_PARAM"] + peak["ALL_GATHER"])
        print("shards_bytes =", peak["SHARDED_PARAM"])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
