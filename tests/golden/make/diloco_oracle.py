"""LocalSGD and DiLoCo oracle: what PyTorch computes for an mlp on two replicas that train apart.

usage: diloco_oracle.py OUTDIR        (needs torch; one process a replica, gloo)

Writes OUTDIR/{init,data}.safetensors, the same for all cases, and for each case OUTDIR/NAME.json with
OUTDIR/NAME.final.safetensors, replica 0's weights after the last step:
  local_sgd   parameters averaged every 3 steps
  diloco      one fragment, every 4 steps, outer SGD with lr 0.7 and Nesterov momentum 0.9
  plain       the same with an outer SGD of lr 0.5 without momentum
  streaming   two fragments in turn, every 4 steps, delay 1, half of the local parameters kept
  clipped     diloco with each replica's gradients clipped to a norm of 0.1
The inner optimizer is AdamW. The JSON holds the losses (mean over the replicas) and, for each step, the element
counts of the all_reduces that were issued. The order of events is that of torchft/local_sgd.py (LocalSGD.sync,
_StreamingDiLoCoFragment.prepare_sync and perform_sync); an all_reduce sums and is divided, as gloo has no AVG.
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

DIM, HIDDEN, LAYERS, BATCH, STEPS, REPLICAS = 4, 6, 3, 8, 14, 2
CASES = {
    "local_sgd": dict(sync_every=3),
    "diloco": dict(sync_every=4, outer=dict(lr=0.7, momentum=0.9, nesterov=True)),
    "plain": dict(sync_every=4, outer=dict(lr=0.5)),
    "streaming": dict(sync_every=4, outer=dict(lr=0.7, momentum=0.9, nesterov=True), delay=1, alpha=0.5,
                      fragments=[["layers.0.up", "layers.0.down", "layers.1.up"],
                                 ["layers.1.down", "layers.2.up", "layers.2.down"]]),
    "clipped": dict(sync_every=4, outer=dict(lr=0.7, momentum=0.9, nesterov=True), clip=0.1),
}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class Fragment:
    def __init__(self, parameters, outer):
        self.local = parameters
        self.globals = [nn.Parameter(p.detach().clone()) for p in parameters]
        self.optimizer = torch.optim.SGD(self.globals, **outer)

    def prepare_sync(self, reduced):
        flat = torch.cat([(g - p).detach().flatten() for g, p in zip(self.globals, self.local)])
        reduced.append(flat.numel())
        dist.all_reduce(flat)
        flat /= REPLICAS
        self.pseudogradients = [part.view_as(p) for part, p in
                                zip(flat.split([p.numel() for p in self.local]), self.local)]

    def perform_sync(self, alpha):
        for g, pseudogradient in zip(self.globals, self.pseudogradients):
            g.grad = pseudogradient
        self.optimizer.step()
        with torch.no_grad():
            for p, g in zip(self.local, self.globals):
                p.copy_(torch.lerp(g, p, alpha))


def average(model, reduced):
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    reduced.append(flat.numel())
    dist.all_reduce(flat)
    flat /= REPLICAS
    with torch.no_grad():
        for p, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            p.copy_(part.view_as(p))


def run(rank, folder, sync_every, outer=None, fragments=None, delay=0, alpha=0.0, clip=None):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=REPLICAS)
    model = Mlp()
    model.load_state_dict(torch.load(f"{folder}/init.pt"))
    data = torch.load(f"{folder}/data.pt")
    inner = torch.optim.AdamW(model.parameters(), lr=0.01)
    named = dict(model.named_parameters())
    parts = fragments or [[name.rsplit(".", 1)[0] for name in named]]
    cut = [Fragment([p for name, p in named.items() if name.rsplit(".", 1)[0] in part], outer)
           for part in parts] if outer else []
    told = {"losses": [], "reduced": []}
    rows, syncs, local_step = BATCH // REPLICAS, 0, 0
    for step in range(STEPS):
        reduced = []
        inner.zero_grad(set_to_none=True)
        x, y = (data[f"{word}{step}"][rank * rows:(rank + 1) * rows] for word in "xy")
        loss = F.mse_loss(model(x), y)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        inner.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        told["losses"].append(total.item() / REPLICAS)
        local_step += 1
        period = sync_every // max(1, len(cut))
        if not cut:
            if local_step == sync_every:
                average(model, reduced)
        elif local_step == period - delay:
            cut[syncs % len(cut)].prepare_sync(reduced)
        if local_step == period:
            if cut:
                cut[syncs % len(cut)].perform_sync(alpha)
            syncs, local_step = syncs + 1, 0
        told["reduced"].append(reduced)
    if rank == 0:
        torch.save({"told": told, "final": dict(model.state_dict())}, f"{folder}/answer.pt")
    dist.barrier()
    dist.destroy_process_group()


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + 4 * t.numel()]}
        at += 4 * t.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(t.detach().contiguous().numpy().tobytes())


def main(out):
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(3)
    init = dict(Mlp().state_dict())
    data = {f"{word}{step}": torch.randn(BATCH, DIM) for step in range(STEPS) for word in "xy"}
    write_safetensors(f"{out}/init.safetensors", init)
    write_safetensors(f"{out}/data.safetensors", data)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            torch.save(init, f"{folder}/init.pt")
            torch.save(data, f"{folder}/data.pt")
            mp.spawn(run, (folder, *[case.get(k) if k not in ("delay", "alpha") else case.get(k, 0)
                                     for k in ("sync_every", "outer", "fragments", "delay", "alpha", "clip")]),
                     REPLICAS)
            answer = torch.load(f"{folder}/answer.pt")
        write_safetensors(f"{out}/{name}.final.safetensors", answer["final"])
        with open(f"{out}/{name}.json", "w") as f:
            json.dump({"torch": torch.__version__, "case": case, **answer["told"]}, f)
            f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
