"""Elastic training with PyTorch: workers come and go between two steps, and nobody restarts.

    trainer = rubato.Trainer(model, optimizer, dataset, batch=256, epochs=10)
    for inputs, targets in trainer:
        trainer.step(loss_fn(model(inputs), targets))

Run it with `rubato train --workers 2 -- python3 train.py`; without that it trains alone.
Scripts that know nothing of Rubato are run the same way; see `rubato.split`.

    rubato.log(loss=0.3)     # appears on the job's page; does nothing without Rubato
    rubato.should_stop()     # true once the job's --until rule has come true
"""

from typing import Any

__all__ = ["Refused", "Trainer", "log", "should_stop"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Torch is loaded when it is needed: a warm interpreter may only want the hook."""
    if name == "Trainer":
        from rubato.trainer import Trainer

        return Trainer
    if name == "Refused":
        from rubato.refusal import Refused

        return Refused
    if name in ("log", "should_stop"):
        from rubato.split import metrics

        return getattr(metrics, name)
    raise AttributeError(f"module 'rubato' has no attribute {name!r}")
