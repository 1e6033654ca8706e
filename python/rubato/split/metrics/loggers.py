"""Loggers that scripts use already: their calls are looked at, and change in nothing.

Each is patched where the function or class is defined, when that module is imported, so that names
which others import from there are the patched ones. Nothing is imported for it.
"""

import functools
from types import ModuleType
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from rubato.split.metrics import import_hook

Record = Callable[..., None]  # Of a name, a value and perhaps a step.
MARK = "__rubato_patched__"

RECORD: Optional[Record] = None
PATCHED: List[Tuple[Any, str, Any]] = []  # Owner, name and original of all that was replaced.


def record(name: Any, value: Any, step: Any = None) -> None:
    """Whatever goes wrong here is no concern of the script's."""
    try:
        if RECORD is not None:
            RECORD(str(name), value, step)
    except Exception:
        pass


def watch(owner: Any, name: str, look: Callable[..., None]) -> None:
    """Has `look` called with the arguments of each call of a function, once that has succeeded."""
    original = getattr(owner, name, None)
    if not callable(original) or hasattr(original, MARK):
        return

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        try:
            look(*args, **kwargs)
        except Exception:  # A call that we do not understand.
            pass
        return result

    setattr(watched, MARK, True)
    setattr(owner, name, watched)
    PATCHED.append((owner, name, original))


# Calls of SummaryWriter, as torch and tensorboardX have it.

def on_add_scalar(_writer: Any, tag: str, scalar_value: Any, global_step: Any = None,
                  *_: Any, **__: Any) -> None:
    record(tag, scalar_value, global_step)


def on_add_scalars(_writer: Any, main_tag: str, tag_scalar_dict: Mapping[str, Any],
                   global_step: Any = None, *_: Any, **__: Any) -> None:
    for tag, value in tag_scalar_dict.items():
        record(f"{main_tag}/{tag}", value, global_step)


def patch_summary_writer(module: ModuleType) -> None:
    writer = getattr(module, "SummaryWriter", None)
    if isinstance(writer, type):
        watch(writer, "add_scalar", on_add_scalar)
        watch(writer, "add_scalars", on_add_scalars)


# Weights and Biases.

def on_wandb_log(data: Mapping[str, Any], step: Any = None, *_: Any, **__: Any) -> None:
    for name, value in data.items():
        if is_number(value):
            record(name, value, step)


def patch_wandb_run(module: ModuleType) -> None:
    run = getattr(module, "Run", None)
    if isinstance(run, type):
        watch(run, "log", lambda _run, *args, **kwargs: on_wandb_log(*args, **kwargs))


def patch_wandb(module: ModuleType) -> None:
    """`wandb.log` becomes the method of a run with `wandb.init`; a package without runs has only
    the function."""
    if not hasattr(module, "sdk"):
        watch(module, "log", on_wandb_log)


# MLflow.

def on_log_metric(key: str, value: Any, step: Any = None, *_: Any, **__: Any) -> None:
    record(key, value, step)


def on_log_metrics(metrics: Mapping[str, Any], step: Any = None, *_: Any, **__: Any) -> None:
    for name, value in metrics.items():
        record(name, value, step)


def patch_mlflow(module: ModuleType) -> None:
    watch(module, "log_metric", on_log_metric)
    watch(module, "log_metrics", on_log_metrics)


def is_number(value: Any) -> bool:
    """Dashboards are also given pictures and texts, which are not worth a word."""
    return isinstance(value, (int, float, Mapping)) or (
        not isinstance(value, (str, bytes)) and hasattr(value, "__float__"))


PATCHES: Dict[str, import_hook.Patch] = {
    "torch.utils.tensorboard.writer": patch_summary_writer,
    "tensorboardX.writer": patch_summary_writer,
    "wandb.sdk.wandb_run": patch_wandb_run,
    "wandb": patch_wandb,
    "mlflow.tracking.fluent": patch_mlflow,
    "mlflow": patch_mlflow,  # Nothing is left to do where the module above is there.
}


def install(recorded: Record) -> None:
    """Numbers go to `recorded` from now on."""
    global RECORD
    RECORD = recorded
    for name, patch in PATCHES.items():
        import_hook.on_import(name, patch)


def uninstall() -> None:
    global RECORD
    RECORD = None
    import_hook.forget_all()
    while PATCHED:
        owner, name, original = PATCHED.pop()
        setattr(owner, name, original)
