"""A skipped all_reduce under TORCH_DISTRIBUTED_DEBUG=DETAIL: what it is paired with, and when somebody notices."""
import datetime
import os
import re
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD, STEPS, ODD = 4, 3, 2


def main(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    group = dist.new_group(timeout=datetime.timedelta(seconds=10))  # 30 minutes by default
    met, made, error = {}, 0, ""
    for step in range(STEPS):
        if rank == ODD and step == 1:
            continue  # what a rank must never do alone
        # In place of gradients: each rank writes its step into its own place of a row of zeros.
        gradient = torch.zeros(WORLD)
        gradient[rank] = step
        try:
            dist.all_reduce(gradient, group=group)
        except RuntimeError as problem:
            error = str(problem)
            break
        made += 1
        met[step] = gradient.int().tolist()
    counts = f"{made} of {STEPS}"
    if rank == ODD:
        print(f"made = {made}", flush=True)
        time.sleep(15)  # at its end, and taking part in nothing
    if rank == 0:
        print(f"met = {met[1][ODD]}")
        print("culprit =", re.search(r"Ranks (\S+) failed to pass", error).group(1))
        print(f"rank 0 finished {counts}; in its step 1 the ranks were in steps {met[1]}")
        print("and only now:", error, flush=True)
    os._exit(0)  # after a time-out the group cannot be shut down in order


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
