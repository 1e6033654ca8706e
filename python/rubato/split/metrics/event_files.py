"""Event files that the script writes, with whatever library: found, followed and read."""

import itertools
import os
import time
from typing import Any, Dict, Iterator, Optional, Set

from rubato.split.metrics.tfevents import Damaged, RecordReader, scalars_of

PREFIX = "events.out.tfevents."
SECONDS_BETWEEN_READS = 1.0
SECONDS_BETWEEN_SEARCHES = 5.0
RECORDS_MAX = 2000  # Of one file, each time; the rest is read later.
FILES_MAX = 64
FOLDERS_MAX = 500  # Looked into below the working directory, each time.
ENTRIES_MAX = 20_000  # Likewise: a folder may hold a whole data set.
DEPTH_MAX = 6


def open_files() -> Iterator[str]:
    """Event files that this process has open."""
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return
    for number in numbers:
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if os.path.basename(path).startswith(PREFIX):
            yield path


def files_below(folder: str) -> Iterator[str]:
    """Event files below a folder, as far as it is not too large."""
    waiting = [(folder, 0)]
    folders = seen = 0
    while waiting and folders < FOLDERS_MAX and seen < ENTRIES_MAX:
        folder, depth = waiting.pop(0)
        folders += 1
        try:
            with os.scandir(folder) as entries:
                for entry in itertools.islice(entries, ENTRIES_MAX - seen):
                    seen += 1
                    if entry.name.startswith(PREFIX) and entry.is_file(follow_symlinks=False):
                        yield entry.path
                    elif depth < DEPTH_MAX and not entry.name.startswith(".") and entry.is_dir(
                            follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
        except OSError:
            continue


def is_of_other_process(path: str) -> bool:
    """Names end with the process and a count, perhaps more: several jobs may share a folder."""
    parts = os.path.basename(path)[len(PREFIX):].split(".")
    while parts and not parts[-1].isdigit():
        parts.pop()
    if len(parts) < 4 or not parts[-2].isdigit():
        return False
    process = int(parts[-2])
    return process != os.getpid() and parent_of(process) != os.getpid()


def parent_of(process: int) -> Optional[int]:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


class EventFiles:
    """Those of the leader. What was written before the script began is not read."""

    def __init__(self, collector: Any) -> None:
        self.collector = collector
        self.readers: Dict[str, Optional[RecordReader]] = {}  # None: given up.
        self.read_at = time.monotonic()
        self.searched_at = self.read_at
        self.own: Set[str] = set()  # Names of metrics that come from these files.
        for path in files_below(os.getcwd()):
            self.follow(path, is_old=True)

    def follow(self, path: str, *, is_old: bool = False) -> None:
        path = os.path.realpath(path)
        if path in self.readers or len(self.readers) >= FILES_MAX:
            return
        try:
            self.readers[path] = RecordReader(path, os.path.getsize(path) if is_old else 0)
        except OSError:
            pass

    def poll(self, *, is_last: bool = False) -> None:
        """Reads what is new, at most once a second."""
        now = time.monotonic()
        if not is_last and now - self.read_at < SECONDS_BETWEEN_READS:
            return
        self.read_at = now
        for path in open_files():
            self.follow(path)
        if is_last or now - self.searched_at >= SECONDS_BETWEEN_SEARCHES:
            self.searched_at = now
            for path in files_below(os.getcwd()):
                if not is_of_other_process(path):
                    self.follow(path)
        for path, reader in list(self.readers.items()):
            if reader is not None:
                self.read(path, reader)

    def read(self, path: str, reader: RecordReader) -> None:
        try:
            for record in reader.read(RECORDS_MAX):
                for name, value, step in scalars_of(record):
                    # A writer whose calls are watched has told of it already.
                    if name in self.own or not self.collector.is_known(name):
                        self.own.add(name)
                        self.collector.add(name, value, step)
        except Damaged as problem:
            self.readers[path] = None
            self.collector.tell(f"event-file-{path}", f"{problem}; the rest of it is not read")
        except OSError:
            self.readers[path] = None
