"""The pretended CUDA device: what computes on it, and that it refuses what a real one refuses."""

import copy
import ctypes
import io
import math
import os
import resource
import signal
import subprocess
import sys
import unittest
import warnings

import pretend_cuda

MISSING = pretend_cuda.missing_reason()
if MISSING is None:
    pretend_cuda.install()
else:
    print(f"skipped: {MISSING}")

if MISSING is None:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)

DEVICE = "cuda"


TWO_DEVICES = """
import sys, torch
x = torch.rand(8, 8)
on_a, on_b = x.to("cuda:0"), x.to("cuda:1")
a, b = (on_a @ on_a).cpu(), (on_b @ on_b).cpu()
print(torch.equal(a, x @ x), torch.equal(b, x @ x), torch.allclose(b, x @ x))
try:
    on_a + on_b
except RuntimeError as error:
    print(str(error).split("devices, ")[1])
sys.modules["pretend_cuda"].lose_device(1)
try:
    on_b + 1
except RuntimeError as error:
    print(error)
"""


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(4 * 9, 5))


def train(device, make_optimizer, steps=6, dtype=None, scaler=None, clip=None):
    """Trains a small model; returns its state on the host and the last loss."""
    model = make_model().to(device)
    optimizer = make_optimizer(model.parameters())
    torch.manual_seed(1)
    for _ in range(steps):
        images, labels = torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = F.cross_entropy(model(images.to(device)), labels.to(device))
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            continue
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return [value.cpu() for value in model.state_dict().values()], loss.item()


def run_script(text, **environment):
    """Runs a script in an interpreter of its own that has the device."""
    return subprocess.run([sys.executable, "-c", text], text=True, capture_output=True, timeout=120,
                          env={**pretend_cuda.environment(), **environment}, check=False)


@unittest.skipIf(MISSING is not None, MISSING)
class DeviceCase(unittest.TestCase):
    def assert_same(self, left, right):
        self.assertEqual(len(left), len(right))
        for one, other in zip(left, right):
            self.assertTrue(torch.equal(one.cpu(), other.cpu()))

    def assert_is_nan(self, values):
        self.assertTrue(all(math.isnan(value) for value in values), values)


