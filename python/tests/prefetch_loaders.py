"""Cases in which samplers, loaders, batches and processes are what could go wrong."""

import os
import random
import signal
import sys
import time

import torch
from prefetch_scene import BATCH, SAMPLES, WIDTH, Rows, Trainer, case, digest, generator_states
from torch.utils.data import (ConcatDataset, DataLoader, RandomSampler, Subset,
                              SubsetRandomSampler, TensorDataset, WeightedRandomSampler)


@case
def shuffled():
    trainer = Trainer()
    for _ in range(2):
        trainer.epoch(DataLoader(Rows(), BATCH, shuffle=True))


@case
def sequential():
    trainer, loader = Trainer(), DataLoader(Rows(), BATCH)
    trainer.epoch(loader)
    trainer.epoch(loader)


@case
def left_early():
    trainer, loader = Trainer(), DataLoader(Rows(), BATCH, shuffle=True)
    for _ in range(3):
        trainer.epoch(loader, limit=5)


@case
def own_generator():
    generator = torch.Generator().manual_seed(3)
    trainer, loader = Trainer(), DataLoader(Rows(), BATCH, shuffle=True, generator=generator)
    show = lambda *_: print("own generator", digest(generator.get_state()))  # noqa: E731
    trainer.epoch(loader, limit=6, each=show)
    trainer.epoch(loader, each=show)


@case
def own_generator_and_full_batches_only():
    generator = torch.Generator().manual_seed(3)
    rows = Subset(Rows(), range(8 * BATCH))
    sampler = RandomSampler(rows, num_samples=12 * BATCH, generator=generator)
    show = lambda *_: print("own generator", digest(generator.get_state()))  # noqa: E731
    Trainer().epoch(DataLoader(rows, BATCH, sampler=sampler), each=show)


@case
def with_replacement():
    sampler = RandomSampler(range(SAMPLES), replacement=True, num_samples=700)
    Trainer().epoch(DataLoader(Rows(), BATCH, sampler=sampler))


@case
def with_replacement_and_generator():
    generator = torch.Generator().manual_seed(3)
    sampler = RandomSampler(range(SAMPLES), replacement=True, generator=generator)
    show = lambda *_: print("own generator", digest(generator.get_state()))  # noqa: E731
    Trainer().epoch(DataLoader(Rows(), BATCH, sampler=sampler), each=show)


@case
def more_samples_than_rows():
    sampler = RandomSampler(range(SAMPLES), num_samples=2 * SAMPLES + 100)
    Trainer().epoch(DataLoader(Rows(), BATCH, sampler=sampler))


@case
def weighted():
    weights = torch.rand(SAMPLES, generator=torch.Generator().manual_seed(2))
    loader = DataLoader(Rows(), BATCH, sampler=WeightedRandomSampler(weights, 700))
    trainer = Trainer()
    trainer.epoch(loader, limit=8)
    trainer.epoch(loader)


@case
def subset_sampler():
    sampler = SubsetRandomSampler(list(range(0, SAMPLES - 20)))
    Trainer().epoch(DataLoader(Rows(), BATCH, sampler=sampler, drop_last=True))


@case
def subset_sampler_that_changes():
    sampler = SubsetRandomSampler(list(range(500)))

    def each(step, _):
        if step == 5:
            sampler.indices = list(reversed(sampler.indices))
        if step == 6:
            sampler.indices[:250] = [0] * 250

    Trainer().epoch(DataLoader(Rows(), BATCH, sampler=sampler), each=each)


@case
def subset_and_concatenation():
    rows = ConcatDataset([Subset(Rows(), list(range(300))), Subset(Rows(), list(range(400, 500)))])
    trainer = Trainer()
    for _ in range(2):
        trainer.epoch(DataLoader(rows, 50, shuffle=True, drop_last=True))


@case
def tensor_dataset():
    rows = Rows()
    trainer = Trainer()
    for data in (TensorDataset(rows.inputs, rows.labels),
                 Subset(TensorDataset(rows.inputs, rows.labels), list(range(3, 520)))):
        trainer.epoch(DataLoader(data, BATCH, shuffle=True))


@case
def held_iterator():
    trainer, loader = Trainer(), DataLoader(Rows(), BATCH, shuffle=True)
    iterator = iter(loader)
    for _ in range(5):
        inputs, labels = next(iterator)
        print(digest(inputs, labels), torch.rand(1).item(), generator_states())
        trainer.step(inputs, labels)
    trainer.epoch(loader)
    for inputs, labels in iterator:
        print(digest(inputs, labels), generator_states())
        trainer.step(inputs, labels)
    print("ended", next(iterator, None))


