#!/usr/bin/env python3
"""Times PyTorch on the training step that scripts/check-gpu times Meshscope on, on the same GPU.

usage: pytorch_gpu_step.py [--dim 1024 --layers 12 --hidden 4096 --heads 16 --seq 1024 --vocab 50304 --batch 8 --steps 20]

Needs a PyTorch with CUDA. Eager, bf16 computing on float32 parameters (fully_shard on one rank with a
MixedPrecisionPolicy, as the scenario has it), scaled_dot_product_attention held to its flash kernel, fused AdamW. Prints one
JSON line: the median of the steps' times by CUDA events, the highest memory, the library.
"""
import argparse
import json
import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pytorch_step import Gpt  # noqa: E402  the same model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in (("dim", 1024), ("layers", 12), ("hidden", 4096), ("heads", 16), ("seq", 1024), ("vocab", 50304),
                        ("batch", 8), ("steps", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    torch.manual_seed(0)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "0")
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda", 0))
    model = Gpt(a).cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(0, a.vocab, (a.batch, a.seq + 1), device="cuda")
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)
    times = []
    for step in range(a.steps + 5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        optimizer.zero_grad(set_to_none=True)
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            F.cross_entropy(model(x).reshape(-1, a.vocab), y).backward()
        optimizer.step()
        end.record()
        end.synchronize()
        if step >= 5:
            times.append(begin.elapsed_time(end))
    print(json.dumps({"ms": round(statistics.median(times), 3), "peak_bytes": torch.cuda.max_memory_allocated(),
                      "library": f"PyTorch {torch.__version__}"}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
