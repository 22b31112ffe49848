"""Three dims on one model: tensor parallelism inside, then fully_shard over the other two (HSDP)."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WORLD, DIM, HIDDEN, BATCH = 8, 16, 32, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def main(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("replicate", "shard", "tp"))
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer())
    layer_elements = sum(p.numel() for p in model[0].parameters())
    for layer in model:  # first what each rank computes ...
        parallelize_module(layer, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    cut = sum(p.to_local().numel() for p in model[0].parameters())
    for layer in (*model, model):  # ... then what each rank stores
        fully_shard(layer, mesh=mesh["replicate", "shard"], reshard_after_forward=True)
    stored = sum(p.to_local().numel() for p in model[0].parameters())
    samples = BATCH // mesh["replicate", "shard"].size()  # both tp ranks see the same ones
    x, y = torch.randn(samples, DIM), torch.randn(samples, DIM)
    with CommDebugMode() as seen:
        nn.functional.mse_loss(model(x), y).backward()
    counts = {str(op): n for op, n in seen.get_comm_counts().items()}
    count = lambda *words: sum(n for op, n in counts.items() if any(word in op for word in words))
    if rank == 0:
        print(f"layer = {layer_elements:,}")
        print(f"gathered = {cut}")  # what a gather of the unit brings together
        print(f"stored = {stored}")
        print(f"samples = {samples}")
        print(f"gathers = {count('all_gather', 'allgather')}")
        print(f"scatters = {count('reduce_scatter')}")
        print(f"reduces = {count('all_reduce', 'allreduce')}")
    if rank == 5:
        ranks = [dist.get_process_group_ranks(group) for group in mesh.get_all_groups()]
        print("rank 5 at", mesh.get_coordinate(), "groups", ranks)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
