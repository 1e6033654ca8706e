"""What a leader and its replicas share: memory, messages, short vectors, dictionary versions."""

import gc
import os
import signal
import time
import unittest
import weakref
from unittest import mock

import scene  # noqa: F401  Leaves if torch is not installed.
import torch

from rubato import _core
from rubato._core import split
from rubato.split.fused.blocks import Blocks

SECOND = 1_000_000


def fork(work):
    """A process that runs `work` and nothing else."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(60)
            code = work() or 0
        finally:
            os._exit(code)
    return pid


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class RegionTest(unittest.TestCase):
    def test_tensors_in_it_are_seen_by_forks_wherever_they_lie(self):
        region = split.Region(5 << 30)
        offset = 3 << 30
        tensor = torch.frombuffer(region, dtype=torch.float32, count=10, offset=offset)
        self.assertEqual(tensor.data_ptr(), region.address + offset)

        self.assertEqual(ended(fork(lambda: tensor.fill_(3).zero_().add_(2) is None)), 0)

        self.assertEqual(tensor.tolist(), [2.0] * 10)
        self.assertEqual(region.size, 5 << 30)
        self.assertEqual(memoryview(region).nbytes, 5 << 30)

    def test_a_tensor_keeps_its_memory(self):
        tensor = torch.frombuffer(split.Region(4096), dtype=torch.int64)
        gc.collect()

        self.assertEqual(tensor.fill_(9).sum(), 9 * 512)

    def test_pages_can_be_given_back(self):
        region = split.Region(1 << 20)
        tensor = torch.frombuffer(region, dtype=torch.uint8).fill_(1)

        region.discard(4096, 8192)

        self.assertEqual(int(tensor.sum()), (1 << 20) - 8192)
        with self.assertRaises(ValueError):
            region.discard(1 << 20, 1)

    def test_says_how_much_could_not_be_had(self):
        with self.assertRaisesRegex(MemoryError, "cannot map 1152921504606846976 bytes"):
            split.Region(1 << 60)


    def test_a_part_lives_as_long_as_a_tensor_in_it(self):
        part = split.Region(1 << 16).part(4096, 8192)
        tensor = torch.frombuffer(part, dtype=torch.float32, count=10, offset=40)
        self.assertEqual(tensor.data_ptr(), part.address + 40)
        gone = weakref.ref(part)
        del part
        view = tensor[3:].view(-1)
        del tensor
        self.assertIsNotNone(gone())

        del view
        self.assertIsNone(gone())

    def test_a_part_must_lie_in_it(self):
        with self.assertRaises(ValueError):
            split.Region(1 << 16).part(4096, 1 << 16)


class BlocksTest(unittest.TestCase):
    """Shared memory for tensors is used again, but not while a tensor is left in it."""

    def setUp(self):
        self.controller = mock.Mock(is_leader=True)
        self.controller.memory.region = split.Region(1 << 20)
        self.controller.memory.allocate.side_effect = [0, 1 << 16, 1 << 17]
        self.blocks = Blocks(self.controller)

    def test_a_block_is_used_again(self):
        tensor = torch.frombuffer(self.blocks.take(4096), dtype=torch.float32).fill_(7)
        kept = tensor[:10]
        del tensor
        self.assertEqual(self.blocks.take(4096).offset, 1 << 16)

        del kept
        part = self.blocks.take(3000)
        self.assertIn(part.offset, (0, 1 << 16))
        self.assertEqual(bytes(part), bytes(4096))

    def test_a_fork_gives_nothing_back(self):
        part = self.blocks.take(4096)
        memoryview(part)[0] = 5
        self.controller.is_leader = False
        del part

        self.assertEqual(self.blocks.free, [])
        self.assertEqual(memoryview(self.controller.memory.region)[0], 5)

    def test_not_all_memory_is_taken(self):
        with self.assertRaises(MemoryError):
            self.blocks.take(1 << 50)


class PieceQueueTest(unittest.TestCase):
    FLOATS = 200_000

    def setUp(self):
        self.region = split.Region(64 << 20)
        self.queue = split.PieceQueue(self.region, 0)
        self.numbers, gradients = (
            torch.frombuffer(self.region, dtype=torch.float32, count=self.FLOATS, offset=offset)
            for offset in (32 << 20, 40 << 20))
        gradients.fill_(1)
        self.table = split.StepTable(
            [(self.numbers.data_ptr(), gradients.data_ptr(), 0, 0, 0, self.FLOATS, 1)],
            self.region.part(48 << 20, 1 << 16))
        self.work = split.StepWork()
        self.work.set_sgd(1, -1.0, 0, 0, 0, False)  # Each step adds one.

    def help_for_ever(self):
        while True:
            self.queue.do_piece(1)

    def test_an_exception_waits_until_the_step_is_whole(self):
        """An interrupt must not leave parameters half updated."""
        pid = fork(self.help_for_ever)
        asked = []

        def is_alive(rank):
            asked.append(rank)
            if len(asked) == 1:
                raise KeyboardInterrupt
            os.kill(pid, signal.SIGCONT)
            return True

        for step in range(1, 5000):
            self.queue.publish(self.table, self.work, split.has_fused_step())
            os.kill(pid, signal.SIGSTOP)  # Now and then while it holds a piece.
            try:
                self.queue.finish(is_alive)
                interrupted = False
            except KeyboardInterrupt:
                interrupted = True
            self.assertEqual(self.numbers.unique().tolist(), [step])
            os.kill(pid, signal.SIGCONT)
            if asked:
                break
            time.sleep(0.0001)
        os.kill(pid, signal.SIGKILL)
        ended(pid)

        self.assertTrue(interrupted)
        self.assertEqual(set(asked), {1})


class MailboxTest(unittest.TestCase):
    def setUp(self):
        self.region = split.Region(1 << 20)
        self.mailbox = split.Mailbox(self.region, 0, 1000)

    def serve(self):
        while (request := self.mailbox.wait_request(60 * SECOND)) != b"stop":
            self.mailbox.reply(request[::-1])

    def test_carries_requests_and_replies(self):
        pid = fork(self.serve)
        for size in (0, 1, 500, 1000):
            self.mailbox.request(bytes(range(250)) * (size // 250) + b"x" * (size % 250))
            reply = self.mailbox.wait_reply(60 * SECOND)
            self.assertEqual(len(reply), size)
        self.mailbox.request(b"stop")

        self.assertEqual(ended(pid), 0)

    def test_a_wait_for_a_killed_replica_ends(self):
        pid = fork(self.serve)
        self.mailbox.request(b"ab")
        self.assertEqual(self.mailbox.wait_reply(60 * SECOND), b"ba")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(ended(pid), -signal.SIGKILL)

        self.mailbox.request(b"cd")
        self.assertIsNone(self.mailbox.wait_reply(10_000))

        self.mailbox.reset()
        pid = fork(self.serve)
        self.mailbox.request(b"ef")
        self.assertEqual(self.mailbox.wait_reply(60 * SECOND), b"fe")
        self.mailbox.request(b"stop")
        self.assertEqual(ended(pid), 0)

    def test_a_message_too_large_is_refused_with_both_sizes(self):
        with self.assertRaisesRegex(ValueError, "2000 bytes.* at most 10"):
            self.mailbox.request(bytes(2000))

    def test_a_signal_handler_runs_during_a_wait(self):
        def interrupt(*_):
            raise InterruptedError("now")

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(InterruptedError):
            self.mailbox.wait_reply(60 * SECOND)

    def test_many_lie_side_by_side(self):
        size = split.Mailbox.footprint(100)
        boxes = [split.Mailbox(self.region, 8192 + i * size, 100) for i in range(10)]
        for i, box in enumerate(boxes):
            box.request(b"%d" % i * 100)

        for i, box in enumerate(boxes):
            self.assertEqual(box.wait_request(0), b"%d" % i * 100)


class ExchangeTest(unittest.TestCase):
    def gather(self, exchange, region, rank, dtype):
        for sequence in range(50):
            mine = torch.full((7,), rank + sequence / 8, dtype=dtype)
            done = exchange.all_gather(memoryview(mine.numpy()), rank, 3, sequence, 2, 60 * SECOND)
            total = torch.zeros(7, dtype=dtype)
            for other in range(3):
                offset = exchange.slot_offset(other, sequence)
                total += torch.frombuffer(region, dtype=dtype, count=7, offset=offset)
            if done != 0 or total.tolist() != [3 + 3 * sequence / 8] * 7:
                return 1
        return 0

    def test_gathers_vectors_of_both_precisions(self):
        for dtype in (torch.float32, torch.float64):
            region = split.Region(1 << 16)
            exchange = split.Exchange(region, 64, 4, 7)
            self.assertLess(64 + split.Exchange.footprint(4, 7), 1 << 16)
            pids = [
                fork(lambda rank=rank: self.gather(exchange, region, rank, dtype))
                for rank in (1, 2)
            ]
            self.assertEqual(self.gather(exchange, region, 0, dtype), 0)
            self.assertEqual([ended(pid) for pid in pids], [0, 0])

    def test_can_be_aborted(self):
        region = split.Region(1 << 16)
        exchange = split.Exchange(region, 0, 2, 4)
        pid = fork(lambda: exchange.all_gather(b"1234", 1, 2, 0, 1, 60 * SECOND))
        exchange.abort(1)

        self.assertEqual(ended(pid), 2)
        self.assertEqual(exchange.all_gather(b"1234", 0, 2, 0, 2, 1000), 1)


class Holder:
    def __init__(self):
        self.value = 1


@unittest.skipUnless(split.DictTags.supported, "dictionaries have no version tags")
class DictTagsTest(unittest.TestCase):
    def test_tells_every_change(self):
        holder = Holder()
        plain = {"a": 1}
        tags = split.DictTags([holder.__dict__, plain])
        self.assertTrue(tags.unchanged())
        self.assertEqual(len(tags), 2)

        def change():
            holder.value = holder.value + 1

        def delete():
            del plain["b"]

        for action in (change, lambda: plain.update(b=2), delete, lambda: plain.update(a=5)):
            for _ in range(30 if action is change else 1):
                action()
                self.assertFalse(tags.unchanged())
                tags.renew()
                self.assertTrue(tags.unchanged())

    def test_reading_is_no_change(self):
        holder = Holder()
        tags = split.DictTags([holder.__dict__])
        for _ in range(100):
            self.assertEqual(holder.value, 1)

        self.assertTrue(tags.unchanged())

    def test_a_cycle_through_it_is_collected(self):
        holder = Holder()
        holder.tags = split.DictTags([holder.__dict__])
        gone = weakref.ref(holder)
        kept = holder.__dict__
        del holder, kept
        gc.collect()

        self.assertIsNone(gone())

    def test_only_dictionaries_have_tags(self):
        with self.assertRaises(TypeError):
            split.DictTags([[1]])


class KeptMemoryTest(unittest.TestCase):
    def test_can_be_asked_for(self):
        environment = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}
        expected = not environment & set(os.environ)

        self.assertEqual(ended(fork(lambda: _core.keep_freed_memory() != expected)), 0)


if __name__ == "__main__":
    unittest.main()
