#!/usr/bin/env python3
"""What eager PyTorch holds: writes eager/expected.json into OUTDIR.

    python eager_oracle.py OUTDIR        # torch 2.15, on the CPU

Each case is run forward and backward under a dispatch mode that sees every tensor's memory come and go. Bytes are
those of all memory that was made since the case began (inputs and parameters are not), with the output and its
gradient held from outside:

    kept           alive when forward is done
    peak_forward   the most that was alive in forward
    peak_backward  the most that was alive in backward

Sizes and types are written beside them, so that a test can make the same case.
"""

import json
import os
import sys
import weakref
from unittest import mock

import torch
import torch.nn.functional as F
from torch.distributed.tensor.parallel import loss as loss_parallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ROWS, WIDTH, HEADS, KV_HEADS, HIDDEN, CLASSES = 16, 64, 4, 2, 96, 160
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


class Live(TorchDispatchMode):
    """Counts the bytes of the storages that operators make, until they are freed."""

    def __init__(self):
        super().__init__()
        self.alive, self.now, self.peak = {}, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        given = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for tensor in tree_leaves(out):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self.alive or key in given:
                continue
            self.alive[key] = (storage.nbytes(), weakref.ref(storage, lambda _, key=key: self.gone(key)))
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
        return out

    def gone(self, key):
        self.now -= self.alive.pop(key)[0]


def measure(make):
    inputs, run = make()
    with Live() as live:
        output = run(*inputs)
        kept, peak_forward = live.now, live.peak
        grad = torch.zeros_like(output)
        live.peak = live.now
        torch.autograd.backward([output], [grad])
    return {"kept": kept, "peak_forward": peak_forward, "peak_backward": live.peak}


def parameter(*shape, dtype, trained=True):
    return torch.zeros(*shape, dtype=dtype, requires_grad=trained)


def llama_norm(x, weight):
    """The operators of transformers' LlamaRMSNorm, in its order, with what it has names for held as long."""
    kind = x.dtype
    wide = x.to(torch.float32)
    squares = wide.pow(2).mean(-1, keepdim=True)
    wide = wide * torch.rsqrt(squares + 1e-5)
    return weight * wide.to(kind)


def gemma_norm(x, weight):
    """The same of its Gemma3RMSNorm, which has names for neither squares nor sums."""

    def norm(wide):
        return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)

    made = norm(x.float())
    made = made * (1.0 + weight.float())
    return made.type_as(x)


def norm_case(form, dtype, trained=True, input_grad=True):
    def make():
        x = parameter(ROWS, WIDTH, dtype=dtype, trained=input_grad)
        return (x, parameter(WIDTH, dtype=dtype, trained=trained)), form

    return make


def gate_case(dtype):
    def make():
        return (parameter(ROWS, WIDTH, dtype=dtype), parameter(ROWS, WIDTH, dtype=dtype)), lambda a, b: F.silu(a) * b

    return make


def pairs(x, table):
    """The operators of torchtitan's apply_rotary_emb, of queries."""
    turned = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(turned * table).flatten(3).type_as(x)


def halves(x, cos, sin):
    """The operators of transformers' apply_rotary_pos_emb, of queries."""

    def swapped(x):
        half = x.shape[-1] // 2
        first, second = x[..., :half], x[..., half:]
        return torch.cat((-second, first), dim=-1)

    return x * cos + swapped(x) * sin


