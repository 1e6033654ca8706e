"""An interpreter that has loaded torch and forks a process for each run: loading takes longer than
the steps of most dry runs. It knows nothing of the script, and a run changes nothing in it.

python3 -m rubato.check.warm reads folders of results, one a line, and answers with process numbers.
"""

import os
import subprocess
import sys
from typing import Dict, Optional

STDERR = "stderr"  # In the folder of results.


def serve() -> None:
    import torch  # noqa: F401  Everything else is loaded in the fork, which has its own variables.

    for line in sys.stdin.buffer:
        reader, writer = os.pipe()
        if os.fork() == 0:
            # Its parent ends at once, so that whoever adopts orphans can wait for the run itself.
            pid = os.fork()
            if pid != 0:
                os.write(writer, b"%d\n" % pid)
                os._exit(0)
            become_run(os.fsdecode(line.rstrip(b"\n")))
        os.wait()
        answer = os.read(reader, 32)
        os.close(reader)
        os.close(writer)
        os.write(1, answer)


def become_run(results: str) -> None:
    """As if this process had been started for the run."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        error = os.open(os.path.join(results, STDERR), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, descriptor in enumerate((nothing, nothing, error)):
            os.dup2(descriptor, number)
        os.closerange(3, 256)
        sys.stdin = open(0, encoding="utf-8", closefd=False)
        from rubato.check import dry_run

        dry_run.main(results)
    except BaseException as failure:  # noqa: B902  What happened before the script began.
        sys.stderr.write(f"{type(failure).__name__}: {failure}\n")
    finally:
        os._exit(1)


class WarmInterpreter:
    """The one of this process; its orphans must come to us (runs.adopt_orphans)."""

    def __init__(self, environment: Dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rubato.check.warm"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment, start_new_session=True)

    def fork(self, results: str) -> Optional[int]:
        """The process of a run, now a child of ours; nothing if the interpreter has died."""
        try:
            self.process.stdin.write(os.fsencode(results) + b"\n")
            self.process.stdin.flush()
            return int(self.process.stdout.readline())
        except (OSError, ValueError):
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    serve()
