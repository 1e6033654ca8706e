"""Deep Q-learning: a replay buffer, epsilon-greedy by the random module, a soft target network."""
import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 256)
        self.layer2 = nn.Linear(256, 256)
        self.layer3 = nn.Linear(256, n_actions)

    def forward(self, x):
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        return self.layer3(x)


random.seed(12)
torch.manual_seed(12)
policy_net, target_net = DQN(8, 4), DQN(8, 4)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True, eps=1e-3)
memory = ReplayMemory(500)
steps_done = 0


def select_action(state):
    global steps_done
    sample = random.random()
    eps = 0.1 + 0.8 * 0.97 ** steps_done
    steps_done += 1
    if sample > eps:
        with torch.no_grad():
            return policy_net(state).max(1)[1].view(1, 1)
    return torch.tensor([[random.randrange(4)]], dtype=torch.long)


def optimize_model():
    if len(memory) < 64:
        return None
    batch = Transition(*zip(*memory.sample(64)))
    mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
    following = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    best = torch.zeros(64)
    with torch.no_grad():
        best[mask] = target_net(following).max(1)[0]
    expected = best * 0.9 + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


loss = None
for episode in range(12):
    place, goal = random.randrange(8), random.randrange(8)
    state = torch.zeros(1, 8)
    state[0, place], state[0, goal] = 1.0, state[0, goal] + 0.5
    total = 0.0
    for t in range(16):
        action = select_action(state)
        place = (place + (1, -1, 2, 0)[action.item()]) % 8
        done = place == goal
        reward = 1.0 if done else -0.05
        total += reward
        following = None
        if not done:
            following = torch.zeros(1, 8)
            following[0, place], following[0, goal] = 1.0, 0.5
        memory.push(state, action, following, torch.tensor([reward]))
        state = following
        loss = optimize_model() or loss
        weights = policy_net.state_dict()
        kept = target_net.state_dict()
        for key in weights:
            kept[key] = weights[key] * 0.05 + kept[key] * 0.95
        target_net.load_state_dict(kept)
        if done:
            break
    print("episode %d length %d total %.2f" % (episode, t + 1, total))
norm = sum(p.norm().item() ** 2 for p in policy_net.parameters()) ** 0.5
print("FINAL steps %d norm %.6f loss %.6f" % (steps_done, norm, loss))
