"""The operations of a llama's step, counted by PyTorch: products, causal attention, and what recomputation adds. CPU."""
import json
import pathlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

C = json.loads((pathlib.Path(__file__).parent.parent / "101_config" / "config.json").read_text())
DIM, HIDDEN, LAYERS = C["hidden_size"], C["intermediate_size"], C["num_hidden_layers"]
HEADS, KV_HEADS, VOCAB = C["num_attention_heads"], C["num_key_value_heads"], C["vocab_size"]
HEAD = DIM // HEADS
SEQ = 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.wq, self.wo = nn.Linear(DIM, HEADS * HEAD, bias=False), nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.wk, self.wv = (nn.Linear(DIM, KV_HEADS * HEAD, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(DIM, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):  # attention's operations are counted by hand below: causal, they are half of a square
        h = self.ln1(x)
        k, v = self.wk(h), self.wv(h)
        x = x + self.wo(self.wq(h) + (k + v).repeat(1, 1, HEADS // KV_HEADS))
        h = self.ln2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, again):
        super().__init__()
        self.again = again
        self.tok, self.norm = nn.Embedding(VOCAB, DIM), nn.RMSNorm(DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, early_stop=False) if self.again else block(x)
        return self.head(self.norm(x))


def products(again):
    """Operations of all matrix products of a step of one sample."""
    torch.manual_seed(1)
    model = Llama(again)
    with FlopCounterMode(display=False) as counter:
        model(torch.randint(VOCAB, (1, SEQ))).sum().backward()
    return counter.get_total_flops()


def main():
    pairs = SEQ * (SEQ + 1) // 2  # a query and the keys up to its own
    forward = 4 * LAYERS * DIM * pairs  # two products, a multiplication and an addition each
    attention = forward + 5 * forward // 2  # FlashAttention's backward: five products to forward's two
    linear = products(again=False)
    print(f"linear = {linear:,}")
    print(f"attention = {attention:,}")
    print(f"both = {linear + attention:,}")
    print(f"again.done = {products(again=True) + attention + forward:,}")


if __name__ == "__main__":
    main()
