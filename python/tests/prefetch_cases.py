"""Small scripts in which fetching rows ahead could go wrong. Each prints what it sees.

    python3 prefetch_cases.py NAME...        as plain Python
    python3 prefetch_cases.py NAME... split  as a leader; counts go to standard error

The output must be the same, bit by bit, whether rows are fetched ahead or not.
"""

import collections
import os
import random
import sys
import tempfile

import numpy
import prefetch_loaders  # noqa: F401  Its cases are run here, too.
import torch
from prefetch_scene import (BATCH, CASES, SAMPLES, WIDTH, Rows, Trainer, case, digest,
                            generator_states)
from torch.utils.data import DataLoader

SCALE = 1.0


@case
def list_of_pairs():
    rows = Rows()
    pairs = [(rows.inputs[i].tolist(), int(rows.labels[i])) for i in range(SAMPLES)]
    trainer = Trainer()
    for columns, labels in DataLoader(pairs, BATCH, shuffle=True):
        print(digest(*columns, labels), generator_states())
        trainer.step(torch.stack(columns, 1).float(), labels)


Sample = collections.namedtuple("Sample", "inputs label")


@case
def samples_of_many_forms():
    class Named(Rows):
        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return {"pair": Sample(inputs, label), "number": float(index), "flag": index % 2 == 0,
                    "array": numpy.full((2, 2), index, numpy.float32), "list": [label, label + 1]}

    trainer = Trainer()
    for batch in DataLoader(Named(), BATCH, shuffle=True):
        pair = batch["pair"]
        print(type(pair).__name__, digest(pair.inputs, pair.label, batch["number"], batch["flag"],
                                          batch["array"], *batch["list"]), list(batch))
        trainer.step(pair.inputs, pair.label)


@case
def rows_that_draw():
    class Noisy(Rows):
        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return inputs + torch.randn(WIDTH) * random.random() + numpy.random.rand(), label

    Trainer().epoch(DataLoader(Noisy(), BATCH, shuffle=True))


@case
def rows_that_draw_rarely():
    class RarelyNoisy(Rows):
        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return (inputs + torch.randn(WIDTH) if index == 400 else inputs), label

    Trainer().epoch(DataLoader(RarelyNoisy(), BATCH))


class Counting(Rows):
    def __init__(self, which):
        super().__init__()
        self.which, self.seen = which, 0

    def __getitem__(self, index):
        if index in self.which:
            self.seen += 1
        return super().__getitem__(index)


@case
def rows_that_count():
    rows = Counting(range(SAMPLES))
    Trainer().epoch(DataLoader(rows, BATCH, shuffle=True), each=lambda *_: print(rows.seen))


@case
def rows_that_count_rarely():
    rows = Counting((390, 400, 447))
    Trainer().epoch(DataLoader(rows, BATCH), each=lambda *_: print(rows.seen))


@case
def rows_that_are_remembered():
    class Remembering(Rows):
        def __init__(self):
            super().__init__()
            self.memory = {}

        def __getitem__(self, index):
            if index not in self.memory:
                self.memory[index] = super().__getitem__(index)
            return self.memory[index]

    rows = Remembering()
    Trainer().epoch(DataLoader(rows, BATCH), each=lambda *_: print(len(rows.memory)))


@case
def rows_that_print():
    class Printing(Rows):
        def __getitem__(self, index):
            print("row", index)
            return super().__getitem__(index)

    Trainer().epoch(DataLoader(Printing(), BATCH, shuffle=True))


@case
def rows_that_print_rarely():
    class RarelyPrinting(Rows):
        def __getitem__(self, index):
            if index in (390, 400, 447):
                print("row", index, flush=True)
            return super().__getitem__(index)

    Trainer().epoch(DataLoader(RarelyPrinting(), BATCH))


@case
def rows_that_count_elsewhere():
    counts = collections.Counter()

    class CountingElsewhere(Rows):
        def __getitem__(self, index):
            counts["rows"] += 1
            return super().__getitem__(index)

    Trainer().epoch(DataLoader(CountingElsewhere(), BATCH), each=lambda *_: print(counts["rows"]))


@case
def rows_that_write_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.txt")

        class Writing(Rows):
            def __getitem__(self, index):
                with open(path, "a", encoding="utf-8") as file:
                    file.write(f"{index}\n")
                return super().__getitem__(index)

        Trainer().epoch(DataLoader(Writing(), BATCH))
        with open(path, encoding="utf-8") as file:
            print(digest(file.read()))


