"""1F1B with torch.distributed.pipelining: what is sent, and how many micro-batches a rank keeps."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.profiler import ProfilerActivity, profile

WORLD, DIM, HIDDEN, LAYERS, BATCH, MICROBATCHES = 4, 16, 32, 8, 16, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def watch(stage):
    """Keeps the numbers of micro-batches that have gone forward and not yet back."""
    flight, forward, backward = [0], stage.forward_one_chunk, stage.backward_one_chunk

    def forward_one_chunk(*args, **kwargs):
        flight.append(flight[-1] + 1)
        return forward(*args, **kwargs)

    def backward_one_chunk(*args, **kwargs):
        flight.append(flight[-1] - 1)
        return backward(*args, **kwargs)

    stage.forward_one_chunk, stage.backward_one_chunk = forward_one_chunk, backward_one_chunk
    return flight


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    part = nn.Sequential(*(Layer() for _ in range(LAYERS // WORLD)))  # this rank's layers
    stage = PipelineStage(part, rank, WORLD, torch.device("cpu"))
    flight = watch(stage)
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=nn.functional.mse_loss)

    def step():
        inputs = (torch.randn(BATCH, DIM),) if rank == 0 else ()
        schedule.step(*inputs, target=torch.randn(BATCH, DIM) if rank == WORLD - 1 else None)

    step()  # the first step also exchanges shapes
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        step()
    sends = torch.tensor(sum(event.count for event in seen.key_averages() if event.key == "gloo:send"))
    dist.all_reduce(sends)
    if rank == 0:
        print(f"sends = {sends.item()}")
        print(f"flight = {max(flight)}")
        print(f"elements = {BATCH // MICROBATCHES * part[-1].down.out_features}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
