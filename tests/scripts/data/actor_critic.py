"""Advantage actor-critic over a vector of small worlds written in NumPy, with GAE."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class VecCart:
    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.state = self.rng.normal(size=(n, 4)) * 0.1
        self.age = np.zeros(n, dtype=int)

    def step(self, action):
        push = np.where(action == 1, 1.0, -1.0)
        s = self.state
        s = np.stack([s[:, 0] + 0.1 * s[:, 1], s[:, 1] + 0.1 * (push - s[:, 2]),
                      s[:, 2] + 0.1 * s[:, 3], s[:, 3] + 0.1 * (3 * s[:, 2] - push)], 1)
        self.age += 1
        done = (np.abs(s[:, 2]) > 0.8) | (self.age >= 50)
        s[done] = self.rng.normal(size=(done.sum(), 4)) * 0.1
        self.age[done] = 0
        self.state = s
        return s.astype(np.float64), np.where(done, -1.0, 0.1), done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
        self.pi = nn.Linear(256, 2)
        self.v = nn.Linear(256, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


torch.manual_seed(5)
env = VecCart(16, 5)
net = ActorCritic()
opt = torch.optim.RMSprop(net.parameters(), lr=7e-4, alpha=0.99, eps=1e-3)
chooser = np.random.default_rng(6)
obs = env.state
dtype = torch.get_default_dtype()
for update in range(20):
    buf = {"obs": [], "act": [], "rew": [], "done": [], "val": []}
    for t in range(16):
        with torch.no_grad():
            logits, value = net(torch.as_tensor(obs, dtype=dtype))
        p = F.softmax(logits, -1)[:, 1].double().numpy().round(4)
        act = (chooser.random(16) < p).astype(int)
        nxt, rew, done = env.step(act)
        for k, item in zip(buf, (obs, act, rew, done, value.numpy())):
            buf[k].append(item)
        obs = nxt
    with torch.no_grad():
        last = net(torch.as_tensor(obs, dtype=dtype))[1].numpy()
    adv, gae = np.zeros((16, 16)), np.zeros(16)
    for t in reversed(range(16)):
        nonterminal = 1.0 - buf["done"][t]
        following = last if t == 15 else buf["val"][t + 1]
        delta = buf["rew"][t] + 0.99 * following * nonterminal - buf["val"][t]
        gae = delta + 0.99 * 0.95 * nonterminal * gae
        adv[t] = gae
    ret = torch.as_tensor(adv + np.stack(buf["val"]), dtype=dtype).flatten()
    adv = torch.as_tensor(adv, dtype=dtype).flatten()
    logits, value = net(torch.as_tensor(np.concatenate(buf["obs"]), dtype=dtype))
    logp = F.log_softmax(logits, -1)
    chosen = logp.gather(1, torch.as_tensor(np.concatenate(buf["act"]))[:, None]).squeeze(1)
    entropy = -(logp.exp() * logp).sum(-1).mean()
    loss = -(chosen * adv).mean() + 0.5 * F.mse_loss(value, ret) - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    if update % 5 == 4:
        print(f"update {update + 1} reward {np.mean(buf['rew']):.4f} entropy {entropy:.4f}")
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
