"""Runs a script as a leader without a supervisor: python3 -m rubato.split script.py ARGUMENTS"""

import os
import runpy
import sys

from rubato.split.survival.install import start

if len(sys.argv) < 2:
    sys.exit("usage: python3 -m rubato.split script.py [ARGUMENTS]")
start()

from rubato.split.install import install  # noqa: E402  It loads torch, in the leader only.

install()
del sys.argv[0]
sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