@case
def two_loaders():
    trainer = Trainer()
    first, second = DataLoader(Rows(), BATCH, shuffle=True), DataLoader(Rows(), 32, shuffle=True)
    for (inputs, labels), (others, targets) in zip(first, second):
        print(digest(inputs, labels, others, targets), generator_states())
        trainer.step(inputs, labels)
        trainer.step(others, targets)


@case
def rows_that_raise():
    class Broken(Rows):
        def __getitem__(self, index):
            if index == 450:
                raise KeyError("row 450 is broken")
            return super().__getitem__(index)

    trainer, iterator = Trainer(), iter(DataLoader(Broken(), BATCH))
    for _ in range(20):
        try:
            inputs, labels = next(iterator)
        except KeyError as error:
            trace, names = error.__traceback__, []
            while trace is not None:
                names.append(trace.tb_frame.f_code.co_name)
                trace = trace.tb_next
            print("raised", error, names[-3:])
            continue
        except StopIteration:
            print("ended")
            break
        print(digest(inputs, labels), generator_states())
        trainer.step(inputs, labels)


@case
def rows_of_other_forms():
    class Ragged(Rows):
        def __getitem__(self, index):
            inputs, label = super().__getitem__(index)
            return inputs, (float(label) if 400 <= index < 420 else label)

    trainer = Trainer()
    for inputs, labels in DataLoader(Ragged(), BATCH):
        print(digest(inputs, labels))
        trainer.step(inputs, labels.long())


@case
def batches_that_are_kept_and_changed():
    kept, views = [], []

    def each(step, inputs):
        if step % 3 == 0:
            kept.append(inputs)
        if step % 4 == 0:
            views.append(inputs.view(-1)[10:20].numpy())
        inputs.data.mul_(0.5) if step % 5 == 0 else inputs.add_(1.0)

    trainer, loader = Trainer(), DataLoader(Rows(), BATCH, shuffle=True)
    for _ in range(3):
        trainer.epoch(loader, each=each)
    print("kept", digest(*kept), digest(*[view.tolist() for view in views]))


@case
def batches_changed_before_the_call():
    trainer = Trainer()
    for inputs, labels in DataLoader(Rows(), BATCH, shuffle=True):
        array = inputs.numpy()
        array *= 0.5
        inputs.data.clamp_(-1, 1)
        trainer.step(inputs, labels)
        trainer.step(inputs[:16].view(16, WIDTH), labels[:16])
        trainer.step(inputs[::2], labels[::2])
    print("parameters", digest(*trainer.model.parameters()))


@case
def forked_children():
    trainer, reading, readers = Trainer(), [], []
    for step, (inputs, labels) in enumerate(DataLoader(Rows(), BATCH, shuffle=True)):
        receiver, sender = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            inputs.add_(1.0)
            time.sleep(0.05)
            os.write(sender, digest(inputs).encode())
            os._exit(0)
        os.close(sender)
        readers.append(child)
        reading.append(receiver)
        print(digest(inputs))
        trainer.step(inputs, labels)
    for child, receiver in zip(readers, reading):
        os.waitpid(child, 0)
        print("child", os.read(receiver, 100).decode())


@case
def child_that_goes_on():
    trainer, iterator = Trainer(), iter(DataLoader(Rows(), BATCH, shuffle=True))
    for _ in range(5):
        trainer.step(*next(iterator))
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print("child", *[digest(*batch) for batch in iterator], flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("parent", *[digest(*batch) for batch in iterator])


@case
def replicas_that_die():
    """Some replica is killed at every third batch, often while it reads rows."""

    class Slow(Rows):
        def __getitem__(self, index):
            sum(range(2000))
            return super().__getitem__(index)

    def each(step, _):
        if step % 3 == 2 and "rubato.split.controller" in sys.modules:
            pids = sys.modules["rubato.split.controller"].CONTROLLER.group.pids()
            time.sleep(random.Random(step).random() * 0.004)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    trainer, loader = Trainer(), DataLoader(Slow(), BATCH, shuffle=True)
    for _ in range(4):
        trainer.epoch(loader, each=each)


@case
def evaluation():
    trainer, rows = Trainer(), Rows()
    for _ in range(2):
        trainer.epoch(DataLoader(rows, BATCH, shuffle=True))
        with torch.no_grad():
            for inputs, labels in DataLoader(rows, 100):
                print(digest(inputs, labels), digest(trainer.model(inputs).argmax(1)))
        with torch.inference_mode():
            for inputs, _ in DataLoader(rows, 100):
                print(digest(inputs), inputs.is_inference())
