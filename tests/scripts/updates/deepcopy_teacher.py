"""Mean teacher: deepcopy of the student, updated as its average; snapshots and load_state_dict."""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(277)
x = torch.randn(960, 83)
y = (x[:, :6] @ torch.randn(6, 4)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
student = nn.Sequential(nn.Linear(83, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                        nn.Linear(300, 4))
teacher = copy.deepcopy(student)
teacher.requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=5e-4)
jitter = torch.Generator().manual_seed(6)
best, best_state = None, None
for epoch in range(4):
    total = 0.0
    for a, b in loader:
        noisy = a + 0.1 * torch.randn(a.shape, generator=jitter)
        with torch.no_grad():
            soft = teacher(a).softmax(1)
        out = student(noisy)
        loss = F.cross_entropy(out, b) + 0.5 * F.kl_div(out.log_softmax(1), soft,
                                                        reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for t, s in zip(teacher.parameters(), student.parameters()):
                t.mul_(0.95).add_(s, alpha=0.05)
        total += loss.item()
    if best is None or total < best:
        best, best_state = total, copy.deepcopy(student.state_dict())
    if epoch == 1:  # Back to the teacher once.
        student.load_state_dict(teacher.state_dict())
    print("epoch %d loss %.6f" % (epoch, total / len(loader)))
student.load_state_dict(best_state)
norms = [sum(p.norm().item() ** 2 for p in m.parameters()) ** 0.5 for m in (student, teacher)]
print("FINAL student %.6f teacher %.6f best %.6f" % (*norms, best / len(loader)))