def rotary_case(dtype, by_halves):
    def make():
        x = parameter(1, ROWS, HEADS, WIDTH // HEADS, dtype=dtype)
        if by_halves:
            table = torch.zeros(1, ROWS, 1, WIDTH // HEADS, dtype=dtype)
            return (x, table, table.clone()), halves
        return (x, torch.zeros(1, ROWS, 1, WIDTH // HEADS // 2, dtype=torch.complex64)), pairs

    return make


def loss_case(dtype):
    def make():
        logits = parameter(ROWS, CLASSES, dtype=dtype)
        targets = torch.zeros(ROWS, dtype=torch.int64)
        return (logits, targets), lambda x, y: F.cross_entropy(x.float(), y)

    return make


def parallel_loss_case(dtype):
    """loss_parallel's two functions on one rank's logits; what other ranks would send is left out."""

    class OneRank(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits, targets):
            result = loss_parallel._log_softmax(logits, 1, False, None, 0)
            ctx.save_for_backward(result, targets)
            return result.new_zeros(())

        @staticmethod
        def backward(ctx, grad):
            result, targets = ctx.saved_tensors
            with mock.patch.object(loss_parallel, "_MaskPartial", Unmasked):
                grad = loss_parallel._nll_loss_and_log_softmax_backward(
                    grad, result, targets, None, 2, -100, None, result.shape, 1, None, 0)
            return grad, None

    class Unmasked:
        def __init__(self, **_):
            self.mask_buffer = mock.Mock(data=torch.zeros(ROWS, dtype=torch.bool))

        def _partition_value(self, value, *_):
            return value

    def run(logits, targets):
        with mock.patch.object(loss_parallel.funcol, "all_reduce", lambda x, **_: x):
            return OneRank.apply(logits.float(), targets)

    def make():
        return (parameter(ROWS, 64 * CLASSES, dtype=dtype), torch.zeros(ROWS, dtype=torch.int64)), run

    return make


def block_case(dtype, norm):
    """A Llama block under scaled_dot_product_attention's flash kernel."""
    head, kv = WIDTH // HEADS, WIDTH // HEADS * KV_HEADS
    shapes = [(WIDTH,), (WIDTH, WIDTH), (kv, WIDTH), (kv, WIDTH), (WIDTH, WIDTH), (WIDTH,), (HIDDEN, WIDTH),
              (HIDDEN, WIDTH), (WIDTH, HIDDEN)]

    def run(x, table, n1, wq, wk, wv, wo, n2, gate, up, down):
        def attend(x):
            q, k, v = (F.linear(x, w).view(1, ROWS, -1, head) for w in (wq, wk, wv))
            q, k = pairs(q, table), pairs(k, table)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return F.linear(o.transpose(1, 2).reshape(1, ROWS, WIDTH), wo)

        h = x + attend(norm(x, n1))
        del x
        m = norm(h, n2)
        return h + F.linear(F.silu(F.linear(m, gate)) * F.linear(m, up), down)

    def make():
        x = parameter(1, ROWS, WIDTH, dtype=dtype)
        table = torch.zeros(1, ROWS, 1, head // 2, dtype=torch.complex64)
        return (x, table, *(parameter(*shape, dtype=dtype) for shape in shapes)), run

    return make


def main():
    cases = {}
    for word, dtype in DTYPES.items():
        cases[f"llama_norm {word}"] = norm_case(llama_norm, dtype)
        cases[f"llama_norm frozen {word}"] = norm_case(llama_norm, dtype, trained=False)
        cases[f"llama_norm first {word}"] = norm_case(llama_norm, dtype, input_grad=False)
        cases[f"gemma_norm {word}"] = norm_case(gemma_norm, dtype)
        cases[f"silu_mul {word}"] = gate_case(dtype)
        cases[f"rotary pairs {word}"] = rotary_case(dtype, False)
        cases[f"rotary halves {word}"] = rotary_case(dtype, True)
        cases[f"cross_entropy {word}"] = loss_case(dtype)
        cases[f"loss_parallel {word}"] = parallel_loss_case(dtype)
        cases[f"block {word}"] = block_case(dtype, llama_norm)
    sizes = {"rows": ROWS, "width": WIDTH, "heads": HEADS, "kv_heads": KV_HEADS, "hidden": HIDDEN,
             "classes": CLASSES, "parallel_classes": 64 * CLASSES}
    expected = {"torch": torch.__version__.split("+")[0], "sizes": sizes,
                "cases": {name: measure(make) for name, make in cases.items()}}
    folder = os.path.join(sys.argv[1], "eager")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
