"""REINFORCE on a small world: batches are collected by acting, one observation at a time."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(199)
rng = np.random.RandomState(199)


class Walk:
    """Walk to the flag: observations are a noisy position, actions left, stay, right."""

    def reset(self):
        self.position, self.flag, self.time = 0, rng.randint(-4, 5), 0
        return self.observe()

    def observe(self):
        view = np.zeros(48)
        view[self.position + 12] = 1.0
        view[self.flag + 36] = 1.0
        return view + 0.01 * rng.randn(48)

    def step(self, action):
        self.position = int(np.clip(self.position + action - 1, -11, 11))
        self.time += 1
        done = self.position == self.flag or self.time == 12
        return self.observe(), 1.0 if self.position == self.flag else -0.1, done


policy = nn.Sequential(nn.Linear(48, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(),
                       nn.Linear(400, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
world = Walk()
for iteration in range(24):
    observations, actions, returns, totals = [], [], [], []
    for episode in range(10):
        obs, rewards, done = world.reset(), [], False
        while not done:
            with torch.no_grad():
                logits = policy(torch.Tensor(obs).unsqueeze(0))
            # Acting by a NumPy draw keeps the rollout independent of torch's generator.
            p = logits.softmax(1).squeeze(0).double().numpy()
            action = int(np.searchsorted(p.cumsum() / p.sum(), rng.rand()))
            observations.append(obs)
            actions.append(action)
            obs, reward, done = world.step(action)
            rewards.append(reward)
        totals.append(sum(rewards))
        value, discounted = 0.0, []
        for reward in reversed(rewards):
            value = reward + 0.95 * value
            discounted.insert(0, value)
        returns += discounted
    batch = torch.Tensor(np.array(observations))
    advantage = torch.Tensor(returns)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    distribution = Categorical(logits=policy(batch))
    loss = -(distribution.log_prob(torch.tensor(actions)) * advantage).mean()
    loss = loss - 0.01 * distribution.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 6 == 5:
        print(f"iteration {iteration}: {len(actions)} actions, mean reward {np.mean(totals):.4f}")
norm = sum(p.norm().item() ** 2 for p in policy.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
