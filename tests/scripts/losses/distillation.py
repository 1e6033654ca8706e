"""A student learns from a frozen teacher: soft targets and hidden features."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(48, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, 8)

    def forward(self, x, return_features=False):
        h, features = torch.relu(self.stem(x)), []
        for layer in self.layers:
            h = h + torch.tanh(layer(h))
            features.append(h)
        return (self.head(h), features) if return_features else self.head(h)


def fit(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()


def distill(student, teacher, loader, epochs, T=3.0, alpha=0.7):
    adapters = nn.ModuleList([nn.Linear(128, 256) for _ in range(2)])
    optimizer = torch.optim.SGD([*student.parameters(), *adapters.parameters()], lr=0.05,
                                momentum=0.8)
    kd = nn.KLDivLoss(reduction="batchmean")
    for epoch in range(epochs):
        sums = [0.0, 0.0, 0.0]
        for x, y in loader:
            with torch.no_grad():
                t_logits, t_feats = teacher(x, return_features=True)
            s_logits, s_feats = student(x, return_features=True)
            soft = kd(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1)) * T * T
            hard = F.cross_entropy(s_logits, y)
            hint = sum(F.mse_loss(a(s), t) for a, s, t in zip(adapters, s_feats, t_feats[::2]))
            loss = alpha * soft + (1 - alpha) * hard + 0.1 * hint
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for k, v in enumerate((soft, hard, hint)):
                sums[k] += v.item()
        print("epoch", epoch, *(f"{s / len(loader):.5f}" for s in sums))
    return loss.item()


torch.manual_seed(66)
x = torch.randn(800, 48)
y = (x @ torch.randn(48, 8)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
teacher, student = Net(256, 4), Net(128, 2)
fit(teacher, loader, 2)
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()
last = distill(student, teacher, loader, 3)
norm = sum(p.norm().item() ** 2 for p in student.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {last:.6f}")
