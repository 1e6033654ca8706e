"""Calls `patches.install` as soon as the script, or a warm interpreter, has loaded torch."""

import importlib.abc
import importlib.util
import sys
from types import ModuleType
from typing import Any, Optional


class PatchingLoader(importlib.abc.Loader):
    """Loads torch as its own loader does, then patches it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Optional[ModuleType]:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        from rubato.takeover import patches

        patches.install()


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch where everybody else does."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = PatchingLoader(spec.loader)
        return spec


def install() -> None:
    """Only one finder is needed, and none if torch is here already."""
    if "torch" in sys.modules:
        from rubato.takeover import patches

        patches.install()
    elif not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TorchFinder())
