"""Ring attention as torch's context_parallel does it: who has which positions, what goes round, and the result.

context_parallel itself swaps the attention kernels of GPUs; here its ring is called with the CPU's kernel.
"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard, set_rotate_method
from torch.distributed.tensor.experimental._context_parallel._attention import _templated_ring_attention
from torch.nn.functional import scaled_dot_product_attention

WORLD, BATCH, HEADS, SEQ, HEAD_DIM = 4, 2, 4, 16, 4
KERNEL = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("cp",))
    torch.manual_seed(0)  # the same on every rank
    q, k, v = (torch.randn(BATCH, HEADS, SEQ, HEAD_DIM) for _ in range(3))
    whole = scaled_dot_product_attention(q, k, v, is_causal=True)
    positions = torch.arange(SEQ)
    set_rotate_method("alltoall")  # pass keys and values round the ring; the default gathers them
    with context_parallel(mesh, buffers=[q, k, v, positions], buffer_seq_dims=[2, 2, 2, 0]):
        mine = positions.tolist()  # cut now, from the front and from the back
        kv_elements = k.numel() + v.numel()
        with CommDebugMode() as seen:
            out, *_ = _templated_ring_attention(mesh.get_group(), 2, KERNEL, q, k, v, is_causal=True)
        (again,) = context_parallel_unshard(mesh, [out], [2])
    permutes = sum(n for op, n in seen.get_comm_counts().items() if "all_to_all" in str(op))
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, mine)
    if rank == 0:
        print(f"kv_elements = {kv_elements}")
        print(f"permutes = {permutes}")
        print("positions of the ranks:", *everyone)
        print("as on one device:", torch.allclose(again, whole, atol=1e-5))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
