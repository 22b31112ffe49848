"""What carries FSDP's gradients? Two layers, four ranks. PyTorch 2.15, CPU, gloo."""
import os
import socket
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("shard",))
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer())
    for unit in (*model, model):
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    with CommDebugMode() as whole_run:
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.randn(2, 8)).square().mean()
            with CommDebugMode() as backward:
                loss.backward()
            with CommDebugMode() as update:
                optimizer.step()

    def count(comms, name):
        return sum(n for op, n in comms.get_comm_counts().items() if name in str(op))

    if rank == 0:
        print("broadcasts =", count(whole_run, "broadcast"))
        print("scatters =", count(backward, "reduce_scatter"))
        print("optimizer_calls =", update.get_total_counts())
        print("grad_in =", sum(p.numel() for p in model[1].parameters()))
        print("grad_out =", sum(p.grad.to_local().numel() for p in model[1].parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:  # a free port for the ranks to meet at
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(main, args=(4, port), nprocs=4)
