"""Rows of the next batch that replicas fetch: a script must not be able to tell."""

import functools
import os
import random
import signal
import subprocess
import sys
import unittest
import weakref
from pathlib import Path

import numpy
import scene
import torch
from torch.utils.data import (BatchSampler, DataLoader, RandomSampler, Subset, SubsetRandomSampler,
                              TensorDataset)

import prefetch_cases
from rubato._core import split
from rubato.split import prefetch
from rubato.split.prefetch import fast_fetch
from rubato.split.prefetch.lookahead import Ahead, is_known, samples_limit
from rubato.split.prefetch.random_states import RandomStates
from rubato.split.prefetch.slots import SlotPool
from rubato.split.prefetch.watched import Watched

CASES_FILE = Path(__file__).with_name("prefetch_cases.py")
# Cases in which rows must be fetched ahead, and those in which they must not.
AHEAD = {
    "shuffled", "sequential", "left_early", "own_generator", "own_generator_and_full_batches_only",
    "with_replacement", "more_samples_than_rows", "weighted", "subset_sampler",
    "subset_sampler_that_changes", "subset_and_concatenation", "tensor_dataset", "list_of_pairs",
    "samples_of_many_forms", "rows_that_draw_rarely", "rows_that_count_rarely",
    "rows_that_print_rarely", "dataset_that_changes", "class_that_changes", "names_that_change",
    "arrays", "held_iterator", "two_loaders", "rows_that_raise", "rows_of_other_forms",
    "rows_of_a_file", "batches_that_are_kept_and_changed", "batches_changed_before_the_call",
    "forked_children", "child_that_goes_on", "replicas_that_die", "evaluation",
}
NOT_AHEAD = {
    "with_replacement_and_generator", "rows_that_draw", "rows_that_count",
    "rows_that_count_elsewhere", "rows_that_are_remembered", "rows_that_print",
    "rows_that_write_a_file",
}
DISCARDED = {
    "rows_that_draw_rarely", "rows_that_count_rarely", "rows_that_print_rarely",
    "dataset_that_changes", "class_that_changes", "names_that_change", "rows_that_raise",
    "rows_of_other_forms", "arrays",
}


def run_cases(names, *arguments, **environment):
    """What each case printed, by name, and its counts."""
    done = subprocess.run(
        [sys.executable, "-B", str(CASES_FILE), *names, *arguments],
        env={**scene.ENVIRONMENT, "OMP_NUM_THREADS": "1", "RUBATO_SPLIT_PLAN": "0:2",
             "RUBATO_SPLIT_ALWAYS": "1", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False,
    )
    outputs, name = {}, ""
    for line in done.stdout.splitlines():
        if line.startswith("case "):
            name = line.removeprefix("case ")
        outputs.setdefault(name, []).append(line)
    lines = [line.split() for line in done.stderr.splitlines() if line.startswith("counts ")]
    counts = {line[1]: [int(word) for word in line[2:]] for line in lines}
    return outputs, counts, done


@functools.lru_cache(maxsize=None)
def run_plainly():
    """All cases, without rows fetched ahead."""
    return run_cases(sorted(prefetch_cases.CASES), "split", RUBATO_PREFETCH="0")


class CasesTest(unittest.TestCase):
    """The same bits with and without rows fetched ahead."""

    @classmethod
    def setUpClass(cls):
        cls.plain, _, cls.plain_run = run_plainly()
        cls.ahead, cls.counts, cls.ahead_run = run_cases(sorted(prefetch_cases.CASES), "split")

    def test_every_case_is_expected_to_be_fetched_ahead_or_not(self):
        self.assertEqual(AHEAD | NOT_AHEAD, set(prefetch_cases.CASES))
        self.assertEqual(AHEAD & NOT_AHEAD, set())

    def test_all_cases_end_well(self):
        self.assertEqual(self.plain_run.returncode, 0, self.plain_run.stderr)
        self.assertEqual(self.ahead_run.returncode, 0, self.ahead_run.stderr)

    def test_a_script_sees_the_same(self):
        for name in sorted(prefetch_cases.CASES):
            with self.subTest(name):
                self.assertGreater(len(self.plain.get(name, [])), 1)
                self.assertEqual(self.ahead.get(name), self.plain.get(name))

    def test_rows_are_fetched_ahead_where_that_is_right(self):
        for name in sorted(prefetch_cases.CASES):
            with self.subTest(name):
                delivered, discarded, _ = self.counts[name]
                self.assertEqual(delivered > 0, name in AHEAD, self.ahead_run.stderr)
                if name in DISCARDED:
                    self.assertGreater(discarded, 0)

    def test_replicas_fetch_some_of_them(self):
        self.assertGreater(sum(count[2] for count in self.counts.values()), 100)

    def test_the_user_is_told_why_rows_are_not_fetched_ahead(self):
        for sentence in ("rows of Noisy are not fetched ahead: reading a row draws random numbers",
                         "the dataset.array is a NumPy array that can be written",
                         "the dataset.file is an open file"):
            self.assertIn(sentence, self.ahead_run.stderr)


class BreaksTest(unittest.TestCase):
    """Each safeguard, taken away, shows in what the cases print."""

    def assert_changes(self, broken, *names):
        right, _, _ = run_plainly()
        wrong, _, done = run_cases(names, "split", broken)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any(wrong[name] != right[name] for name in names))

    def test_unwatched_datasets(self):
        self.assert_changes("watch_nothing", "dataset_that_changes", "names_that_change")

    def test_draws_ahead_of_time(self):
        self.assert_changes("look_ahead_of_every_draw", "own_generator_and_full_batches_only",
                            "with_replacement_and_generator")

    def test_memory_used_again_too_early(self):
        self.assert_changes("use_held_slots", "batches_that_are_kept_and_changed")

    def test_rare_draws(self):
        self.assert_changes("draw_unnoticed", "rows_that_draw_rarely")

    def test_rare_output(self):
        self.assert_changes("print_unnoticed", "rows_that_print_rarely")