class TrainingTest(DeviceCase):
    def test_optimizers_give_the_bits_of_the_host(self):
        optim = torch.optim
        makers = {
            "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
            "sgd foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
            "adam": lambda p: optim.Adam(p),
            "adam foreach": lambda p: optim.Adam(p, foreach=True),
            "amsgrad": lambda p: optim.Adam(p, amsgrad=True),
            "adamw": lambda p: optim.AdamW(p),
            "rmsprop": lambda p: optim.RMSprop(p),
            "adagrad": lambda p: optim.Adagrad(p),
        }
        for name, make in makers.items():
            with self.subTest(name):
                host, device = train("cpu", make), train(DEVICE, make)
                self.assert_same(host[0], device[0])
                self.assertEqual(host[1], device[1])

    def test_clipped_gradients_give_the_bits_of_the_host(self):
        results = [train(device, lambda p: torch.optim.SGD(p, lr=0.1), clip=0.1)
                   for device in ("cpu", DEVICE)]

        self.assert_same(results[0][0], results[1][0])

    def test_capturable_adam_keeps_its_steps_on_the_device(self):
        _, loss = train(DEVICE, lambda p: torch.optim.Adam(p, capturable=True))
        _, expected = train("cpu", lambda p: torch.optim.Adam(p))

        self.assertAlmostEqual(loss, expected, places=4)

    def test_statistics_of_batches_are_kept(self):
        state, _ = train(DEVICE, lambda p: torch.optim.SGD(p, lr=0.1))

        means, variances, batches = state[4:7]
        self.assertGreater(means.abs().max().item(), 0)
        self.assertFalse(torch.equal(variances, torch.ones(4)))
        self.assertEqual(batches.item(), 6)

    def test_autocast_rounds_to_the_type_it_is_told(self):
        single, _ = train(DEVICE, lambda p: torch.optim.SGD(p, lr=0.1))
        for dtype in (torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                state, _ = train(DEVICE, lambda p: torch.optim.SGD(p, lr=0.1), dtype=dtype)
                difference = max((a - b).abs().max().item()
                                 for a, b in zip(single, state) if a.is_floating_point())
                self.assertGreater(difference, 0)
                self.assertLess(difference, 0.1)
        with torch.autocast(DEVICE, dtype=torch.float16):
            product = torch.ones(2, 2, device=DEVICE) @ torch.ones(2, 2, device=DEVICE)
        self.assertEqual(product.dtype, torch.float16)

    def test_a_gradient_scaler_backs_off_until_gradients_are_finite(self):
        scaler = torch.cuda.amp.GradScaler(init_scale=2.0**24)

        _, loss = train(DEVICE, lambda p: torch.optim.SGD(p, lr=0.1), steps=15,
                        dtype=torch.float16, scaler=scaler)

        self.assertLess(scaler.get_scale(), 2.0**24)
        self.assertGreater(scaler.get_scale(), 2.0**8)
        self.assertTrue(math.isfinite(loss))

    def test_modules_agree_with_the_host(self):
        modules = {
            "rnn": nn.RNN(8, 4), "lstm": nn.LSTM(8, 4), "gru": nn.GRU(8, 4),
            "transformer": nn.TransformerEncoderLayer(8, 2, dropout=0.0), "norm": nn.LayerNorm(8),
            "group norm": nn.GroupNorm(1, 5), "transposed": nn.ConvTranspose1d(5, 3, 3),
        }
        values = torch.randn(3, 5, 8)
        for name, host in modules.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Recurrent modules tell that there is no cuDNN.
                device = copy.deepcopy(host).to(DEVICE)
                results = []
                for module, inputs in ((host, values), (device, values.to(DEVICE))):
                    out = module(inputs)
                    out = out[0] if isinstance(out, tuple) else out
                    (out * out).sum().backward()
                    gradients = [parameter.grad.cpu() for parameter in module.parameters()]
                    results.append([out.detach().cpu()] + gradients)
                for one, other in zip(*results):
                    self.assertTrue(torch.allclose(one, other, rtol=1e-4, atol=1e-4))

    def test_moving_a_module_keeps_its_parameters(self):
        model = make_model()
        before = [id(parameter) for parameter in model.parameters()]

        model.to(DEVICE)

        self.assertEqual(before, [id(parameter) for parameter in model.parameters()])
        self.assertEqual(str(model[0].weight.device), "cuda:0")


class RandomTest(DeviceCase):
    def test_dropout_depends_on_the_seed_of_the_device(self):
        ones = torch.ones(1000, device=DEVICE)

        torch.manual_seed(3)
        first = F.dropout(ones)
        torch.manual_seed(3)
        torch.rand(5)  # The host's generator is another one.
        again = F.dropout(ones)
        torch.cuda.manual_seed(4)
        other = F.dropout(ones)

        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, other))

    def test_a_state_of_the_generator_can_be_set_again(self):
        state = torch.cuda.get_rng_state()
        first = torch.randn(4, device=DEVICE)
        torch.cuda.set_rng_state(state)

        self.assertTrue(torch.equal(first, torch.randn(4, device=DEVICE)))

    def test_a_generator_of_the_host_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "generator"):
            torch.rand(2, device=DEVICE, generator=torch.Generator())
        own = torch.Generator(DEVICE).manual_seed(3)
        host = torch.Generator().manual_seed(3)
        self.assertTrue(torch.equal(torch.rand(2, device=DEVICE, generator=own).cpu(),
                                    torch.rand(2, generator=host)))


