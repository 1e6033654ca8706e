"""No dataset and no loader: each batch is drawn on the spot."""
import torch

torch.manual_seed(223)
dim, width = 100, 384
true_w = torch.randn(dim, 1) / dim ** 0.5


def sample(n):
    x = torch.randn(n, dim)
    return x, torch.tanh(x @ true_w) + 0.01 * torch.randn(n, 1)


model = torch.nn.Sequential(
    torch.nn.Linear(dim, width),
    torch.nn.ReLU(),
    torch.nn.Linear(width, width),
    torch.nn.ReLU(),
    torch.nn.Linear(width, 1),
)
loss_fn = torch.nn.MSELoss(reduction="mean")
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
for t in range(80):
    x, y = sample(int(torch.randint(50, 100, ())))  # Batches of changing size.
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    if t % 20 == 19:
        print(t, len(x), "%.6f" % loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x, y = sample(500)
with torch.no_grad():
    test = loss_fn(model(x), y).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f test %.6f" % (norm, test))
