"""Elastic training with PyTorch 2.15: 4 workers save, one dies, torchrun's launcher reports it, 3 go on."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.fsdp import fully_shard
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

STEPS, GLOBAL_BATCH, KILLED_AT = 6, 12, 3


def worker(folder, killed_rank):
    dist.init_process_group("gloo")  # RANK, WORLD_SIZE … are the launcher's
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = fully_shard(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    first = 0
    if os.path.exists(folder + "/.metadata"):  # what an earlier round has left
        state = dict(zip(("model", "optim"), get_state_dict(model, optimizer)), steps=0)
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
        first = state["steps"]

    samples = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        x, y = torch.randn(GLOBAL_BATCH, 10, generator=samples), torch.randn(GLOBAL_BATCH, 5, generator=samples)
        if step < first:
            continue
        if step == KILLED_AT and rank == killed_rank:
            os._exit(1)
        mine = slice(rank, None, world)  # the global batch stays, the shares change
        nn.functional.mse_loss(model(x[mine]), y[mine]).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 1 and first == 0:
            state = dict(zip(("model", "optim"), get_state_dict(model, optimizer)), steps=step + 1)
            dcp.save(state, checkpoint_id=folder)

    if rank == 0:
        print(f"world = {world}")
        print(f"first_step = {first}")
        print(f"lost = {KILLED_AT - first}")
        print(f"local = {len(x[mine])}")
        print(f"global = {GLOBAL_BATCH}")
    dist.destroy_process_group()


def launch(workers, *arguments):
    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=workers, max_restarts=0, monitor_interval=0.1,
                          rdzv_backend="c10d", rdzv_endpoint="127.0.0.1:0", run_id=str(workers))
    return elastic_launch(config, worker)(*arguments)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as checkpoint:
        try:
            launch(4, checkpoint, 3)
            sys.exit("rank 3 should have died")
        except ChildFailedError as failure:
            print(f"root cause: rank {failure.get_first_failure()[1].local_rank}", file=sys.stderr)
        launch(3, checkpoint, None)