class StorageTest(DeviceCase):
    def test_copies_of_a_module_are_its_own(self):
        model = make_model().to(DEVICE)

        other = copy.deepcopy(model)

        self.assert_same(list(model.state_dict().values()), list(other.state_dict().values()))
        self.assertNotEqual(model[0].weight.data_ptr(), other[0].weight.data_ptr())

    def test_saved_tensors_come_back_on_the_device_or_where_asked(self):
        state = make_model().to(DEVICE).state_dict()
        file = io.BytesIO()
        torch.save(state, file)

        for place, expected in ((None, "cuda"), ("cpu", "cpu")):
            file.seek(0)
            loaded = torch.load(file, map_location=place)
            self.assert_same(list(state.values()), list(loaded.values()))
            self.assertEqual({value.device.type for value in loaded.values()}, {expected})

    def test_loaders_pin_what_they_give(self):
        data = TensorDataset(torch.arange(20.0))
        for workers in (0, 2):
            with self.subTest(workers=workers):
                batches = [batch for batch, in DataLoader(data, batch_size=5, pin_memory=True,
                                                          num_workers=workers)]
                self.assertTrue(all(batch.is_pinned() for batch in batches))
                sums = [batch.to(DEVICE, non_blocking=True).sum().item() for batch in batches]
                self.assertEqual(sums, [10.0, 35.0, 60.0, 85.0])

    def test_memory_has_a_limit(self):
        model = make_model().to(DEVICE)
        pretend_cuda.set_limit(0, torch.cuda.memory_allocated() + 10_000)
        self.addCleanup(pretend_cuda.set_limit, 0, 1 << 36)

        with self.assertRaises(torch.cuda.OutOfMemoryError):
            model(torch.zeros(100, 1, 8, 8, device=DEVICE))
        before = torch.cuda.memory_allocated()
        torch.zeros(100, device=DEVICE)
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_memory_that_was_not_written_is_not_a_number(self):
        for _ in range(2):
            values = torch.empty(100, device=DEVICE)
            self.assert_is_nan(values.tolist())
            values.fill_(1)
            del values


class RefusalTest(DeviceCase):
    def test_the_host_dies_when_it_touches_device_memory(self):
        address = torch.ones(3, device=DEVICE).data_ptr()
        accesses = (lambda: ctypes.c_float.from_address(address).value,
                    lambda: ctypes.memset(address, 0, 4))
        for access in accesses:
            pid = os.fork()
            if pid == 0:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                access()
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGSEGV)
        with self.assertRaises(TypeError):
            torch.ones(3, device=DEVICE).numpy()

    def test_host_tensors_and_other_devices_are_refused(self):
        device = torch.ones(3, device=DEVICE)
        with self.assertRaisesRegex(RuntimeError, "cuda:0 and cpu"):
            device + torch.ones(3)
        with self.assertRaisesRegex(RuntimeError, "invalid device ordinal"):
            torch.ones(3, device="cuda:1")
        self.assertEqual((device + torch.tensor(1.0)).tolist(), [2.0] * 3)

    def test_visible_devices_are_those_of_the_environment(self):
        count = "import torch; print(torch.cuda.device_count(), torch.cuda.is_available())"
        for visible, expected in (("1,0,7,0", "2 True"), ("", "0 False")):
            run = run_script(count, RUBATO_PRETEND_CUDA_DEVICES="AB", CUDA_VISIBLE_DEVICES=visible)
            self.assertEqual(run.stdout.strip(), expected, run.stderr)

    def test_two_devices_do_not_mix_nor_round_alike_nor_last_for_ever(self):
        run = run_script(TWO_DEVICES, RUBATO_PRETEND_CUDA_DEVICES="AB")

        lines = run.stdout.splitlines()
        self.assertEqual(lines[:2], ["True False True", "cuda:0 and cuda:1!"], run.stderr)
        self.assertIn("unspecified launch failure", lines[2])

    def test_operators_of_other_libraries_are_not_run_on_the_host(self):
        library = torch.library.Library("rubato_test", "DEF")
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CPU")

        self.assertEqual(torch.ops.rubato_test.double(torch.ones(1)).item(), 2)
        with self.assertRaises(NotImplementedError):
            torch.ops.rubato_test.double(torch.ones(1, device=DEVICE))


