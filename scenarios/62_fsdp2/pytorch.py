"""FSDP2: each parameter cut on dim 0 over four ranks. PyTorch 2.15, CPU, gloo."""
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


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.net1(x).relu())


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    torch.manual_seed(0)
    model = Toy()
    for unit in (model.net1, model.net2, model):  # the root last: it takes what is left
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    # A parameter is a DTensor now: whole in shape, with this rank's rows in to_local().
    rows = torch.tensor([model.net2.weight.to_local().shape[0]])
    all_rows = [torch.empty_like(rows) for _ in range(world)]
    dist.all_gather(all_rows, rows)
    largest = max(int(r) for r in all_rows)

    for _ in range(2):
        optimizer.zero_grad()
        with CommDebugMode() as comms:
            model(torch.randn(2, 10)).square().mean().backward()
        optimizer.step()
    counts = {str(op): n for op, n in comms.get_comm_counts().items()}

    if rank == 0:
        print("net2_rows =", ", ".join(str(int(r)) for r in all_rows))
        print("net2_slot =", largest * 10 + largest)  # the longest shard: rows of weight, and biases
        print("net2_travels =", (largest * 10 + largest) * world)
        print("gathers =", sum(n for op, n in counts.items() if "all_gather" in op or "allgather" in op))
        print("scatters =", sum(n for op, n in counts.items() if "reduce_scatter" in op))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
