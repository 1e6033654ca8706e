"""Unmodified scripts: alone and taken over, they must do what they do without us."""

import unittest

import scene

HEAD = """
import hashlib, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.manual_seed(3)
inputs = torch.randn(50, 6)
data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Linear(12, 1))
def finger(module):
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
"""

PLAIN = HEAD + """
loader = DataLoader(data, batch_size=16)
test_loader = DataLoader(data, batch_size=25)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 6))
def evaluate():
    model.eval()
    with torch.no_grad():
        return sum(nn.functional.mse_loss(model(x), y).item() for x, y in test_loader)
def main():
    history, seen = [evaluate()], 0
    for epoch in range(3):
        model.train()
        for x, y in loader:
            seen += len(x)
            loss = nn.functional.mse_loss(model(x), y)
            ZERO
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            warm.step()
        history.append(evaluate())
    print(finger(model), history, seen, warm.last_epoch, model[1].num_batches_tracked.item())
main()
"""


class TakeoverTest(scene.ScriptCase):
    def assert_unchanged(self, text):
        path = self.write(text)
        plain = self.run_python(path)
        taken = self.run_taken_over(path)

        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(taken.returncode, 0, taken.stderr)
        self.assertEqual(taken.stdout, plain.stdout)
        return taken

    def test_gives_the_same_bits_as_the_script_alone(self):
        for zero in ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=True)",
                     "model.zero_grad()", "[setattr(p, 'grad', None) for p in model.parameters()]"):
            with self.subTest(zero=zero):
                self.assert_unchanged(PLAIN.replace("ZERO", zero))

    def test_takes_over_scripts_that_zero_after_the_step(self):
        self.assert_unchanged(HEAD + """
loader = DataLoader(data, batch_size=16, drop_last=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    scheduler.step(total)
print(finger(model), total, optimizer.param_groups[0]["lr"])
""")

    def test_takes_over_subclasses_of_optimizers(self):
        self.assert_unchanged(HEAD + """
class Mine(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
loader = DataLoader(data, batch_size=25)
optimizer = Mine(model.parameters(), lr=0.05)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
print(finger(model))
""")

    def test_reads_the_training_loader_for_evaluation_too(self):
        self.assert_unchanged(HEAD + """
loader = DataLoader(data, batch_size=16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader))
""")

    def test_keeps_parameters_that_are_never_used(self):
        self.assert_unchanged(HEAD + """
model.add_module("spare", nn.Linear(3, 3))
model.forward = lambda x: model[3](model[2](model[1](model[0](x))))
loader = DataLoader(data, batch_size=25)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
print(finger(model))
""")

    def test_shuffles_in_its_own_order_but_uses_every_sample_once(self):
        path = self.write(HEAD + """
data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True), torch.arange(50))
loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
rounds = []
for epoch in range(2):
    seen = []
    for x, y, number in loader:
        seen += number.tolist()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    rounds.append(seen)
assert sorted(rounds[0]) == sorted(rounds[1]) == list(range(50)), rounds
assert rounds[0] != rounds[1] != list(range(50))
""")
        taken = self.run_taken_over(path)

        self.assertEqual(taken.returncode, 0, taken.stderr)

    def test_leaves_scripts_alone_that_use_the_trainer(self):
        path = self.write(HEAD + """
import rubato
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
trainer = rubato.Trainer(model, optimizer, data, batch=25, epochs=2)
for x, y in trainer:
    trainer.step(nn.functional.mse_loss(model(x), y))
print(trainer.step_number)
""")
        taken = self.run_taken_over(path)

        self.assertEqual((taken.returncode, taken.stdout), (0, "4\n"), taken.stderr)

    def test_runs_another_sitecustomize_as_well(self):
        self.write("print('theirs')", "sitecustomize.py")
        path = self.write("print('script')")
        site = scene.ENVIRONMENT["PYTHONPATH"]
        done = self.run_python(
            path, PYTHONPATH=f"{site}/rubato/takeover/site:{self.folder}:{site}")

        self.assertEqual(done.stdout, "theirs\nscript\n", done.stderr)

    def test_deterministic_shards_come_close_to_the_whole(self):
        path = self.write(HEAD + """
loader = DataLoader(data, batch_size=25)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
print(*(f"{w:.4f}" for w in model.weight.flatten().tolist()))
""")
        plain = self.run_python(path)
        taken = self.run_taken_over(path, RUBATO_DETERMINISTIC="1")

        self.assertEqual(taken.stdout, plain.stdout, taken.stderr)


if __name__ == "__main__":
    unittest.main()
