"""SyncBatchNorm under DDP on four ranks, against BatchNorm1d under DDP and in one process. Run: python pytorch.py

nn.SyncBatchNorm is for GPUs. The autograd function behind it runs here on gloo: only its kernels are written anew.
"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.modules._functions import SyncBatchNorm
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD = 4
SAMPLES = torch.tensor([[1.0, 3.0], [2.0, 4.0], [9.0, 11.0], [10.0, 12.0]])  # a row a rank


def gather_stats(x, mean, invstd, running_mean, running_var, momentum, eps, counts):
    n, each = counts.sum(), counts.view(-1, 1)
    all_mean = (mean * each).sum(0) / n
    squares = ((invstd**-2 - eps + (mean - all_mean) ** 2) * each).sum(0)
    running_mean.lerp_(all_mean, momentum)
    running_var.lerp_(squares / (n - 1), momentum)
    return all_mean, (squares / n + eps).rsqrt()


def input_grad(dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, counts):
    return (dy - sum_dy / counts.sum() - (x - mean) * invstd**2 * sum_dy_xmu / counts.sum()) * invstd * weight


KERNELS = {"batch_norm_stats": lambda x, eps: (x.mean(0), (x.var(0, unbiased=False) + eps).rsqrt()),
           "batch_norm_gather_stats_with_counts": gather_stats,
           "batch_norm_elemt": lambda x, weight, bias, mean, invstd, eps: (x - mean) * invstd * weight + bias,
           "batch_norm_backward_reduce": lambda dy, x, mean, invstd, *_: (
               dy.sum(0), (dy * (x - mean)).sum(0), (dy * (x - mean)).sum(0) * invstd, dy.sum(0)),
           "batch_norm_backward_elemt": input_grad}


class SyncNorm(nn.BatchNorm1d):
    def forward(self, x):
        return SyncBatchNorm.apply(x, self.weight, self.bias, self.running_mean, self.running_var, self.eps,
                                   self.momentum, dist.group.WORLD, dist.get_world_size())


def train(norm, x, wrap):
    """Forward and backward of x + down(gelu(norm(up(x)))), up and down the identity; what came of it."""
    x = x.reshape(-1, 1).clone().requires_grad_()  # as `up` below would need the gradient
    began = []  # the running mean with which each forward begins
    norm.register_forward_pre_hook(lambda module, args: began.append(module.running_mean.item()))
    model = wrap(norm)
    made = model(x)
    loss = nn.functional.mse_loss(x + nn.functional.gelu(made, approximate="tanh"), x)
    loss.backward()
    noted = norm.running_mean.item()
    model(x)  # the next forward; DDP broadcasts rank 0's buffers first
    return loss.detach(), made.detach().flatten(), noted, began[1]


def worker(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in KERNELS.items():
        library.impl(name, kernel, "CPU")
    sent, sums, gather, all_reduce = [], [], dist.all_gather, dist.all_reduce
    dist.all_gather = lambda out, mine, *args, **kw: (sent.append(mine.tolist()), gather(out, mine, *args, **kw))
    dist.all_reduce = lambda t, *args, **kw: (all_reduce(t, *args, **kw), sums.append(t.tolist()))
    synced = train(SyncNorm(1), SAMPLES[rank], DDP)
    dist.all_gather, dist.all_reduce = gather, all_reduce
    alone = train(nn.BatchNorm1d(1), SAMPLES[rank], DDP)
    whole = train(nn.BatchNorm1d(1), SAMPLES, lambda norm: norm)
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, (sent[0], synced, alone))
    if rank == 0:
        for r, ((mean, invstd, n), _, _) in enumerate(everyone):
            print(f"mean{r} = {mean:g}\nsent{r} = {mean:g}, {invstd:.3f}, {n:g}")
        print(f"elements = {len(sent[0])}\nback = {len(sums[0])}\nchange.kept2 = {everyone[2][2][3]:.3g}")
        print(f"gradient_sums = [{sums[0][0]:.3f}, {sums[0][1]:.3f}]".replace("-", "−"))
        print(f"synced2 = {everyone[2][1][1][0]:.2f}\nalone2 = {everyone[2][2][1][0]:.2f}".replace("-", "−"))
        print(f"loss = {sum(e[1][0] for e in everyone) / WORLD:.4f}\nwhole.loss = {whole[0]:.4f}")
        print(f"change.loss = {sum(e[2][0] for e in everyone) / WORLD:.4f}\nnoted0 = {everyone[0][1][2]:.3g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a port that is free now
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD)
