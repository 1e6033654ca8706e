"""Loaded into the process of a script of the corpus by way of PYTHONPATH; see `observe.py`."""

import os
import sys

if os.environ.get("CORPUS_PROBE"):
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import observe

    observe.install()
