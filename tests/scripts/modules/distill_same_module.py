"""Student and momentum teacher in one module (as DINO has it); in-place work on the outputs."""
import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(59)


class Dino(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(40, 160), nn.GELU(), nn.Linear(160, 32))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.register_buffer("center", torch.zeros(1, 32))

    @torch.no_grad()
    def update(self, teacher_out, m=0.98):
        for s, t in zip(self.student.parameters(), self.teacher.parameters()):
            t.data.mul_(m).add_(s.data, alpha=1 - m)
        self.center = self.center * 0.9 + teacher_out.mean(0, keepdim=True) * 0.1

    def forward(self, a, b):
        with torch.no_grad():
            target = ((self.teacher(a) - self.center) / 0.2).softmax(-1)
        return self.student(a), self.student(b), target


model = Dino()
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(512, 40)
for step in range(70):
    rows = torch.arange(step * 48, step * 48 + 48) % 512
    a, b = x[rows] + 0.2 * torch.randn(48, 40), x[rows] + 0.2 * torch.randn(48, 40)
    one, two, target = model(a, b)
    one += 0.0
    two.mul_(5.0)
    loss = -(target * F.log_softmax(two, -1)).sum(-1).mean() + 0.1 * one.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.update(target)
    if step % 14 == 13:
        print(step, "%.6f center %.6f" % (loss.item(), model.center.norm().item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
