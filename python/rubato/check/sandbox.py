"""Files that a run can write to and that nobody else ever sees.

With namespaces (no privilege is needed on most systems): every folder below the root is covered
by a layer in memory, which takes what is written and is gone with the process. Without them: the
run works in a copy of its folder, and what it wants to write elsewhere stops it, by an audit hook.
"""

import ctypes
import functools
import os
import shutil
import sys
from typing import Any, Dict, List, Optional, Tuple

LAYER_BYTES_MAX = 4 << 30  # That a run may write; in memory.
COPY_BYTES_MAX = 512 << 20  # Of a folder that is copied because there are no namespaces.
COPY_FILES_MAX = 20_000
# Of the kernel, or holding nothing that lasts.
UNCOVERED = ("/proc", "/sys", "/dev", "/run")
KERNEL_TYPES = {"proc", "sysfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "debugfs",
                "tracefs", "securityfs", "pstore", "bpf", "configfs", "fusectl", "hugetlbfs",
                "autofs", "binfmt_misc", "rpc_pipefs", "nsfs", "efivarfs"}
OUTSIDE_CODE = 97  # Exit code of a run that wanted to write elsewhere.

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def system_call(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    system_call(_libc.mount(source.encode(), target.encode(), kind.encode() or None,
                            ctypes.c_ulong(flags), data.encode() or None),
                f"mount {target}")


# Namespaces.

def enter_namespaces() -> None:
    """This process alone sees what is mounted from now on, under its own user number."""
    user, group = os.getuid(), os.getgid()
    system_call(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
                       ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    mount("none", "/", "", _MS_REC | _MS_PRIVATE)


def mount_points() -> List[str]:
    """Of file systems that hold files of people, those above first."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            path = fields.split()[4].encode().decode("unicode_escape")
            if rest.split()[0] not in KERNEL_TYPES:
                found.append(path)
    return sorted(set(found), key=lambda path: (path.count("/"), path))


def covered_folders() -> List[str]:
    """Those at the top, and what is mounted anywhere below them."""
    top = [entry.path for entry in os.scandir("/")
           if entry.is_dir(follow_symlinks=False) and entry.path not in UNCOVERED]
    mounted = [path for path in mount_points() if path != "/" and path not in top
               and not any(path == kept or path.startswith(kept + "/") for kept in UNCOVERED)
               and os.path.isdir(path)]
    return sorted(top) + mounted


def cover(folder: str, descriptor: int, layer: str) -> None:
    """Puts a layer over a folder; where that cannot be, nobody may write to it."""
    lower = f"/proc/self/fd/{descriptor}"
    os.makedirs(layer + "/upper")
    os.makedirs(layer + "/work")
    options = f"lowerdir={lower},upperdir={layer}/upper,workdir={layer}/work"
    for more in (",userxattr", ""):
        try:
            mount("overlay", folder, "overlay", 0, options + more)
            # The layer has the mode of its own top folder, not of the one below.
            os.chmod(folder, os.fstat(descriptor).st_mode & 0o7777)
            return
        except OSError:
            continue
    mount(lower, folder, "", _MS_BIND | _MS_REC)
    mount("none", folder, "", _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def hide_writes(results: str) -> None:
    """From now on nothing that this process and its children write reaches a disk, but for what
    is in the folder of results."""
    directory = os.getcwd()
    enter_namespaces()
    folders = covered_folders()
    descriptors = [os.open(folder, os.O_PATH) for folder in folders]
    mount(results, results, "", _MS_BIND)  # It stays writable when what is around it does not.
    kept = os.open(results, os.O_PATH)
    layers = os.path.join(results, "layers")
    os.makedirs(layers, exist_ok=True)
    mount("rubato", layers, "tmpfs", 0, f"size={LAYER_BYTES_MAX},mode=700")
    layers_kept = os.open(layers, os.O_PATH)
    for number, (folder, descriptor) in enumerate(zip(folders, descriptors)):
        if os.access(folder, os.W_OK | os.X_OK) or is_above_writable(folder, directory):
            try:
                cover(folder, descriptor, f"/proc/self/fd/{layers_kept}/{number}")
            except OSError:
                if os.access(folder, os.W_OK):
                    raise
        os.close(descriptor)
    if os.access("/", os.W_OK):
        mount("none", "/", "", _MS_BIND | _MS_REMOUNT | _MS_RDONLY)
    mount(f"/proc/self/fd/{kept}", results, "", _MS_BIND)
    os.close(kept)
    os.close(layers_kept)
    os.chdir(directory)


def is_above_writable(folder: str, directory: str) -> bool:
    """Whether something below a folder that we may not write to can be written to: always so for
    the parent of home folders, never for those of the system."""
    places = {directory, os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp")}
    return (any(place == folder or place.startswith(folder + "/") for place in places)
            or folder not in ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/sbin", "/usr",
                              "/lost+found"))


# Without namespaces.

def size_of(folder: str) -> Tuple[int, int]:
    """Bytes and files, no further than the limits."""
    size = count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            count += 1
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
        if size > COPY_BYTES_MAX or count > COPY_FILES_MAX:
            break
    return size, count


class OutsideWrite(BaseException):
    """The script wants to write where it must not in a dry run."""


WRITES = {"os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,),
          "os.link": (1,), "os.symlink": (1,), "os.truncate": (0,), "os.chmod": (0,),
          "os.chown": (0,), "os.utime": (0,), "shutil.rmtree": (0,), "sqlite3.connect": (0,)}
STARTS = {"subprocess.Popen": 0, "os.exec": 0, "os.posix_spawn": 0, "os.system": 0}
_OPEN_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class WriteGuard:
    """Stops the run at the first write outside the folders it may write to."""

    def __init__(self, allowed: List[str], on_write: Any) -> None:
        self.allowed = [os.path.realpath(folder) for folder in allowed] + ["/dev", "/proc"]
        self.on_write = on_write

    def install(self) -> None:
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: Any) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _OPEN_WRITES:
                self.look(path)
        elif event in WRITES:
            for place in WRITES[event]:
                self.look(arguments[place])
        elif event in STARTS:
            self.on_write(f"another program, {arguments[STARTS[event]]!r}")

    def look(self, path: Any) -> None:
        if isinstance(path, int):
            return
        try:
            real = os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError):
            return
        if not any(real == folder or real.startswith(folder + "/") for folder in self.allowed):
            self.on_write(real)


def watch_saving(guard: WriteGuard) -> None:
    """torch.save opens files in C++, where no audit event is raised."""
    from torch import serialization

    writer = serialization._open_zipfile_writer_file
    original = writer.__init__

    @functools.wraps(original)
    def __init__(self: Any, name: Any) -> None:
        guard.look(name)
        original(self, name)

    writer.__init__ = __init__


def work_in_copy(results: str, on_write: Any) -> Tuple[Optional[str], WriteGuard]:
    """Why it cannot be, if so. Changes the current folder to the copy."""
    directory = os.getcwd()
    size, count = size_of(directory)
    guard = WriteGuard([results], on_write)
    if size > COPY_BYTES_MAX or count > COPY_FILES_MAX:
        return (f"this system has no user namespaces, and {directory} is too large to be copied "
                f"(more than {COPY_BYTES_MAX >> 20} MB or {COPY_FILES_MAX} files)"), guard
    copy = os.path.join(results, "copy")
    shutil.copytree(directory, copy, symlinks=True)
    os.chdir(copy)
    return None, guard


def protect(results: str, on_write: Any) -> Dict[str, Any]:
    """Makes this process harmless. `how` is namespaces, copy, or none with a `reason`."""
    if not os.environ.get("RUBATO_CHECK_COPY"):
        # The attempt is made in a child first: half of a sandbox is none.
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                hide_writes(results)
                code = 0
            except BaseException:  # noqa: B902
                pass
            finally:
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            hide_writes(results)
            return {"how": "namespaces"}
    reason, guard = work_in_copy(results, on_write)
    if reason is not None:
        return {"how": "none", "reason": reason}
    return {"how": "copy", "guard": guard}
