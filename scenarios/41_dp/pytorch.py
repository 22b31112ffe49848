"""One DataParallel step, transfer by transfer. nn.DataParallel itself needs several GPUs, so 4 processes stand
for its devices and do by hand what its forward and backward do: scatter, replicate, gather, scatter, reduce."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

DEVICES, BATCH = 4, 8


def scatter_from_0(whole, like):
    mine = torch.empty_like(like)
    dist.scatter(mine, list(whole.chunk(DEVICES)) if dist.get_rank() == 0 else None, src=0)
    return mine


def step(device, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=device, world_size=DEVICES)
    torch.manual_seed(device)  # only device 0's weights and batch matter
    model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))
    x, y = torch.randn(BATCH, 10), torch.randn(BATCH, 5)

    my_x = scatter_from_0(x, torch.empty(BATCH // DEVICES, 10))
    with torch.no_grad():
        flat = parameters_to_vector(model.parameters())
        dist.broadcast(flat, src=0)  # in every forward
        vector_to_parameters(flat, model.parameters())
    out = model(my_x)
    parts = [torch.empty_like(out) for _ in range(DEVICES)] if device == 0 else None
    dist.gather(out.detach(), parts, dst=0)

    out_grad = torch.empty(BATCH, 5)
    if device == 0:  # alone computes the loss
        outputs = torch.cat(parts).requires_grad_()
        (out_grad,) = torch.autograd.grad(nn.functional.mse_loss(outputs, y), outputs)
    out.backward(scatter_from_0(out_grad, out.detach()))
    grads = parameters_to_vector([p.grad for p in model.parameters()])
    dist.reduce(grads, dst=0)

    if device == 0:  # and alone updates: the sum is the gradient of the whole batch
        whole = nn.functional.mse_loss(model(x), y)
        expected = parameters_to_vector(torch.autograd.grad(whole, list(model.parameters())))
        torch.testing.assert_close(grads, expected)
        print(f"inputs = {x.numel()}")
        print(f"inputs_each = {my_x.numel()}")
        print(f"parameters = {flat.numel()}")
        print(f"one_copy = {flat.numel() * flat.element_size()}")
        print(f"outputs = {outputs.numel()}")
        print(f"outputs_each = {out.numel()}")
        print(f"gradients = {grads.numel()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(step, args=(free_port,), nprocs=DEVICES)