@case
def rows_of_a_file():
    """Each row is read from a file that is opened for it, and one from a file that stays open."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.bin")
        Rows().inputs.numpy().tofile(path)

        class Reading(Rows):
            def __init__(self, stays_open):
                super().__init__()
                self.file = open(path, "rb") if stays_open else None

            def __getitem__(self, index):
                file = self.file or open(path, "rb")
                file.seek(4 * WIDTH * index)
                row = numpy.frombuffer(file.read(4 * WIDTH), numpy.float32).copy()
                if self.file is None:
                    file.close()
                return row, int(self.labels[index])

        for stays_open in (False, True):
            rows = Reading(stays_open)
            Trainer().epoch(DataLoader(rows, BATCH, shuffle=True),
                            each=lambda *_, rows=rows: print(rows.file and rows.file.tell()))


@case
def dataset_that_changes():
    rows = Rows()

    def each(step, _):
        if step in (4, 13):
            rows.scale *= 0.5
        if step == 5:
            rows.inputs[100:] += 1.0
        if step == 6:
            rows.order[400:450] = [0] * 50
        if step == 11:
            rows.inputs = rows.inputs * 2

    trainer = Trainer()
    for _ in range(3):
        trainer.epoch(DataLoader(rows, BATCH, shuffle=True), each=each)


@case
def class_that_changes():
    class Shifted(Rows):
        shift = 0.0

        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return inputs + self.shift, label

    def each(step, _):
        if step % 6 == 5:
            Shifted.shift += 1.0

    trainer = Trainer()
    for _ in range(3):
        trainer.epoch(DataLoader(Shifted(), BATCH, shuffle=True), each=each)


def scaled(inputs):
    return inputs * SCALE


@case
def names_that_change():
    settings = {"shift": 0.0}
    factor = 1.0

    class Dependent(Rows):
        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return scaled(inputs) * factor + settings["shift"], label

    def each(step, _):
        global SCALE
        nonlocal factor
        if step == 5:
            SCALE = 2.0
        if step == 12:
            factor = 3.0
        if step == 20:
            settings["shift"] = 1.0

    trainer, rows = Trainer(), Dependent()
    for _ in range(3):
        trainer.epoch(DataLoader(rows, BATCH, shuffle=True), each=each)


@case
def arrays():
    class Arrays(Rows):
        def __init__(self, is_writable):
            super().__init__()
            self.array = self.inputs.numpy().copy()
            self.array.setflags(write=is_writable)
            self.offset = numpy.zeros(WIDTH, numpy.float32)

        def __getitem__(self, index):
            return self.array[index] + self.offset, int(self.labels[index])

    trainer = Trainer()
    for is_writable in (False, True):
        rows = Arrays(is_writable)

        def each(step, _, rows=rows):
            if step in (5, 12):
                rows.offset[3] += 1.0
            if step == 12 and rows.array.flags.writeable:
                rows.array[:] += 1.0

        trainer.epoch(DataLoader(rows, BATCH, shuffle=True), each=each)


def watch_nothing(prefetch):
    prefetch.watched.Watched.has_changed = lambda self: False


def look_ahead_of_every_draw(prefetch):
    prefetch.lookahead.samples_limit = lambda batch_sampler: len(batch_sampler.sampler)
    prefetch.lookahead.is_known = lambda batch_sampler: True


def use_held_slots(prefetch):
    prefetch.slots.Slot.is_held = lambda self: False


def draw_unnoticed(prefetch):
    prefetch.random_states.RandomStates.are_current = lambda self: True


def print_unnoticed(prefetch):
    prefetch.round.ReplicaOutput.has_any = lambda self: False


# Ways to break the code, each of which must change what some case prints.
BREAKS = {function.__name__: function for function in (
    watch_nothing, look_ahead_of_every_draw, use_held_slots, draw_unnoticed, print_unnoticed)}


def main():
    """Arguments: names of cases, `split` for a leader, names of breaks."""
    torch.set_num_threads(1)
    is_split = "split" in sys.argv
    if is_split:
        from rubato.split import prefetch
        from rubato.split.install import install

        # Even what is not worth it.
        prefetch.loader.SECONDS_MIN = 0.0
        prefetch.loader.RENEWALS_FREE = 1000
        install()
        for name in BREAKS.keys() & set(sys.argv):
            BREAKS[name](prefetch)
    before = [0, 0, 0]
    for name in sys.argv[1:]:
        if name not in CASES:
            continue
        print("case", name)
        torch.manual_seed(5)
        random.seed(5)
        numpy.random.seed(5)
        CASES[name]()
        if is_split:
            found = prefetch.counts()
            after = [found.delivered, found.discarded, found.chunks_of_replicas]
            print("counts", name, *[now - then for now, then in zip(after, before)],
                  file=sys.stderr)
            before = after


if __name__ == "__main__":
    main()
