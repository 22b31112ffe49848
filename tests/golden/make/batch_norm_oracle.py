"""Batch norm oracle: what PyTorch computes, keeps and sends for an mlp with a norm between `up` and the activation.

usage: batch_norm_oracle.py OUTDIR        (needs torch; one process a rank, gloo)

Writes OUTDIR/{init,data}.safetensors, the same for all cases, and for each case OUTDIR/NAME.{json,final.safetensors}:
  whole       one process with the whole batch and torch.nn.BatchNorm1d
  batch       DDP on two ranks, torch.nn.BatchNorm1d: each rank's own statistics
  accumulate  the same with two micro-batches
  sync        DDP on two ranks, torch.nn.modules._functions.SyncBatchNorm
The JSON holds the losses (mean over the global batch), every rank's buffers as they are before each forward of a step,
and every rank's collectives of set-up and of each step, in the order issued.

Every statistics has four rows or more: two normalised rows are -1 and 1 whatever they were, and the gradients below
them are rounding.

PyTorch's SyncBatchNorm is for accelerators; the function behind it runs here on the CPU with its five kernels written
in PyTorch's own operators. Case sync must equal case whole, and the script says so or fails.
"""
import json
import os
import struct
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules._functions import SyncBatchNorm
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

DIM, HIDDEN, LAYERS, BATCH, STEPS = 4, 6, 2, 16, 6
CASES = {"whole": dict(world=1), "batch": dict(world=2), "accumulate": dict(world=2, accumulate=2),
         "sync": dict(world=2, sync=True)}


def stats(x, eps):
    return x.mean(0), (x.var(0, unbiased=False) + eps).rsqrt()


def gather_stats(x, mean, invstd, running_mean, running_var, momentum, eps, counts):
    n, each = counts.sum(), counts.view(-1, 1)
    centre = (mean * each).sum(0) / n
    squares = ((invstd**-2 - eps + (mean - centre) ** 2) * each).sum(0)
    running_mean.mul_(1 - momentum).add_(momentum * centre)
    running_var.mul_(1 - momentum).add_(momentum * squares / (n - 1))
    return centre, (squares / n + eps).rsqrt()


def elemt(x, weight, bias, mean, invstd, eps):
    return (x - mean) * invstd * weight + bias


def backward_reduce(dy, x, mean, invstd, weight, input_g, weight_g, bias_g):
    weighed = (dy * (x - mean)).sum(0)
    return dy.sum(0), weighed, weighed * invstd, dy.sum(0)


def backward_elemt(dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, counts):
    n = counts.sum()
    return (dy - sum_dy / n - (x - mean) * invstd**2 * sum_dy_xmu / n) * invstd * weight


def kernels_on_cpu():
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in {"batch_norm_stats": stats, "batch_norm_gather_stats_with_counts": gather_stats,
                         "batch_norm_elemt": elemt, "batch_norm_backward_reduce": backward_reduce,
                         "batch_norm_backward_elemt": backward_elemt}.items():
        library.impl(name, kernel, "CPU")
    return library


class SyncNorm(nn.BatchNorm1d):
    """torch.nn.SyncBatchNorm's forward in training, without its question for a GPU."""

    def forward(self, x):
        self.num_batches_tracked.add_(1)
        group = dist.group.WORLD
        return SyncBatchNorm.apply(x, self.weight, self.bias, self.running_mean, self.running_var, self.eps,
                                   self.momentum, group, dist.get_world_size(group))


