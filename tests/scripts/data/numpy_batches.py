"""No loader: NumPy arrays, a shuffled index, torch.from_numpy on views of one buffer."""
import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)
real = np.float64 if torch.get_default_dtype() == torch.float64 else np.float32
N, D_in, H, D_out, batch_size = 640, 50, 300, 5, 64
X = np.random.randn(N, D_in).astype(real)
Y = np.tanh(X @ np.random.randn(D_in, D_out) / 5).astype(real)
buffer_x = np.empty((batch_size, D_in), dtype=real)
buffer_y = np.empty((batch_size, D_out), dtype=real)


class MLP(nn.Module):
    def __init__(self):
        super(MLP, self).__init__()
        self.linear1 = nn.Linear(D_in, H)
        self.linear2 = nn.Linear(H, H)
        self.linear3 = nn.Linear(H, D_out)

    def forward(self, x):
        x = self.linear1(x).clamp(min=0)
        x = self.linear2(x).clamp(min=0)
        return self.linear3(x)


model = MLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
train_losses = []
for epoch in range(6):
    index = np.random.permutation(N)
    for start in range(0, N, batch_size):
        chosen = index[start:start + batch_size]
        np.take(X, chosen, axis=0, out=buffer_x)
        np.take(Y, chosen, axis=0, out=buffer_y)
        pred = model(torch.from_numpy(buffer_x))
        loss = ((pred - torch.from_numpy(buffer_y)) ** 2).sum() / batch_size
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_losses.append(float(loss))
    noise = np.random.randn(32, D_in).astype(real)
    with torch.no_grad():
        out = model(torch.from_numpy(noise)).numpy()
    print(epoch, "%.6f" % np.mean(train_losses[-10:]), "%.6f" % np.abs(out).mean())
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, train_losses[-1]))
