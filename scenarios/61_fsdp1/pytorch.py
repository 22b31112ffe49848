"""FSDP1: six layers in three FlatParameters, cut over four ranks. PyTorch 2.15, CPU, gloo."""
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.tensor.debug import CommDebugMode


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(2, 3)
        self.down = nn.Linear(3, 2)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    options = dict(device_id=torch.device("cpu"), use_orig_params=False)

    # Layers 1 and 2 are one unit, 4 and 5 another; layers 0 and 3 are left to the root.
    first_pair = FSDP(nn.Sequential(Layer(), Layer()), **options)
    second_pair = FSDP(nn.Sequential(Layer(), Layer()), **options)
    model = FSDP(nn.Sequential(Layer(), first_pair, Layer(), second_pair), **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    shard = next(first_pair.parameters()).numel()  # this rank's part of the FlatParameter

    for _ in range(2):
        optimizer.zero_grad()
        with CommDebugMode() as comms:  # counts this step's collectives
            model(torch.randn(2, 2)).square().mean().backward()
        optimizer.step()
    counts = comms.get_comm_counts()
    with FSDP.summon_full_params(model):  # all FlatParameters whole, without their padding
        flat = sum(p.numel() for p in first_pair.parameters())

    if rank == 0:
        print("flat_elements =", flat)
        print("shard_elements =", shard)
        print("padded_elements =", shard * world)
        print("padding =", shard * world - flat)
        print("gathers =", counts[torch.ops.c10d.allgather_])
        print("scatters =", counts[torch.ops.c10d._reduce_scatter_base_])
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
