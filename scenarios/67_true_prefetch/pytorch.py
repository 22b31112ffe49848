"""Whose gather is it, and how many are there? HSDP, three micro-batches a step. PyTorch 2.15, CPU, gloo."""
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
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(0)
    model = Toy()
    for unit in (model.net1, model.net2, model):
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for _ in range(2):
        optimizer.zero_grad()
        micro_batches = []
        for i in range(3):
            model.set_requires_gradient_sync(i == 2)
            model.set_is_last_backward(i == 2)
            with CommDebugMode() as comms:
                (model(torch.randn(2, 10)).square().mean() / 3).backward()
            micro_batches.append(comms)
        optimizer.step()

    def count(name):  # over the whole step
        return sum(n for c in micro_batches for op, n in c.get_comm_counts().items() if name in str(op))

    def in_backward_of(module):  # as CommDebugMode's table lists it, first micro-batch
        return sum(micro_batches[0].comm_module_counts[f"FSDPToy.{module}"]["backward"].values())

    if rank == 0:
        print("gathers =", count("allgather"))
        print("scatters =", count("reduce_scatter"))
        print("reduces =", count("allreduce"))
        print("in_net2_backward =", in_backward_of("net2"))
        print("in_net1_backward =", in_backward_of("net1"))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
