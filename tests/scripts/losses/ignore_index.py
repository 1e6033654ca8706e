"""The loss is a mean over tokens that are not padding; batches are sorted by length."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAD = 0
torch.manual_seed(151)
lengths = torch.randint(3, 18, (700,)).sort()[0]
tokens = torch.randint(1, 50, (700, 18))
tokens[torch.arange(18).unsqueeze(0) >= lengths.unsqueeze(1)] = PAD
# Rows of one batch differ much: the longest comes first, the shortest last.
order = torch.arange(700).view(10, 70).t().reshape(-1)
tokens = tokens[order]
targets = torch.where(tokens == PAD, torch.tensor(-100), (tokens * 3) % 50)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 64, padding_idx=PAD)
        self.conv = nn.Conv1d(64, 128, 3, padding=1)
        self.out = nn.Linear(128, 50)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        return self.out(torch.relu(self.conv(x)).transpose(1, 2))


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
loader = DataLoader(TensorDataset(tokens, targets), batch_size=50)
for epoch in range(5):
    total_loss, total_tokens = 0.0, 0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits.view(-1, 50), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        n = (y != -100).sum().item()
        total_loss += loss.item() * n
        total_tokens += n
    print("epoch %d: %.6f per token of %d" % (epoch, total_loss / total_tokens, total_tokens))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, total_loss / total_tokens))
