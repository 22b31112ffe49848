"""Synchronised batch norm by two all_reduces, against one process with the whole batch. Run: python pytorch.py

nn.SyncBatchNorm itself needs GPUs; this is what it computes, on gloo.
"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.functional import batch_norm

WORLD = 4
SAMPLES = torch.tensor([[1.0, 3.0], [2.0, 4.0], [9.0, 11.0], [10.0, 12.0]])  # a row a rank
GRADIENTS = torch.tensor([1.0, 0.0])  # of each rank's two outputs


def text(tensor):
    return "[" + ", ".join(f"{x:g}" for x in tensor.tolist()) + "]"


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    x = SAMPLES[rank]

    # Forward: sum, sum of squares, count.
    sent = torch.stack([x.sum(), (x * x).sum(), torch.tensor(float(len(x)))])
    sums = sent.clone()
    dist.all_reduce(sums)
    mean = sums[0] / sums[2]
    variance = sums[1] / sums[2] - mean**2
    y = (x - mean) / variance.sqrt()

    # Backward: two sums.
    both = torch.stack([GRADIENTS.sum(), (GRADIENTS * (x - mean)).sum()])
    dist.all_reduce(both)
    grad_x = (GRADIENTS - both[0] / sums[2] - (x - mean) * both[1] / (sums[2] * variance)) / variance.sqrt()

    # One process with the whole batch, by autograd; and this rank alone.
    whole = SAMPLES.reshape(-1, 1).clone().requires_grad_()
    expected = batch_norm(whole, None, None, training=True, eps=1e-12)
    expected.backward(GRADIENTS.repeat(WORLD).reshape(-1, 1))
    torch.testing.assert_close(y, expected.detach().reshape(WORLD, -1)[rank])
    torch.testing.assert_close(grad_x, whole.grad.reshape(WORLD, -1)[rank])
    alone = batch_norm(x.reshape(-1, 1), None, None, training=True, eps=1e-12).flatten()

    everyone = [None] * WORLD
    dist.all_gather_object(everyone, (sent, x.mean().item(), y[0].item(), alone[0].item()))
    if rank == 0:
        print("sent0 =", text(everyone[0][0]))
        print("sent2 =", text(everyone[2][0]))
        print("sums =", text(sums))
        print(f"mean2 = {everyone[2][1]:g}")
        print(f"mean = {mean:g}")
        print(f"variance = {variance:g}")
        print("alone2 =", f"{everyone[2][3]:g}".replace("-", "−"))
        print(f"synced2 = {everyone[2][2]:.2f}")
        print("gradient_sums =", text(both))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