class LookaheadTest(unittest.TestCase):
    def test_asking_early_moves_no_generator_that_a_script_sees(self):
        rows = list(range(50))
        samplers = {
            "random": lambda generator: RandomSampler(rows, generator=generator),
            "more": lambda generator: RandomSampler(rows, num_samples=120, generator=generator),
            "fewer": lambda generator: RandomSampler(rows, num_samples=30, generator=generator),
            "subset": lambda generator: SubsetRandomSampler(rows[5:], generator),
            "weighted": lambda generator: torch.utils.data.WeightedRandomSampler(
                torch.ones(50), 70, generator=generator),
        }
        for name, make in samplers.items():
            for generator in (None, torch.Generator().manual_seed(1)):
                for batch_rows in (1, 7, 10):
                    with self.subTest(name, own=generator is not None, batch_rows=batch_rows):
                        sampler = BatchSampler(make(generator), batch_rows, False)
                        self.check(sampler, generator or torch.default_generator)

    def check(self, batch_sampler, generator):
        self.assertTrue(is_known(batch_sampler))
        loader_iter = iter(DataLoader(list(range(50)), batch_sampler=batch_sampler))
        loader_iter._next_index()
        delivered, looked = 1, 0
        while (delivered + 1) * batch_sampler.batch_size <= samples_limit(batch_sampler):
            before = generator.get_state()
            self.assertEqual(len(Ahead(loader_iter).indices), batch_sampler.batch_size)
            self.assertTrue(torch.equal(generator.get_state(), before))
            delivered, looked = delivered + 1, looked + 1
        self.assertGreater(looked, 1)

    def test_drawing_with_replacement_by_the_scripts_generator_is_never_early(self):
        sampler = RandomSampler(range(50), replacement=True, generator=torch.Generator())

        self.assertFalse(is_known(BatchSampler(sampler, 4, False)))


class FastFetchTest(unittest.TestCase):
    def tensors(self):
        generator = torch.Generator().manual_seed(2)
        return [torch.randn(40, 3, 5, generator=generator),
                torch.randint(0, 9, (40,), generator=generator),
                torch.randn(40, 1, 4, 4, generator=generator).double(),
                torch.rand(40, generator=generator) > 0.5,
                torch.randn(40, 2, 4, 4, generator=generator).bfloat16()]

    def test_rows_are_those_of_torch_to_the_bit(self):
        data = TensorDataset(*self.tensors())
        for dataset in (data, Subset(data, [5, 3, 3, 39, 0, 1, 2]), Subset(Subset(data, range(9)),
                                                                           range(1, 8))):
            indices = [0, 5, 5, 2, 6]
            self.assertTrue(fast_fetch.is_tensor_dataset(dataset))
            found = fast_fetch.fetch(dataset, indices)
            expected = torch.utils.data.default_collate([dataset[index] for index in indices])
            self.assertIs(type(found), type(expected))
            for ours, theirs in zip(found, expected, strict=True):
                self.assertEqual(prefetch_cases.digest(ours.view(torch.uint8)),
                                 prefetch_cases.digest(theirs.view(torch.uint8)))
                self.assertEqual((ours.dtype, ours.stride()), (theirs.dtype, theirs.stride()))

    def test_anything_unusual_is_left_to_torch(self):
        plain = torch.zeros(4, 3)

        class Own(TensorDataset):
            pass

        self.assertFalse(fast_fetch.is_tensor_dataset(Own(plain)))
        for tensor in (plain.t(), plain.clone().requires_grad_(), plain.expand(2, 4, 3)[:, :2],
                       torch.nn.Parameter(plain)):
            self.assertIsNone(fast_fetch.fetch(TensorDataset(tensor), [0, 1]))
        for indices in ([True, False], [-1], [4], [torch.tensor(1)], [numpy.int64(1)], []):
            self.assertIsNone(fast_fetch.fetch(TensorDataset(plain), indices), indices)

    def test_a_collate_function_that_was_taught_more_is_the_users(self):
        table = torch.utils.data._utils.collate.default_collate_fn_map
        collate = torch.utils.data.default_collate
        self.assertTrue(fast_fetch.is_default_collate(collate))
        table[set] = lambda batch, *, collate_fn_map=None: batch
        try:
            self.assertFalse(fast_fetch.is_default_collate(collate))
        finally:
            del table[set]


