"""Column-wise, then row-wise, by PyTorch's own plan: what each rank holds and what is communicated."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WORLD, DIM, HIDDEN, BATCH = 2, 16, 32, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def count(mode, word):
    """How many collectives of this name the mode has seen."""
    return sum(n for op, n in mode.get_comm_counts().items() if word in str(op))


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer())
    for layer in model:
        parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    x, y = torch.randn(BATCH, DIM), torch.randn(BATCH, DIM)  # the same batch on every rank
    with CommDebugMode() as seen:
        loss = nn.functional.mse_loss(model(x), y)
        forward = count(seen, "all_reduce")
        loss.backward()
    up, down = model[0].up, model[0].down
    if rank == 0:
        print(f"up_weight = {up.weight.to_local().numel()}")  # placement Shard(0)
        print(f"up_bias = {up.bias.to_local().numel()}")
        print(f"down_bias = {down.bias.to_local().numel()}")  # placement Replicate()
        print(f"forward_reduces = {forward}")
        print(f"reduces = {count(seen, 'all_reduce')}")
        print(f"gathers = {count(seen, 'all_gather')}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
