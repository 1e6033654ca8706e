"""Layers with their own autograd.Function: binary weights straight through, gradient reversal."""
import torch
from torch import nn
from torch.autograd import Function


class BinaryLinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight):
        ctx.save_for_backward(input, weight)
        scale = weight.abs().mean()
        return input @ (weight.sign() * scale).t()

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        scale = weight.abs().mean()
        grad_input = grad_output @ (weight.sign() * scale)
        grad_weight = (grad_output.t() @ input) * (weight.abs() <= 1).to(weight.dtype)
        return grad_input, grad_weight


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, lamb):
        ctx.lamb = lamb
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lamb * grad_output, None


class BinaryLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(o, i))

    def forward(self, x):
        return BinaryLinearFunction.apply(x, self.weight)


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), BinaryLinear(256, 256),
                                      nn.Tanh())
        self.classes = nn.Linear(256, 4)
        self.domain = nn.Linear(256, 2)

    def forward(self, x, lamb):
        h = self.features(x)
        return self.classes(h), self.domain(GradReverse.apply(h, lamb))


torch.manual_seed(55)
source = torch.randn(640, 32)
target = torch.randn(640, 32) * 1.2 + 0.3
labels = (source @ torch.randn(32, 4)).argmax(1)
model = DANN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
loss_fn = nn.CrossEntropyLoss()
steps = 0
for epoch in range(4):
    for at in range(0, 640, 40):
        lamb = 2.0 / (1.0 + pow(2.718281828, -10.0 * steps / 64)) - 1
        optimizer.zero_grad()
        out, dom = model(source[at:at + 40], lamb)
        _, dom_t = model(target[at:at + 40], lamb)
        loss = loss_fn(out, labels[at:at + 40])
        loss = loss + loss_fn(dom, torch.zeros(40, dtype=torch.long))
        loss = loss + loss_fn(dom_t, torch.ones(40, dtype=torch.long))
        loss.backward()
        optimizer.step()
        steps += 1
    print(f"epoch {epoch} loss {loss.item():.6f} lambda {lamb:.4f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
