"""Losses that are sums over a batch cannot be shared among workers, and are told from means."""

import unittest

import scene
import torch
import torch.nn.functional as F
from torch import nn

MODEL = scene.model()


def penalty():
    return sum(p.pow(2).sum() for p in MODEL.parameters())


def moved(reduction):
    """How far a parameter is from where it was: a loss of torch, but not of samples."""
    weight = MODEL[0].weight
    return F.mse_loss(weight, weight.detach() * 0.9, reduction=reduction)


def two_of_three(y):
    """A mask whose mean is not quite that of a part."""
    return (torch.arange(len(y)) % 3 < 2).float().unsqueeze(1)


SUMS_OF_TORCH = {
    "mse": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "module": lambda x, y: nn.MSELoss(reduction="sum")(x, y),
    "l1": lambda x, y: nn.L1Loss(reduction="sum")(x, y),
    "smooth l1": lambda x, y: nn.SmoothL1Loss(reduction="sum")(x, y),
    "huber": lambda x, y: F.huber_loss(x, y, reduction="sum"),
    "nll": lambda x, y: F.nll_loss(F.log_softmax(x, 1), y.argmax(1), reduction="sum"),
    "cross entropy": lambda x, y: F.cross_entropy(x, y.argmax(1), reduction="sum"),
    "binary": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="sum"),
    "logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="sum"),
    "kl": lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="sum"),
    "poisson": lambda x, y: F.poisson_nll_loss(x, y.exp(), reduction="sum"),
    "with penalty": lambda x, y: F.mse_loss(x, y, reduction="sum") + 0.1 * penalty(),
}
SUMS = {
    "of probabilities": lambda x, y: F.cross_entropy(x, y.softmax(1), reduction="sum"),
    "by hand": lambda x, y: ((x - y) ** 2).sum(),
    "of means": lambda x, y: ((x - y) ** 2).mean(1).sum(),
    "in a mean": lambda x, y: ((x - y) ** 2).sum(0).mean(),
    "last dimension": lambda x, y: ((x - y) ** 2).mean(1).sum(-1),
    "scaled": lambda x, y: 0.5 * ((x - y) ** 2).sum() + 0.1 * penalty(),
    "beside a mean": lambda x, y: F.mse_loss(x, y) - 0.1 * x.abs().sum(),
    "divided by a constant": lambda x, y: F.mse_loss(x, y, reduction="sum") / 16,
    "mean times samples": lambda x, y: F.mse_loss(x, y) * len(x),
    "one by one": lambda x, y: sum(F.mse_loss(a, b) for a, b in zip(x, y)),
    "with signs": lambda x, y: (x * y.sign()).sum(),
    "masked": lambda x, y: ((x - y) ** 2 * two_of_three(y)).sum(),
    "masked, with a penalty": lambda x, y: (x.abs() * two_of_three(y)).sum() + 0.1 * penalty(),
}
MEANS = {
    "mse": F.mse_loss,
    "smoothed": lambda x, y: F.cross_entropy(x, y.argmax(1), label_smoothing=0.1),
    "of probabilities": lambda x, y: F.cross_entropy(x, y.softmax(1)),
    "batchmean": lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
    "divided": lambda x, y: F.mse_loss(x, y, reduction="sum") / len(x),
    "divided inside": lambda x, y: (F.mse_loss(x, y, reduction="none") / x.size(0)).sum(),
    "times a fraction": lambda x, y: 0.3 * (((x - y) ** 2).sum() * (1 / x.numel())),
    "of sums": lambda x, y: ((x - y) ** 2).sum(1).mean(),
    "sum of means": lambda x, y: ((x - y) ** 2).mean(0).sum(),
    "weighted": lambda x, y: (((x - y) ** 2) * torch.softmax(y, 0)).sum(),
    "masked": lambda x, y: ((x - y) ** 2 * (y > 0)).sum() / (y > 0).sum(),
    "masked, by samples": lambda x, y: ((x - y) ** 2 * two_of_three(y)).sum() / len(x),
    "masked mean": lambda x, y: ((x - y) ** 2 * two_of_three(y)).mean(),
    "weights made for a mean": lambda x, y: ((x - y) ** 2 * (two_of_three(y) / len(y))).sum(),
    "with penalty": lambda x, y: F.mse_loss(x, y) + 0.1 * penalty(),
    "with distance": lambda x, y: F.mse_loss(x, y) + moved("sum"),
    "one by one": lambda x, y: sum(F.mse_loss(a, b) for a, b in zip(x, y)) / len(x),
}


