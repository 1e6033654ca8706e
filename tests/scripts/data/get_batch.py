"""nanoGPT style: get_batch() draws random windows, the model returns logits and loss."""
import math
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

# hyperparameters
batch_size = 20
block_size = 16
max_iters = 60
eval_interval = 20
eval_iters = 4
learning_rate = 1e-3
n_embd = 48
n_head = 4
# ------------
torch.manual_seed(1337)
text = "".join(chr(97 + (i * i // 7 + i // 3) % 26) if i % 6 else " " for i in range(6000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + block_size + 1] for i in ix])
    return x, y


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd)
        mask = torch.tril(torch.ones(block_size, block_size))
        self.register_buffer("bias", mask.view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        k = k.view(B, T, n_head, C // n_head).transpose(1, 2)
        q = q.view(B, T, n_head, C // n_head).transpose(1, 2)
        v = v.view(B, T, n_head, C // n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(len(chars), n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.attn = nn.ModuleList([CausalSelfAttention() for _ in range(2)])
        self.mlp = nn.ModuleList([nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(),
                                                nn.Linear(4 * n_embd, n_embd)) for _ in range(2)])
        self.ln = nn.ModuleList([nn.LayerNorm(n_embd) for _ in range(5)])
        self.lm_head = nn.Linear(n_embd, len(chars), bias=False)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1)).unsqueeze(0)
        x = self.wte(idx) + self.wpe(pos)
        for i in range(2):
            x = x + self.attn[i](self.ln[2 * i](x))
            x = x + self.mlp[i](self.ln[2 * i + 1](x))
        logits = self.lm_head(self.ln[4](x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
t0 = time.time()
for it in range(max_iters):
    if it % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    X, Y = get_batch("train")
    logits, loss = model(X, Y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
losses = estimate_loss()
print(f"took {time.time() - t0:.2f}s")
norm = math.sqrt(sum(p.detach().pow(2).sum().item() for p in model.parameters()))
print(f"FINAL norm {norm:.6f} train {losses['train']:.6f} val {losses['val']:.6f}")
