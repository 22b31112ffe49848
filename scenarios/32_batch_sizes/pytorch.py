"""Batch sizes on a (2, 2) mesh of replicas and tensor parallelism, and evaluation without double counting."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

MICRO, ACCUMULATE, EVAL_SAMPLES = 2, 3, 5


def loader(samples, batch, mesh):
    """Ranks of one tp group share a sampler rank, so they get the same samples."""
    data = TensorDataset(torch.arange(samples))
    replica, replicas = mesh.get_local_rank("replicate"), mesh["replicate"].size()
    sampler = DistributedSampler(data, num_replicas=replicas, rank=replica, shuffle=False)
    return DataLoader(data, batch_size=batch, sampler=sampler)


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "tp"))

    batches = iter(loader(24, MICRO, mesh))
    seen = torch.cat([next(batches)[0] for _ in range(ACCUMULATE)])  # one optimizer step
    of_all = [torch.empty_like(seen) for _ in range(4)]
    dist.all_gather(of_all, seen)
    assert torch.equal(of_all[0], of_all[1]) and not torch.equal(of_all[0], of_all[2])

    mine = torch.cat([batch[0] for batch in loader(EVAL_SAMPLES, MICRO, mesh)]).float()
    group, replicas = mesh.get_group("replicate"), mesh["replicate"].size()
    gathered = torch.empty(replicas * len(mine))
    dist.all_gather_into_tensor(gathered, mine, group=group)
    in_order = gathered.view(replicas, -1).T.flatten()  # rank r holds places r, r + n, ...
    kept = in_order[:EVAL_SAMPLES]
    assert kept.tolist() == [0, 1, 2, 3, 4] and in_order[-1] == 0

    if rank == 0:
        print(f"dp = {replicas}")
        print(f"local = {len(seen)}")
        print(f"global = {len(torch.cat(of_all).unique())}")
        print(f"dp_group = {dist.get_process_group_ranks(group)}")
        print(f"tp_group = {dist.get_process_group_ranks(mesh.get_group('tp'))}")
        print(f"gathered = {len(gathered)}")
        print(f"kept = {len(kept)}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(train, args=(free_port,), nprocs=4)
