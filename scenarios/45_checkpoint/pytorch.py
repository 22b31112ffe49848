"""Checkpoints in PyTorch 2.15 on 4 ranks: rank 0 saves, barrier, all load; and each rank its shard."""

import os
import socket
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP

RANKS = 4


def make(wrap):
    torch.manual_seed(1)
    model = wrap(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def train(model, optimizer, steps):
    for step in steps:
        torch.manual_seed(10 * step + dist.get_rank())  # a step's samples depend on seed and step alone
        loss = nn.functional.mse_loss(model(torch.randn(3, 10)), torch.randn(3, 5))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def worker(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)

    model, optimizer = make(DDP)  # every rank holds the same: one saves, all wait, all load
    train(model, optimizer, range(2))
    if rank == 0:
        torch.save({"model": model.state_dict(), "optim": optimizer.state_dict(), "steps": 2}, folder + "/whole.pt")
    dist.barrier()
    unbroken = train(model, optimizer, range(2, 4))
    model, optimizer = make(DDP)
    saved = torch.load(folder + "/whole.pt", map_location="cpu")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optim"])
    assert train(model, optimizer, range(saved["steps"], 4)) == unbroken  # bit for bit

    model, optimizer = make(fully_shard)  # every rank holds a shard, and saves it
    train(model, optimizer, range(2))
    state = dict(zip(("model", "optim"), get_state_dict(model, optimizer)))
    dcp.save(state, checkpoint_id=folder + "/sharded")
    dcp.load(state, checkpoint_id=folder + "/sharded")
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    assert len([name for name in os.listdir(folder + "/sharded") if name.endswith(".distcp")]) == RANKS

    held = [p.to_local().numel() for p in model.parameters()]
    held += [v.to_local().numel() for s in optimizer.state.values() for k, v in s.items() if k != "step"]
    of_ranks = [None] * RANKS
    dist.all_gather_object(of_ranks, sum(held))
    if rank == 0:
        print(f"parameters = {sum(p.numel() for p in model.parameters())}")
        print(f"state = {sum(of_ranks)}")
        print(f"rank0_state = {of_ranks[0]}")
        print(f"rank3_state = {of_ranks[3]}")
        print(f"first_step = {saved['steps']}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(worker, args=(free_port, scratch), nprocs=RANKS)