class ForkTest(DeviceCase):
    def attempts_in_a_child(self, *attempts):
        """What each attempt raised in a forked child."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            for attempt in attempts:
                try:
                    attempt()
                    os.write(writer, b"fine\n")
                except RuntimeError as error:
                    os.write(writer, str(error).split("\n")[0].encode() + b"\n")
            os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        with os.fdopen(reader) as lines:
            return lines.read().splitlines()

    def test_a_child_of_a_process_that_used_the_device_may_not(self):
        held = torch.ones(3, device=DEVICE)

        said = self.attempts_in_a_child(lambda: torch.zeros(2, device=DEVICE), lambda: held + 1,
                                        held.cpu, lambda: torch.zeros(2).pin_memory(),
                                        lambda: torch.zeros(2) + 1)

        self.assertEqual(len(said), 5)
        for line in said[:4]:
            self.assertIn("Cannot re-initialize CUDA in forked subprocess", line)
        self.assertEqual(said[4], "fine")
        self.assertEqual((held + 1).tolist(), [2.0] * 3)

    def test_a_child_of_a_process_that_did_not_may(self):
        run = run_script("import os, torch\npid = os.fork()\n"
                         "if pid == 0:\n    print(torch.ones(2, device='cuda').sum().item())\n"
                         "else:\n    os.waitpid(pid, 0)")
        self.assertEqual(run.stdout.strip(), "2.0", run.stderr)


class StreamTest(DeviceCase):
    def setUp(self):
        pretend_cuda.set_late(True)
        self.addCleanup(pretend_cuda.set_late, False)

    def test_a_copy_to_the_host_is_there_when_it_was_waited_for(self):
        values = torch.arange(4.0, device=DEVICE)
        host = torch.zeros(4).pin_memory()

        host.copy_(values, non_blocking=True)
        event = torch.cuda.current_stream().record_event()

        self.assert_is_nan(host.tolist())
        self.assertFalse(event.query())
        event.synchronize()
        self.assertEqual(host.tolist(), [0.0, 1.0, 2.0, 3.0])

    def test_another_stream_must_wait_for_a_copy(self):
        side, host = torch.cuda.Stream(), torch.arange(4.0).pin_memory()

        with torch.cuda.stream(side):
            values = host.to(DEVICE, non_blocking=True)

        self.assert_is_nan((values + 1).tolist())
        torch.cuda.current_stream().wait_stream(side)
        self.assertEqual((values + 1).tolist(), [1.0, 2.0, 3.0, 4.0])

    def test_a_source_that_is_overwritten_too_early_shows(self):
        host = torch.zeros(2).pin_memory()

        values = host.to(DEVICE, non_blocking=True)
        host.fill_(9)

        self.assertEqual(values.tolist(), [9.0, 9.0])

    def test_kernels_of_the_same_stream_see_the_copy(self):
        values = torch.ones(2).pin_memory().to(DEVICE, non_blocking=True)

        self.assertEqual((values + 1).tolist(), [2.0, 2.0])

    def test_copies_of_pageable_memory_are_done_at_once(self):
        values = torch.arange(2.0, device=DEVICE)

        self.assertEqual(torch.zeros(2).copy_(values, non_blocking=True).tolist(), [0.0, 1.0])


class CounterTest(DeviceCase):
    def test_a_step_of_training_does_not_wait_for_the_device(self):
        model = make_model().to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        images = torch.randn(6, 1, 8, 8, device=DEVICE)
        labels = torch.zeros(6, dtype=torch.int64, device=DEVICE)

        before = pretend_cuda.counters()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        between = pretend_cuda.counters()
        torch.ones(3, device=DEVICE).sum().item()
        after = pretend_cuda.counters()

        self.assertGreater(between.kernels - before.kernels, 10)
        self.assertEqual(between.copies, before.copies)
        self.assertEqual(between.host_waits, before.host_waits)
        self.assertEqual(after.host_waits, between.host_waits + 1)


if __name__ == "__main__":
    unittest.main()
