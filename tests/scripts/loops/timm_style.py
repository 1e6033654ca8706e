"""Image training as the model zoos do it: meters, mixup, soft targets, EMA model, summary.csv."""
import copy
import csv
import math
from collections import OrderedDict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class AverageMeter:
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.9):
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            ema_v.copy_(self.decay * ema_v + (1.0 - self.decay) * model_v)


class ConvBnAct(nn.Sequential):
    def __init__(self, i, o, stride=1):
        super().__init__(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = ConvBnAct(width, width)
        self.se = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // 4, 1),
                                nn.SiLU(), nn.Conv2d(width // 4, width, 1), nn.Sigmoid())
        self.gamma = nn.Parameter(0.1 * torch.ones(width, 1, 1))

    def forward(self, x):
        y = self.conv(x)
        return x + self.gamma * y * self.se(y)


def accuracy(output, target, topk=(1,)):
    pred = output.topk(max(topk), 1)[1].t()
    correct = pred.eq(target.reshape(1, -1).expand_as(pred))
    return [correct[:k].reshape(-1).float().sum() * 100.0 / target.size(0) for k in topk]


def mixup(x, target, rng, classes=6, alpha=0.3):
    lam = rng.beta(alpha, alpha)
    one = F.one_hot(target, classes).to(x.dtype) * 0.9 + 0.1 / classes
    return x * lam + x.flip(0) * (1 - lam), one * lam + one.flip(0) * (1 - lam)


def train_one_epoch(epoch, model, loader, optimizer, ema, rng, updates, total):
    losses_m = AverageMeter()
    model.train()
    for input, target in loader:
        for g in optimizer.param_groups:
            g["lr"] = 0.02 * 0.5 * (1 + math.cos(math.pi * updates / total))
        input, soft = mixup(input, target, rng)
        output = model(input)
        loss = torch.sum(-soft * F.log_softmax(output, dim=-1), dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        updates += 1
        losses_m.update(loss.item(), input.size(0))
    return OrderedDict([("loss", losses_m.avg)]), updates


def validate(model, loader):
    losses_m, top1_m, top3_m = AverageMeter(), AverageMeter(), AverageMeter()
    model.eval()
    with torch.no_grad():
        for input, target in loader:
            output = model(input)
            acc1, acc3 = accuracy(output, target, topk=(1, 3))
            losses_m.update(F.cross_entropy(output, target).item(), input.size(0))
            top1_m.update(acc1.item(), output.size(0))
            top3_m.update(acc3.item(), output.size(0))
    return OrderedDict([("loss", losses_m.avg), ("top1", top1_m.avg), ("top3", top3_m.avg)])


def main():
    torch.manual_seed(77)
    rng = np.random.default_rng(77)
    y = torch.randint(0, 6, (480,))
    x = torch.randn(480, 3, 16, 16) + F.one_hot(y, 6).to(torch.get_default_dtype()).repeat(
        1, 128).view(480, 3, 16, 16)
    train = torch.utils.data.DataLoader(list(zip(x[:400], y[:400])), 40, shuffle=True)
    valid = torch.utils.data.DataLoader(list(zip(x[400:], y[400:])), 80)
    model = nn.Sequential(ConvBnAct(3, 16, 2), Block(16), ConvBnAct(16, 32, 2), Block(32),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
    ema, updates = ModelEma(model), 0
    for epoch in range(4):
        train_metrics, updates = train_one_epoch(epoch, model, train, optimizer, ema, rng,
                                                 updates, 40)
        eval_metrics = validate(model, valid)
        ema_metrics = validate(ema.module, valid)
        row = OrderedDict(epoch=epoch)
        row.update([("train_" + k, f"{v:.5f}") for k, v in train_metrics.items()])
        row.update([("eval_" + k, f"{v:.5f}") for k, v in eval_metrics.items()])
        row.update([("ema_" + k, f"{v:.5f}") for k, v in ema_metrics.items()])
        with open("summary.csv", mode="a") as cf:
            dw = csv.DictWriter(cf, fieldnames=row.keys())
            if epoch == 0:
                dw.writeheader()
            dw.writerow(row)
        print(" ".join(f"{k} {v}" for k, v in row.items()))
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL norm {norm:.6f} loss {eval_metrics['loss']:.6f}")


main()
