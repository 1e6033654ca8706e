"""Gives every interpreter that finds this folder in its path the pretended CUDA device."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import pretend_cuda
finally:
    del sys.path[0]

pretend_cuda.install()
