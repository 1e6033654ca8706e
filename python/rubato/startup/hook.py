"""Makes the process that runs a script its job's leader, as soon as the script has loaded torch.

A cold interpreter begins here when it starts. A warm one, which has loaded torch already and forks
a process per script, calls `begin_script` in the fork, when it has the script's own environment.
"""

import importlib.abc
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Dict, Optional

LEADER = "RUBATO_SCRIPT"  # Set for the process that is to run the script, and for no other.
# How the leader reaches its supervisor. Programs that the script starts inherit its environment
# and lead nothing, so these are taken out of it.
ADDRESS: Dict[str, str] = {}
ADDRESS_NAMES = ("RUBATO_CONDUCTOR", "RUBATO_WORKER", "RUBATO_TOKEN")


class InstallingLoader(importlib.abc.Loader):
    """Loads torch as its own loader does, then replaces what must be replaced."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Optional[ModuleType]:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        install()


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch where everybody else does."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = InstallingLoader(spec.loader)
        return spec


def install() -> None:
    from rubato.split.install import install as install_split

    install_split()


def begin_script() -> None:
    """In the process that is about to run the program."""
    if os.environ.pop(LEADER, "0") != "1":
        return
    for name in ADDRESS_NAMES:
        ADDRESS[name] = os.environ.pop(name, "")
    from rubato.split.survival.install import start

    start()
    if "torch" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, TorchFinder())
