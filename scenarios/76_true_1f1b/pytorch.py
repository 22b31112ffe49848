"""The order that Schedule1F1B exports for the last rank, and the order that its step() runs."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WORLD, DIM, BATCH, MICROBATCHES = 4, 16, 8, 4


def watch(stage):
    """Writes down each micro-batch that the stage computes."""
    ran, forward, backward = [], stage.forward_one_chunk, stage.backward_one_chunk

    def forward_one_chunk(microbatch, *args, **kwargs):
        ran.append(f"F{microbatch}")
        return forward(microbatch, *args, **kwargs)

    def backward_one_chunk(microbatch, *args, **kwargs):
        ran.append(f"B{microbatch}")
        return backward(microbatch, *args, **kwargs)

    stage.forward_one_chunk, stage.backward_one_chunk = forward_one_chunk, backward_one_chunk
    return ran


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    stage = PipelineStage(nn.Linear(DIM, DIM), rank, WORLD, torch.device("cpu"))
    ran = watch(stage)
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=nn.functional.mse_loss)
    inputs = (torch.randn(BATCH, DIM),) if rank == 0 else ()
    schedule.step(*inputs, target=torch.randn(BATCH, DIM) if rank == WORLD - 1 else None)
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, ran)
    if rank == 0:
        last = everyone[WORLD - 1]
        print(f"ran = {' '.join(last)}")
        print(f"ran_before = {' '.join(everyone[WORLD - 2])}")
        print(f"first = {last[0][1:]}")
        print(f"warmup = {everyone[WORLD - 2].index('B0')}")
        exported = [str(action) for action in schedule.pipeline_order[WORLD - 1] if action is not None]
        print("exported for the last rank:", *(action for action in exported if "REDUCE" not in action))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
