"""Two nodes of two processes, started as torchrun starts them. Both "nodes" are this machine: plain
`python pytorch.py` starts torchrun twice, once as each node, with this file as the training script."""

import os
import socket
import subprocess
import sys

NODES, PER_NODE = 2, 2


def worker():
    import torch.distributed as dist

    dist.init_process_group("gloo")  # env://: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT from torchrun
    me = {
        "rank": int(os.environ["RANK"]),
        "local": int(os.environ["LOCAL_RANK"]),
        "node": int(os.environ["GROUP_RANK"]),
        "per_node": int(os.environ["LOCAL_WORLD_SIZE"]),
    }
    assert me["rank"] == dist.get_rank() == me["node"] * me["per_node"] + me["local"]
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, me)
    if dist.get_rank() == 0:
        at = {(p["node"], p["local"]): p["rank"] for p in everyone}
        print(f"world = {dist.get_world_size()}")
        print(f"nodes = {len({p['node'] for p in everyone})}")
        print(f"per_node = {me['per_node']}")
        print(f"rank_of_1_0 = {at[1, 0]}")
        print(f"rank_of_1_1 = {at[1, 1]}")
        print(f"local_zeros = {sum(p['local'] == 0 for p in everyone)}")
    dist.destroy_process_group()


def torchrun(node, port):
    command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={NODES}", f"--nproc-per-node={PER_NODE}"]
    command += [f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}", __file__]
    return subprocess.Popen(command, env=dict(os.environ, OMP_NUM_THREADS="1"))


if __name__ == "__main__":
    if "RANK" in os.environ:
        worker()
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            free_port = s.getsockname()[1]
        nodes = [torchrun(node, free_port) for node in range(NODES)]
        sys.exit(max(node.wait() for node in nodes))
