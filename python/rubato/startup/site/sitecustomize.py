"""Loaded by every Python worker that Rubato starts, because this folder is first in PYTHONPATH.

It has a folder of its own, so that nothing else of Rubato comes before a script's own modules.
"""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def chain():
    """Runs the `sitecustomize` that would have been found without us."""
    path = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def begin():
    """The package comes last in the path; it has only one name to offer."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    if root not in sys.path:
        sys.path.append(root)
    from rubato.startup import hook

    hook.begin_script()


begin()
chain()
