"""Trains under `rubato train` and writes down when each step was committed.

Usage: rubato_program.py FOLDER BATCH
"""

import sys

import rubato
from stamps import StampWriter, now
from torch.utils.data import TensorDataset
from workloads import workload


def main() -> None:
    work = workload("cnn")
    stamps = StampWriter(sys.argv[1])
    trainer = rubato.Trainer(
        work.model, work.optimizer(), TensorDataset(*work.tensors),
        batch=int(sys.argv[2]), steps=10**6, drop_last=True,
    )
    for batch in trainer:
        began = now()
        if trainer.step(work.loss(*batch)):
            done = trainer.metrics
            stamps.write(began, done["step"], done["workers"], done["generation"])


main()
