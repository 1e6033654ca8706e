"""Calls a function as soon as a module was imported; at once if it is there already."""

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional

Patch = Callable[[ModuleType], None]


class PatchingLoader(importlib.abc.Loader):
    """Loads a module as its own loader does, then patches it."""

    def __init__(self, loader: Any, patch: Patch) -> None:
        self.loader = loader
        self.patch = patch

    def create_module(self, spec: Any) -> Optional[ModuleType]:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.patch(module)


class PatchFinder(importlib.abc.MetaPathFinder):
    """Finds the modules that are to be patched where everybody else does."""

    def __init__(self) -> None:
        self.patches: Dict[str, Patch] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        patch = self.patches.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = PatchingLoader(spec.loader, patch)
                return spec
        return None


FINDER = PatchFinder()


def on_import(name: str, patch: Patch) -> None:
    module = sys.modules.get(name)
    if module is not None:
        patch(module)
        return
    FINDER.patches[name] = patch
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)


def forget_all() -> None:
    """No module is patched from now on."""
    FINDER.patches.clear()
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