def watched(loss, *, part=5):
    """What is found in a rehearsal with 16 samples, and in a part of them."""
    from rubato.losses import LossWatch

    generator = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(16, 6, generator=generator), torch.randn(16, 4)
    head = nn.Linear(1, 4)
    out = head(MODEL(inputs))
    watch = LossWatch()
    watch.rehearse(16)
    watch.on_rehearsal(loss(out, targets))
    first = watch.sum_in_rehearsal()
    out = head(MODEL(inputs[:part]))
    watch.on_part(loss(out, targets[:part]), part)
    return first, watch.sum_in_part(part)


class WatchTest(unittest.TestCase):
    def test_sums_of_torch_are_seen_in_the_rehearsal(self):
        for name, loss in SUMS_OF_TORCH.items():
            with self.subTest(name):
                self.assertIsNotNone(watched(loss)[0])

    def test_sums_are_seen_in_a_part(self):
        for name, loss in {**SUMS, **SUMS_OF_TORCH}.items():
            for part in (1, 5, 15):
                with self.subTest(name, part=part):
                    self.assertIsNotNone(watched(loss, part=part)[1])

    def test_means_are_not_suspected(self):
        for name, loss in MEANS.items():
            for part in (3, 5, 8, 16):
                with self.subTest(name, part=part):
                    self.assertEqual(watched(loss, part=part), (None, None))


TRAINER = """
import sys, torch, rubato
import torch.nn.functional as F
torch.manual_seed(3)
x = torch.randn(48, 6)
data = torch.utils.data.TensorDataset(x, x.sin().sum(1, keepdim=True))
model = torch.nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
trainer = rubato.Trainer(model, optimizer, data, batch=BATCH, epochs=2, OPTIONS)
for x, y in trainer:
    out = model(x)
    trainer.step(LOSS)
"""


class TrainerLossTest(scene.ScriptCase):
    def script(self, loss, batch=16, options=""):
        text = TRAINER.replace("LOSS", loss).replace("BATCH", str(batch))
        return self.write(text.replace("OPTIONS", options))

    def test_sums_are_refused_whatever_the_parts(self):
        # Two workers have eight samples each, as many as are tried out first.
        for loss, batch in (('F.mse_loss(out, y, reduction="sum")', 16),
                            ("0.5 * ((out - y) ** 2).sum()", 16),
                            ("0.5 * ((out - y) ** 2).sum() + F.l1_loss(out, y)", 2)):
            with self.subTest(loss):
                report, _ = self.train(self.script(loss, batch), flags=["--workers", "2"],
                                       succeeds=False)

                self.assertEqual((report["outcome"], report["exit_code"]), ("refused", 65))
                self.assertIn("sum over the samples", report["reason"])

    def test_means_are_not_suspected(self):
        report, _ = self.train(self.script("((out - y) ** 2).sum() / len(x)"),
                               flags=["--workers", "2"])

        self.assertEqual((report["outcome"], report["steps"]), ("finished", 6))

    def test_who_trains_alone_may_sum(self):
        done = self.run_python(self.script("((out - y) ** 2).sum()"))

        self.assertEqual(done.returncode, 0, done.stderr)

    def test_who_trains_alone_in_shards_may_not(self):
        done = self.run_python(self.script("((out - y) ** 2).sum()", options="deterministic=True"))

        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("sum over the samples", done.stderr)


if __name__ == "__main__":
    unittest.main()