class WatchedTest(unittest.TestCase):
    def test_changes_are_seen_wherever_they_happen(self):
        class Part:
            level = 1

        class Data:
            pass

        data = Data()
        data.part, data.numbers, data.table = Part(), [1, 2], {"a": [3]}
        data.tensor, data.small = torch.zeros(3), numpy.zeros(3)
        box = [5]
        data.function = lambda index: box[0] + index
        changes = [
            lambda: setattr(data, "new", 1), lambda: setattr(data.part, "own", 1),
            lambda: setattr(Part, "level", 2), lambda: data.numbers.__setitem__(0, True),
            lambda: data.table["a"].append(1), lambda: data.tensor.add_(1),
            lambda: data.small.__setitem__(1, 4.0), lambda: box.__setitem__(0, 6),
            lambda: torch.set_default_dtype(torch.float64),
        ]
        self.addCleanup(torch.set_default_dtype, torch.float32)
        for number, change in enumerate(changes):
            watched = Watched(data)
            watched.seal()
            self.assertIsNone(watched.reason)
            self.assertFalse(watched.has_changed(), number)
            change()
            self.assertTrue(watched.has_changed(), number)

    def test_what_cannot_be_watched_is_refused(self):
        class Slotted:
            __slots__ = ("value",)

        with open(os.devnull, encoding="utf-8") as file:
            for value in (file, iter([1]), torch.Generator(), random.Random(1), {1, 2},
                          numpy.zeros(1 << 20), torch.zeros(2, requires_grad=True), Slotted(),
                          numpy.random.default_rng(1), [torch.zeros(1) for _ in range(300)]):
                self.assertIsNotNone(Watched([value]).reason, type(value))

    def test_the_dataset_is_not_kept_alive(self):
        data = prefetch_cases.Rows()
        watched = Watched(data)
        watched.seal()
        reference = weakref.ref(data)
        del data

        self.assertIsNone(reference())
        self.assertFalse(watched.has_changed())


class RandomStatesTest(unittest.TestCase):
    def test_draws_are_seen_and_undone(self):
        for draw in (lambda: torch.rand(1), random.random, numpy.random.rand):
            before = prefetch_cases.generator_states()
            states = RandomStates()
            self.assertTrue(states.are_current())

            draw()
            self.assertFalse(states.are_current())
            states.restore()

            self.assertTrue(states.are_current())
            self.assertEqual(prefetch_cases.generator_states(), before)


class FakeMemory:
    """A region and where its next free byte is."""

    def __init__(self):
        self.region = split.Region(1 << 24)
        self.next = 100

    def allocate(self, size):
        self.next += size
        return self.next - size


class SlotsTest(unittest.TestCase):
    def test_memory_is_used_again_only_when_nobody_holds_it(self):
        pool = SlotPool(FakeMemory())
        slot = pool.acquire(4000)
        tensor = torch.frombuffer(slot.deliver(4000), dtype=torch.float32, count=1000)
        array = tensor.view(10, 100)[2:].numpy()
        del tensor

        self.assertIsNot(pool.acquire(4000), slot)
        del array
        self.assertIs(pool.acquire(4000), slot)

    def test_delivered_batches_and_their_views_are_found_in_the_region(self):
        memory = FakeMemory()
        pool = SlotPool(memory)
        slot = pool.acquire(4000)
        tensor = torch.frombuffer(slot.deliver(4000), dtype=torch.float32, count=1000)
        tensor[500] = 7.0
        offset = pool.location(tensor[500:])

        found = torch.frombuffer(memory.region, dtype=torch.float32, count=1, offset=offset)
        self.assertEqual(found.item(), 7.0)
        self.assertIsNone(pool.location(tensor.clone()))

    def test_there_is_a_limit_of_slots_but_not_of_their_sizes(self):
        pool = SlotPool(FakeMemory())
        held = []
        while (slot := pool.acquire(5000)) is not None:
            held.append(slot.deliver(1))

        self.assertEqual(len(held), prefetch.slots.SLOTS_MAX)
        del held[3]
        self.assertIsNotNone(pool.acquire(100_000))


class RowQueueTest(unittest.TestCase):
    def test_chunks_of_a_killed_process_come_back(self):
        memory = FakeMemory()
        queue = split.RowQueue(memory.region, 4096)
        self.assertTrue(queue.start(3))
        child = os.fork()
        if child == 0:
            queue.take()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)

        self.assertEqual(queue.held(), [(0, child)])
        self.assertTrue(prefetch.round.is_dead(child))
        self.assertEqual(queue.reclaim(child), [0])
        self.assertTrue(queue.done(0))
        self.assertEqual([queue.take(), queue.take(), queue.take()], [1, 2, -1])
        self.assertFalse(queue.wait_all(1000))

    def test_a_round_has_a_limited_number_of_chunks(self):
        queue = split.RowQueue(FakeMemory().region, 4096)
        for total in (0, split.RowQueue.CHUNKS_MAX + 1):
            with self.assertRaises(ValueError):
                queue.start(total)


if __name__ == "__main__":
    unittest.main()
