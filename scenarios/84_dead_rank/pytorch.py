"""A rank that is killed in step 1, and a job that is started with one process too few."""
import datetime
import os
import signal
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORLD, STEPS, DOOMED = 4, 3, 2


def start(rank, port, seconds):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD, timeout=datetime.timedelta(seconds=seconds))


def train(rank, port):
    start(rank, port, seconds=120)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)))
    finished, error = 0, ""
    for step in range(STEPS):
        if rank == DOOMED and step == 1:  # its gradients never come
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory runs out
        try:
            nn.functional.mse_loss(model(torch.randn(2, 10)), torch.randn(2, 5)).backward()
        except RuntimeError as lost:
            error = str(lost)
            break
        finished += 1
    if rank == 0:
        print(f"finished = {finished}")
        print("rank 0 saw:", error.split("] ", 1)[-1][:60], flush=True)
    os._exit(1 if error else 0)


def too_few(rank, port):
    try:
        start(rank, port, seconds=10)  # 30 minutes by default
    except dist.DistStoreError as error:
        if rank == 0:
            print("one process too few:", error, flush=True)


def run(work, processes):
    """Starts the processes. Returns how each ended: 0, an exit code, or minus a signal."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [mp.get_context("spawn").Process(target=work, args=(rank, port)) for rank in range(processes)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    return [process.exitcode for process in started]


if __name__ == "__main__":
    codes = run(train, WORLD)
    print("culprit =", codes.index(-signal.SIGKILL))  # what a launcher sees, and no rank
    print("exit codes:", codes)
    run(too_few, WORLD - 1)
