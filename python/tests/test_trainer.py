"""The trainer of a worker that is alone must do what a plain loop does."""

import unittest

import scene
import torch
from torch.nn import functional

import rubato
from rubato import _core


def train_plainly(model, optimizer, *, batch, epochs, is_shuffled, schedule=None, clip=None):
    """A loop over the same samples in the same order, with nothing of ours but the order."""
    data = scene.dataset()
    order = _core.SampleOrder(len(data), 0, is_shuffled)
    for epoch in range(epochs):
        for begin in range(0, len(data), batch):
            samples = order.samples(epoch, begin, min(begin + batch, len(data)))
            inputs, targets = data[samples]
            optimizer.zero_grad()
            functional.mse_loss(model(inputs), targets).backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if schedule is not None:
                schedule.step()


def train(model, optimizer, *, loss=None, **options):
    trainer = rubato.Trainer(model, optimizer, scene.dataset(), **{"epochs": 3, **options})
    for inputs, targets in trainer:
        trainer.step(functional.mse_loss(model(inputs), targets))
    return trainer


def batches(batch, steps):
    """In the order of the dataset."""
    data = scene.dataset()
    for step in range(steps):
        begin = step * batch % len(data)
        yield data[begin : begin + batch]


class TwoHeads(torch.nn.Module):
    """Of which a step trains one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.body = torch.nn.Linear(6, 8)
        self.heads = torch.nn.ModuleList([torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)])

    def forward(self, inputs, head):
        return self.heads[head](self.body(inputs).tanh())


def train_heads(model, **options):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    trainer = rubato.Trainer(model, optimizer, scene.dataset(), batch=16, epochs=4, shuffle=False,
                             **options)
    for inputs, targets in trainer:
        trainer.step(functional.mse_loss(model(inputs, trainer.step_number % 2), targets))
    return trainer


class WithBuffers(torch.nn.Module):
    """Remembers the samples that it has seen, or how often it was called."""

    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(3)
        self.body = torch.nn.Linear(6, 1)
        self.kind = kind
        self.register_buffer("queue", torch.zeros(8))
        self.register_buffer("steps", torch.zeros((), dtype=torch.float64))
        self.register_buffer("table", torch.arange(5))

    def forward(self, inputs):
        if self.kind == "queue":
            self.queue = torch.cat([inputs[:, 0].detach(), self.queue])[:8]
        if self.kind == "hidden queue":
            self.queue.data[:2] = inputs[:2, 0].detach()
        if self.kind == "count":
            self.steps += 1
        if self.kind == "hidden count":
            self.steps.data += 1
        return self.body(inputs)


class AloneTest(unittest.TestCase):
    def assert_like_plain(self, make_optimizer, *, has_norm=False, **options):
        ours, plain = scene.model(has_norm=has_norm), scene.model(has_norm=has_norm)

        train(ours, make_optimizer(ours.parameters()), batch=20, **options)
        train_plainly(plain, make_optimizer(plain.parameters()), batch=20, epochs=3,
                      is_shuffled=options.get("shuffle", True))

        self.assertEqual(scene.hash_of(ours), scene.hash_of(plain))

    def test_equals_a_plain_loop_bit_for_bit(self):
        for shuffle in (True, False):
            with self.subTest(shuffle=shuffle):
                self.assert_like_plain(
                    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), shuffle=shuffle)

    def test_equals_a_plain_loop_with_adam_and_batch_norm(self):
        self.assert_like_plain(lambda p: torch.optim.Adam(p, lr=0.01), has_norm=True)

    def test_steps_schedulers_after_every_step_or_epoch(self):
        for schedule, expected in (("step", 0.5**9), ("epoch", 0.5**3)):
            ours = scene.model()
            optimizer = torch.optim.SGD(ours.parameters(), lr=1.0)
            scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

            train(ours, optimizer, batch=20, schedulers=scheduler, schedule=schedule)

            self.assertAlmostEqual(optimizer.param_groups[0]["lr"], expected)

    def test_clips_what_the_reduction_gives(self):
        ours, plain = scene.model(), scene.model()
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.5)

        train(ours, optimizer, batch=20, before_apply=lambda: torch.nn.utils.clip_grad_norm_(
            ours.parameters(), 0.1))
        train_plainly(plain, torch.optim.SGD(plain.parameters(), lr=0.5), batch=20, epochs=3,
                      is_shuffled=True, clip=0.1)

        self.assertEqual(scene.hash_of(ours), scene.hash_of(plain))

    def test_leaves_parameters_without_gradient_to_themselves(self):
        for options in ({}, {"deterministic": True}):
            with self.subTest(options):
                ours = TwoHeads()
                trainer = train_heads(ours, **options)

                plain = TwoHeads()
                optimizer = torch.optim.AdamW(plain.parameters(), lr=0.01, weight_decay=0.1)
                for step, (inputs, targets) in enumerate(batches(16, trainer.step_number)):
                    optimizer.zero_grad(set_to_none=True)
                    functional.mse_loss(plain(inputs, step % 2), targets).backward()
                    optimizer.step()
                for name, value in plain.state_dict().items():
                    torch.testing.assert_close(ours.state_dict()[name], value, rtol=1e-4,
                                               atol=1e-6)

    def test_parameters_may_be_bound_to_other_memory(self):
        ours, plain = scene.model(has_norm=True), scene.model(has_norm=True)

        def shrink(model):
            for parameter in model.parameters():
                parameter.data = parameter.data.clamp(-0.2, 0.2).t().clone().t()
            model[1].running_mean = model[1].running_mean * 0.5

        trainer = rubato.Trainer(ours, torch.optim.SGD(ours.parameters(), lr=0.1),
                                 scene.dataset(), batch=16, epochs=2, shuffle=False)
        arena = trainer._session.flat.region
        for inputs, targets in trainer:
            for parameter in ours.parameters():
                begin = parameter.data_ptr() - arena.data_ptr()
                self.assertTrue(0 <= begin < 4 * arena.numel())
            trainer.step(functional.mse_loss(ours(inputs), targets))
            shrink(ours)
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
        for inputs, targets in batches(16, 6):
            optimizer.zero_grad()
            functional.mse_loss(plain(inputs), targets).backward()
            optimizer.step()
            shrink(plain)

        self.assertEqual(scene.hash_of(ours), scene.hash_of(plain))

    def test_survives_gradients_that_the_loop_replaces(self):
        ours, plain = scene.model(), scene.model()
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.05)
        trainer = rubato.Trainer(ours, optimizer, scene.dataset(), batch=20, epochs=3)
        for inputs, targets in trainer:
            for parameter in ours.parameters():
                parameter.grad = None
            trainer.step(functional.mse_loss(ours(inputs), targets))

        train_plainly(plain, torch.optim.SGD(plain.parameters(), lr=0.05), batch=20, epochs=3,
                      is_shuffled=True)

        self.assertEqual(scene.hash_of(ours), scene.hash_of(plain))

    def test_drops_what_is_left_of_an_epoch_if_told(self):
        ours = scene.model()
        trainer = train(ours, torch.optim.SGD(ours.parameters(), lr=0.1), batch=20, drop_last=True)

        self.assertEqual(trainer.step_number, 6)

    def test_ends_after_so_many_steps(self):
        ours = scene.model()
        trainer = train(ours, torch.optim.SGD(ours.parameters(), lr=0.1), batch=20, steps=4)

        self.assertEqual(trainer.step_number, 4)
        self.assertEqual(trainer.metrics["step"], 4)

    def test_calls_hooks_when_it_is_done(self):
        ours = scene.model()
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
        trainer = rubato.Trainer(ours, optimizer, scene.dataset(), batch=48, epochs=1)
        called = []
        trainer.at_finish(lambda: called.append(trainer.step_number))

        for inputs, targets in trainer:
            trainer.step(functional.mse_loss(ours(inputs), targets))

        self.assertEqual(called, [1])


class DeterministicTest(unittest.TestCase):
    def test_runs_every_shard_and_counts_a_step_once(self):
        ours = scene.model(has_norm=True, dropout=0.2)
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.05)
        trainer = rubato.Trainer(ours, optimizer, scene.dataset(), batch=16, epochs=1,
                                 deterministic=True)
        sizes = []
        for inputs, targets in trainer:
            sizes.append(len(inputs))
            trainer.step(functional.mse_loss(ours(inputs), targets))

        self.assertEqual(sizes, [2] * 24)
        self.assertEqual(ours[1].num_batches_tracked.item(), 3)

    def test_averages_statistics_by_sample_weight(self):
        ours = scene.model(has_norm=True)
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.0)
        trainer = rubato.Trainer(ours, optimizer, scene.dataset(), batch=20, steps=1,
                                 shuffle=False, deterministic=True)
        expected = torch.zeros(12)
        with torch.no_grad():
            means = []
            start = 0
            for size in [3] * 4 + [2] * 4:
                rows = scene.dataset().tensors[0][start : start + size]
                means.append((size, scene.model(has_norm=True)[0](rows).mean(0)))
                start += size
        for size, mean in means:
            expected += 0.1 * mean * size / 20

        for inputs, targets in trainer:
            trainer.step(functional.mse_loss(ours(inputs), targets))

        torch.testing.assert_close(ours[1].running_mean, expected)

    def test_comes_close_to_what_one_shard_gives(self):
        whole, cut = scene.model(), scene.model()

        train(whole, torch.optim.SGD(whole.parameters(), lr=0.05), batch=20)
        train(cut, torch.optim.SGD(cut.parameters(), lr=0.05), batch=20, deterministic=True)

        for a, b in zip(whole.parameters(), cut.parameters()):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


class BufferTest(unittest.TestCase):
    def train(self, kind, **options):
        model = WithBuffers(kind)
        train(model, torch.optim.SGD(model.parameters(), lr=0.01), batch=16, epochs=2,
              shuffle=False, **options)
        return model

    def test_are_the_script_s_own_where_batches_are_whole(self):
        self.assertEqual(self.train("queue").queue.tolist(),
                         scene.dataset().tensors[0][32:40, 0].tolist())

    def test_that_count_are_counted_once_however_many_shards(self):
        for kind in ("count", "hidden count"):
            self.assertEqual(self.train(kind, deterministic=True).steps.item(), 6)

    def test_that_follow_the_samples_are_refused_where_batches_are_shared(self):
        for kind in ("queue", "hidden queue"):
            with self.subTest(kind), self.assertRaises(rubato.Refused) as caught:
                self.train(kind, deterministic=True)
            self.assertIn("queue changed in a step", str(caught.exception))
            self.assertNotIn("table", str(caught.exception))


class AdaptiveBatchTest(unittest.TestCase):
    def test_measures_noise_and_scales_the_rate(self):
        ours = scene.model()
        optimizer = torch.optim.SGD(ours.parameters(), lr=0.01)

        trainer = train(ours, optimizer, batch=4, epochs=30, adaptive_batch=16)

        self.assertGreater(trainer.metrics["noise_scale"], 0)
        self.assertLessEqual(trainer.metrics["batch"], 16)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.01)


class MisuseTest(unittest.TestCase):
    def setUp(self):
        self.model = scene.model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def test_refuses_a_batch_without_a_step(self):
        trainer = rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=20, epochs=1)

        with self.assertRaises(rubato.Refused) as caught:
            for _ in trainer:
                pass
        self.assertEqual(caught.exception.code, 65)

    def refused(self, change):
        """What is said if the model or the optimizer is changed after the second step."""
        trainer = rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=20, epochs=2)
        with self.assertRaises(rubato.Refused) as caught:
            for inputs, targets in trainer:
                trainer.step(functional.mse_loss(self.model(inputs), targets))
                if trainer.step_number == 2:
                    change()
        return str(caught.exception)

    def test_refuses_parameters_that_become_something_else(self):
        self.assertIn("the parameter 0.weight became torch.float16", self.refused(self.model.half))

    def test_refuses_parameters_of_another_shape(self):
        def cut():
            self.model[2].weight.data = self.model[2].weight.data[:, :3]

        self.assertIn("the parameter 2.weight changed its shape from [1, 12] to [1, 3]",
                      self.refused(cut))

    def test_refuses_parameters_that_come_later(self):
        late = torch.nn.Linear(2, 2)
        self.assertIn("added to the optimizer", self.refused(
            lambda: self.optimizer.add_param_group({"params": late.parameters()})))

    def test_refuses_parameters_that_are_thawed_later(self):
        self.model[0].requires_grad_(False)
        self.assertIn("thawed", self.refused(lambda: self.model[0].requires_grad_(True)))

    def test_parameters_may_be_frozen_later(self):
        trainer = rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=20, epochs=2)
        for inputs, targets in trainer:
            trainer.step(functional.mse_loss(self.model(inputs), targets))
            if trainer.step_number == 2:
                self.model[0].requires_grad_(False)
                frozen = self.model[0].weight.clone()

        self.assertTrue(torch.equal(self.model[0].weight, frozen))

    def test_refuses_optimizers_that_call_a_closure(self):
        with self.assertRaises(rubato.Refused) as caught:
            rubato.Trainer(self.model, torch.optim.LBFGS(self.model.parameters()),
                           scene.dataset(), batch=20, epochs=1)
        self.assertIn("LBFGS calls a closure", str(caught.exception))

    def test_does_not_ignore_a_closure(self):
        trainer = rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=20, epochs=1)
        with self.assertRaisesRegex(TypeError, "closures are not called"):
            for inputs, targets in trainer:
                trainer.step(lambda: functional.mse_loss(self.model(inputs), targets))

    def test_refuses_double_precision(self):
        model = scene.model().double()
        with self.assertRaises(rubato.Refused) as caught:
            rubato.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), scene.dataset(),
                           batch=20, epochs=1)
        self.assertIn("float32", str(caught.exception))

    def test_wants_to_know_when_to_end(self):
        with self.assertRaises(ValueError):
            rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=20)

    def test_tells_that_a_batch_cannot_be_cut(self):
        with self.assertRaisesRegex(ValueError, "larger than the dataset"):
            rubato.Trainer(self.model, self.optimizer, scene.dataset(), batch=50, epochs=1,
                           drop_last=True)


if __name__ == "__main__":
    unittest.main()
