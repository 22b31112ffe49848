"""Bytes of parameters, gradients and optimizer state in PyTorch 2.15: SGD, momentum, Adam, mixed precision."""

import torch
from torch import nn

DIM, HIDDEN, LAYERS, BATCH = 16, 32, 3, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def state_of(optimizer):
    """What the optimizer keeps a parameter: momentum_buffer, or exp_avg and exp_avg_sq; the step count aside."""
    return [v for s in optimizer.state.values() for k, v in s.items() if torch.is_tensor(v) and k != "step"]


def train(make_optimizer, dtype=torch.float32):
    """One step; returns bytes of parameters, gradients and optimizer state."""
    torch.manual_seed(1)
    master = nn.Sequential(*[Layer() for _ in range(LAYERS)])  # float32
    optimizer = make_optimizer(master.parameters())
    model = nn.Sequential(*[Layer() for _ in range(LAYERS)]).to(dtype) if dtype != torch.float32 else master
    if model is not master:
        model.load_state_dict(master.state_dict())  # computed with in 16 bits, updated in 32

    x, y = torch.randn(BATCH, DIM, dtype=dtype), torch.randn(BATCH, DIM, dtype=dtype)
    nn.functional.mse_loss(model(x), y).backward()
    parameters, gradients = size(model.parameters()), size(p.grad for p in model.parameters())
    if model is not master:
        for p, q in zip(master.parameters(), model.parameters()):
            p.grad = q.grad.float()
    optimizer.step()
    kept = state_of(optimizer) + (list(master.parameters()) if model is not master else [])
    return parameters, gradients, size(kept)


def sgd(p): return torch.optim.SGD(p, lr=0.01)
def momentum(p): return torch.optim.SGD(p, lr=0.01, momentum=0.9)
def adam(p): return torch.optim.Adam(p, lr=0.01)


if __name__ == "__main__":
    p, g, os = train(adam)
    n = p // 4
    print(f"parameters = {n:,}")
    print(f"p_bytes = {p:,}")
    print(f"g_bytes = {g:,}")
    print(f"os_bytes = {os:,}")
    print(f"k_adam = {os // n}")
    print(f"per_parameter = {(p + g + os) // n}")
    print(f"change.k = {train(sgd)[2] // n}")
    print(f"momentum.k = {train(momentum)[2] // n}")
    p, g, os = train(adam, torch.bfloat16)
    print(f"mixed.weights = {p // n}")
    print(f"mixed.gradients = {g // n}")
    print(f"mixed.k = {os // n}")
    print(f"ratio = {p // p} : {g // p} : {os // p}")
    print(f"mixed-sgd.k = {train(sgd, torch.bfloat16)[2] // n}")
    print(f"mixed-momentum.k = {train(momentum, torch.bfloat16)[2] // n}")
