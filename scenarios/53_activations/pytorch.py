"""Activations in PyTorch 2.15: how large they are, and how often forward runs with activation checkpointing."""

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

DIM, HIDDEN, HEADS, LAYERS, VOCAB = 16, 64, 2, 4, 32


class Block(nn.Module):
    runs = 0  # forwards of all blocks

    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):
        Block.runs += 1
        h = self.ln1(x)
        q, k, v = (w(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(a.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, seq):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(seq, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens, recompute):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if recompute else block(x)
        return self.head(self.ln_f(x))


def step(batch=4, seq=16, recompute=False):
    """Bytes of the largest activation inside the blocks, forwards of blocks, and the loss of one step."""
    torch.manual_seed(1)
    model, tokens, largest = Gpt(seq), torch.randint(VOCAB, (batch, seq)), 0
    weights = {p.data_ptr() for p in model.parameters()}

    def keep(tensor):  # called for each tensor that forward saves for backward
        nonlocal largest
        if tensor.data_ptr() not in weights and tensor.shape[-1] == HIDDEN:
            largest = max(largest, tensor.numel() * tensor.element_size())
        return tensor

    Block.runs = 0
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        logits = model(tokens, recompute)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    loss.backward()
    return largest, Block.runs, loss.item()


if __name__ == "__main__":
    largest, forwards, loss = step()
    print(f"largest = {largest:,}")
    print(f"forwards = {forwards}")
    print(f"batch.largest = {step(batch=8)[0]:,}")
    print(f"long.largest = {step(seq=32)[0]:,}")
    _, forwards, same_loss = step(recompute=True)
    print(f"change.forwards = {forwards}")
    assert loss == same_loss
