"""A search over settings: models are made, trained and thrown away; the best is kept."""
import gc
import itertools
import sys

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(500, 28)
y = (x[:, :3].sum(1) > x[:, 3:6].prod(1)).to(x.dtype)
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


def make(width, activation):
    return nn.Sequential(nn.Linear(28, width), ACTIVATIONS[activation](),
                         nn.Linear(width, width), ACTIVATIONS[activation](), nn.Linear(width, 1))


def run(width, activation, kind):
    torch.manual_seed(width)
    model = make(width, activation)
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01 if kind == "SGD" else 1e-3,
                                           **({"eps": 1e-4} if kind == "Adam" else {}))
    for epoch in range(2):
        for xb, yb in zip(x[:400].split(50), y[:400].split(50)):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        score = nn.functional.binary_cross_entropy_with_logits(model(x[400:]).squeeze(1),
                                                               y[400:]).item()
    return model, score


best, best_model, best_name = None, None, None
for number, setting in enumerate(itertools.product((128, 256), ACTIVATIONS, ("SGD", "Adam"))):
    model, score = run(*setting)
    sys.stderr.write(f"\r{number + 1}/8")
    print(*setting, f"{score:.6f}")
    if best is None or score < best:
        best, best_model, best_name = score, model, setting
    del model
    gc.collect()
norm = sum(p.norm().item() ** 2 for p in best_model.parameters()) ** 0.5
print("FINAL", *best_name, f"norm {norm:.6f} loss {best:.6f}")
