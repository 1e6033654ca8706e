"""Early stopping that goes back to the best checkpoint with a smaller rate, twice, then ends."""
import logging
import os

import torch
from torch import nn

logging.basicConfig(filename="run.log", level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("train")
torch.manual_seed(88)
x = torch.randn(360, 40)
y = (x[:, :1] * x[:, 1:2]).sign() * 0.5 + 0.3 * torch.randn(360, 1)
train_x, train_y, valid_x, valid_y = x[:240], y[:240], x[240:], y[240:]


def build():
    return nn.Sequential(nn.Linear(40, 400), nn.ReLU(), nn.Linear(400, 200), nn.ReLU(),
                         nn.Linear(200, 1))


model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)
best, bad, reloads, epoch = float("inf"), 0, 0, 0
while reloads < 2 and epoch < 60:
    model.train()
    for at in range(0, 240, 80):
        loss = nn.functional.mse_loss(model(train_x[at:at + 80]), train_y[at:at + 80])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        valid = nn.functional.mse_loss(model(valid_x), valid_y).item()
    log.info("epoch %d valid %.5f lr %.4f", epoch, valid, optimizer.param_groups[0]["lr"])
    epoch += 1
    if valid < best:
        best, bad = valid, 0
        tmp = "best.pt.tmp"
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "epoch": epoch}, tmp)
        os.replace(tmp, "best.pt")
        continue
    bad += 1
    if bad == 3:
        reloads, bad = reloads + 1, 0
        state = torch.load("best.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        for group in optimizer.param_groups:
            group["lr"] *= 0.3
        print(f"epoch {epoch}: back to epoch {state['epoch']}")
model = build()
model.load_state_dict(torch.load("best.pt")["model"])
with torch.no_grad():
    final = nn.functional.mse_loss(model(valid_x), valid_y).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL epochs {epoch} norm {norm:.6f} loss {final:.6f}")
