"""How Rubato gets into a Python process that it starts, before the program does.

The folder `site` is first in PYTHONPATH, so the interpreter loads the `sitecustomize` there. What
follows is in hook.py.
"""
