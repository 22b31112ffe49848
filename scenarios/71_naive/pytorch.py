"""Naive model parallelism: one layer a rank, the whole batch at once, plain send and recv."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.profiler import ProfilerActivity, profile

WORLD, DIM, HIDDEN, BATCH = 4, 32, 64, 16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def step(rank, layer, optimizer):
    """One training step. Returns how many elements this rank sent on in forward."""
    x = torch.randn(BATCH, DIM)
    if rank > 0:
        dist.recv(x, src=rank - 1)  # nothing to do until the rank before has computed
    x.requires_grad_()
    y = layer(x)
    if rank < WORLD - 1:
        dist.send(y.detach(), dst=rank + 1)
        gradient = torch.empty_like(y)
        dist.recv(gradient, src=rank + 1)
        y.backward(gradient)
    else:
        nn.functional.mse_loss(y, torch.randn(BATCH, DIM)).backward()
    if rank > 0:
        dist.send(x.grad, dst=rank - 1)
    optimizer.step()
    return y.numel()


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(rank)
    layer = Layer()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        elements = step(rank, layer, optimizer)
    mine = sum(event.count for event in seen.key_averages() if event.key == "gloo:send")
    sends = torch.tensor(mine)
    dist.all_reduce(sends)  # of all ranks together
    params = torch.tensor(sum(p.numel() for p in layer.parameters()))
    everything = params.clone()
    dist.all_reduce(everything)
    if rank == 0:
        print(f"sends = {sends.item()}")
        print(f"elements = {elements}")
        print(f"params = {params.item():,}")
        print(f"all_params = {everything.item():,}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
