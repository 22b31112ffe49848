"""DiLoCo in PyTorch 2.15, on 4 replicas: AdamW inside, Nesterov SGD outside. (torchft.local_sgd has it ready made.)"""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

REPLICAS, STEPS, SYNC_EVERY, DIM, HIDDEN = 4, 12, 4, 16, 32


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=REPLICAS)
    torch.manual_seed(1)  # every replica draws the same model
    model = nn.Sequential(*[Layer() for _ in range(2)])
    inner = torch.optim.AdamW(model.parameters(), lr=0.01)
    global_parameters = [nn.Parameter(p.detach().clone()) for p in model.parameters()]
    outer = torch.optim.SGD(global_parameters, lr=0.7, momentum=0.9, nesterov=True)

    torch.manual_seed(rank)  # and trains on data of its own
    elements, calls = 0, 0
    for step in range(STEPS):
        x, y = torch.randn(2, 4, DIM)
        nn.functional.mse_loss(model(x), y).backward()
        inner.step()
        inner.zero_grad()
        if (step + 1) % SYNC_EVERY:
            continue
        with torch.no_grad():
            pseudogradient = torch.cat(
                [(g - p).flatten() for g, p in zip(global_parameters, model.parameters())])
            dist.all_reduce(pseudogradient)
            elements, calls = pseudogradient.numel(), calls + 1
            parts = pseudogradient.div_(REPLICAS).split([p.numel() for p in global_parameters])
            for g, part in zip(global_parameters, parts):
                g.grad = part.view_as(g)
            outer.step()
            for g, p in zip(global_parameters, model.parameters()):
                p.copy_(g)

    state = sum(t.numel() * 4 for s in inner.state.values() for name, t in s.items() if name != "step")
    kept = sum(g.numel() * 4 for g in global_parameters)
    momentum = sum(s["momentum_buffer"].numel() * 4 for s in outer.state.values())
    if rank == 0:
        print(f"calls = {calls}")
        print(f"elements = {elements:,}")
        print(f"global = {kept:,}")
        print(f"state = {state + kept + momentum:,}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, (port,), REPLICAS)