class Layer(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.up, self.bn, self.down = nn.Linear(DIM, HIDDEN), norm(HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return self.down(F.gelu(self.bn(self.up(x)), approximate="tanh"))


class Mlp(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.layers = nn.ModuleList(Layer(norm) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class Recorder(TorchDispatchMode):
    """The collectives: op and elements of what goes in."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if str(func).startswith("c10d"):
            inputs = args[1] if "gather" in str(func) else args[0]
            inputs = [t for t in torch.utils._pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]
            self.calls.append({"op": str(func).split(".")[1], "in": sum(t.numel() for t in inputs),
                               "dtype": str(inputs[0].dtype).replace("torch.", "")})
        return out

    def take(self):
        calls, self.calls = self.calls, []
        return calls


def run(rank, world, folder, sync=False, accumulate=1):
    torch.set_num_threads(1)
    if world > 1:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    library = kernels_on_cpu()  # noqa: F841, kept alive
    plain = Mlp(SyncNorm if sync else nn.BatchNorm1d)
    plain.load_state_dict(torch.load(f"{folder}/init.pt"), strict=False)
    data = torch.load(f"{folder}/data.pt")
    recorder = Recorder()
    with recorder:
        model = DistributedDataParallel(plain) if world > 1 else plain
    told = {"setup": recorder.take(), "steps": [], "buffers": [], "losses": []}
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9)
    rows = BATCH // world // accumulate
    for step in range(STEPS):
        told["buffers"].append({name: t.flatten().tolist() for name, t in plain.named_buffers()})
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        with recorder:
            for m in range(accumulate):
                first = (rank * accumulate + m) * rows
                if world > 1:
                    model.require_backward_grad_sync = m == accumulate - 1  # no_sync()
                x, y = data[f"x{step}"][first:first + rows], data[f"y{step}"][first:first + rows]
                loss = F.mse_loss(model(x), y) / accumulate
                loss.backward()
                total += loss.item()
        told["steps"].append(recorder.take())
        told["losses"].append(total)
        optimizer.step()
    torch.save((told, plain.state_dict()), f"{folder}/rank{rank}.pt")
    if world > 1:
        dist.destroy_process_group()


def save_floats(path, tensors):
    """A safetensors file of float32 arrays."""
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + 4 * t.numel()]}
        at += 4 * t.numel()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            file.write(t.contiguous().numpy().astype("<f4").tobytes())


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(8)
    model = Mlp(nn.BatchNorm1d)
    for layer in model.layers:  # scales and shifts that are not 1 and 0
        nn.init.uniform_(layer.bn.weight, 0.5, 1.5)
        nn.init.normal_(layer.bn.bias)
    init = {name: p.detach().clone() for name, p in model.named_parameters()}
    # Ranks see different data: the second half of each batch lies elsewhere and is wider.
    data = {}
    for step in range(STEPS):
        x = torch.randn(BATCH, DIM)
        x[BATCH // 2:] = 3.0 + 2.0 * x[BATCH // 2:]
        data[f"x{step}"], data[f"y{step}"] = x, torch.randn(BATCH, DIM)
    save_floats(f"{out}/init.safetensors", init)
    save_floats(f"{out}/data.safetensors", data)
    finals, losses = {}, {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            torch.save(init, f"{folder}/init.pt")
            torch.save(data, f"{folder}/data.pt")
            world = case["world"]
            args = (world, folder, case.get("sync", False), case.get("accumulate", 1))
            if world == 1:
                run(0, *args)
            else:
                mp.spawn(run, args=args, nprocs=world)
            ranks = [torch.load(f"{folder}/rank{r}.pt") for r in range(world)]
        finals[name] = ranks[0][1]
        losses[name] = [sum(told["losses"][s] for told, _ in ranks) / world for s in range(STEPS)]
        told = {"made_by": f"PyTorch {torch.__version__}, gloo, {world} processes", "losses": losses[name],
                "ranks": [{"buffers": t["buffers"], "setup": t["setup"], "steps": t["steps"]} for t, _ in ranks]}
        with open(f"{out}/{name}.json", "w") as file:
            json.dump(told, file, separators=(",", ":"))
            file.write("\n")
        save_floats(f"{out}/{name}.final.safetensors",
                    {key: finals[name][key] for key in init})
        print(name, ["%.6f" % loss for loss in losses[name]])
    for key, t in finals["whole"].items():
        torch.testing.assert_close(finals["sync"][key], t, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.tensor(losses["sync"]), torch.tensor(losses["whole"]), rtol=1e-5, atol=0)
    print("sync equals whole")


if __name__ == "__main__":
    main()
