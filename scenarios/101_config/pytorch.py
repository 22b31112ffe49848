"""The llama of config.json in plain PyTorch: its parameters counted, and the operations of its products. CPU."""
import json
import pathlib

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

C = json.loads((pathlib.Path(__file__).parent / "config.json").read_text())
DIM, HIDDEN, LAYERS = C["hidden_size"], C["intermediate_size"], C["num_hidden_layers"]
HEADS, KV_HEADS, VOCAB = C["num_attention_heads"], C["num_key_value_heads"], C["vocab_size"]
HEAD = DIM // HEADS
BATCH, SEQ = 2, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.wq, self.wo = nn.Linear(DIM, HEADS * HEAD, bias=False), nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.wk, self.wv = (nn.Linear(DIM, KV_HEADS * HEAD, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(DIM, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):  # without attention itself: its operations are counted apart
        h = self.ln1(x)
        k, v = self.wk(h), self.wv(h)
        x = x + self.wo(self.wq(h) + (k + v).repeat(1, 1, HEADS // KV_HEADS))
        h = self.ln2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.norm = nn.Embedding(VOCAB, DIM), nn.RMSNorm(DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.tok(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def count(module):
    return sum(p.numel() for p in module.parameters())


def main():
    torch.manual_seed(1)
    model = Llama()
    tokens = torch.randint(VOCAB, (BATCH, SEQ))
    with FlopCounterMode(display=False) as forward:
        logits = model(tokens)
    with FlopCounterMode(display=False) as backward:
        logits.sum().backward()
    block = model.blocks[0]
    print(f"wq = {count(block.wq):,}")
    print(f"wk = {count(block.wk):,}")
    print(f"gate = {count(block.gate):,}")
    print(f"layer = {count(block):,}")
    print(f"total = {count(model):,}")
    print(f"forward = {forward.get_total_flops():,}")
    print(f"both = {forward.get_total_flops() + backward.get_total_flops():,}")
    model.head.weight = model.tok.weight
    print(f"change.total = {count(model):,}")


if __name__ == "__main__":
    main()
