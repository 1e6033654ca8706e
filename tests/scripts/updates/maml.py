"""Learning to learn: inner steps with a graph, in two ways: by hand and by functional_call."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import stateless


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(1, 200), nn.Linear(200, 200), nn.Linear(200, 1)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


def task():
    phase, size = 3 * torch.rand(1), 0.5 + torch.rand(1)
    x = 4 * torch.rand(40, 1) - 2
    return x[:20], size * torch.sin(x[:20] + phase), x[20:], size * torch.sin(x[20:] + phase)


torch.manual_seed(17)
net = Net()
meta = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(25):
    meta.zero_grad()
    total = 0.0
    for _ in range(3):
        xs, ys, xq, yq = task()
        fast = dict(net.named_parameters())
        for inner in range(2):
            pred = net(xs) if inner == 0 else stateless.functional_call(net, fast, (xs,))
            grads = torch.autograd.grad(F.mse_loss(pred, ys), list(fast.values()),
                                        create_graph=True)
            fast = {k: p - 0.05 * g for (k, p), g in zip(fast.items(), grads)}
        loss = F.mse_loss(stateless.functional_call(net, fast, (xq,)), yq) / 3
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    meta.step()
    if step % 5 == 4:
        print(f"step {step} loss {total:.6f}")
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {total:.6f}")
