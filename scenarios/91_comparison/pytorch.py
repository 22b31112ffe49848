"""The same model under DDP, FSDP and HSDP: what a rank keeps, and what it calls. PyTorch 2.15, CPU, gloo."""
import copy
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
from torch.nn.parallel import DistributedDataParallel


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.down = nn.Linear(64, 32)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def sharded(model, mesh):
    for unit in (*model, model):
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    return model


def train(model):
    """Three steps; the collectives of the last one by name, and the elements of parameters kept."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        with CommDebugMode() as comms:
            model(torch.randn(4, 32)).square().mean().backward()
        optimizer.step()
    counts = {}
    for op, n in comms.get_comm_counts().items():
        counts[str(op).split(".")[-1].strip("_")] = n
    kept = sum(getattr(p, "to_local", lambda p=p: p)().numel() for p in model.parameters())
    return counts, kept


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(4)))
    line = init_device_mesh("cpu", (4,), mesh_dim_names=("shard",))
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))

    ddp, ddp_kept = train(DistributedDataParallel(copy.deepcopy(model)))
    fsdp, fsdp_kept = train(sharded(copy.deepcopy(model), line))
    hsdp, hsdp_kept = train(sharded(copy.deepcopy(model), grid))

    if rank == 0:
        print("parameter_elements =", ddp_kept)
        print("reduces =", ddp["allreduce"])
        print("fsdp.shard_elements =", fsdp_kept)
        print("fsdp.gathers =", fsdp["allgather_base"])
        print("fsdp.scatters =", fsdp["reduce_scatter_base"])
        print("change.shard_elements =", hsdp_kept)
        print("change.gathers =", hsdp["allgather_base"])
        print("change.scatters =", hsdp["reduce_scatter_base"])
        print("change.reduces =", hsdp["allreduce"])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
