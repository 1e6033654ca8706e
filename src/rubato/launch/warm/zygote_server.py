"""A Python process that has loaded what is slow to load, and forks workers on request.

Run by zygote.cc as `python3 [-u] -c TEXT SOCKET MODULE...`, in the folder `/`. Messages are frames
of wire/unix_channel.h whose bytes are fields, each ended by a zero byte; see zygote.cc for what
they are. A fork is only safe while there is one thread, so this process starts none, and refuses
to serve if a module did.

A worker must not see that it was forked: `serve` returns in the child, everything of the server is
dropped, and the script runs in a fresh `__main__`, at the bottom of the stack, with the
interpreter's own way of ending. What cannot be hidden: all children of one zygote have the same
seed for the hashes of strings, which a cold interpreter draws anew.
"""

import array
import atexit
import contextlib
import gc
import importlib.machinery
import io
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import types

HEAD = struct.Struct("=II")


class Gone(Exception):
    """Nobody is at the other end."""


class Channel:
    """One end of the socket."""

    def __init__(self, number):
        self.socket = socket.socket(fileno=number)
        self.bytes = b""
        self.descriptors = []

    def send(self, fields, descriptors=()):
        body = b"".join(os.fsencode(str(field)) + b"\0" for field in fields)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        data = HEAD.pack(len(body), len(descriptors)) + body
        try:
            sent = self.socket.sendmsg([data], rights if descriptors else [], socket.MSG_NOSIGNAL)
            self.socket.sendall(data[sent:])
        except OSError as error:
            raise Gone from error

    def frames(self):
        """The whole frames that have been read: their fields and descriptors."""
        while len(self.bytes) >= HEAD.size:
            length, count = HEAD.unpack_from(self.bytes)
            end = HEAD.size + length
            if len(self.bytes) < end or len(self.descriptors) < count:
                return
            fields = self.bytes[HEAD.size : end].split(b"\0")[:-1]
            descriptors = self.descriptors[:count]
            del self.descriptors[:count]
            self.bytes = self.bytes[end:]
            yield fields, descriptors

    def read(self):
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 250)
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        self.bytes += data
        self.descriptors += descriptors


class Request:
    """What to run, as it came: see `start_fields` in zygote.cc."""

    def __init__(self, fields):
        fields = iter(fields)
        self.token, self.directory, self.cgroup, self.nice = (next(fields) for _ in range(4))
        self.has_session = next(fields) == b"1"
        self.session_nice = next(fields)
        self.cpus = [int(cpu) for cpu in next(fields).split()]
        limits = [int(number) for number in next(fields).split()]
        self.limits = list(zip(limits[::3], limits[1::3], limits[2::3]))
        self.script = int(next(fields))  # Its place in the command.
        self.command = [os.fsdecode(next(fields)) for _ in range(int(next(fields)))]
        self.environment = dict(field.split(b"=", 1) for field in fields)


def shadowed(request):
    """A module that is loaded here, but that a cold start would find beside the script."""
    path = os.path.join(os.fsdecode(request.directory), request.command[request.script])
    try:
        beside = os.listdir(os.path.dirname(os.path.realpath(path)))
    except OSError:
        return None
    loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.builtin_module_names)
    return next((name for name in beside if name.partition(".")[0] in loaded
                 and (name.endswith((".py", ".so")) or "." not in name)), None)


class Server:
    """Forks, watches the children, tells of their end."""

    def __init__(self, channel):
        self.channel = channel
        self.children = {}  # By the descriptor of the process.
        self.held = None  # A socket to the newest child, until we are told to let it run.
        self.poll = select.poll()
        self.poll.register(channel.socket, select.POLLIN)

    def serve(self):
        """Returns in a child only, with its request."""
        while True:
            for number, _ in self.poll.poll():
                if number in self.children:
                    self.tell_end(number)
                    continue
                self.channel.read()
                for fields, descriptors in self.channel.frames():
                    request = self.obey(fields, descriptors)
                    if request is not None:
                        return request

    def obey(self, fields, descriptors):
        verb = fields[0]
        if verb == b"start":
            return self.start(Request(fields[1:]), descriptors)
        if verb == b"go" and self.held is not None:
            with contextlib.suppress(OSError):  # It may have been killed meanwhile.
                self.held.send(b"g")
            self.held.close()
            self.held = None
        if verb == b"reap":
            os.waitpid(int(fields[1]), 0)
        return None

    def start(self, request, descriptors):
        in_the_way = shadowed(request)
        if in_the_way is not None:
            why = f"a {in_the_way} beside the script shadows the package of that name"
            self.channel.send(("refused", request.token.decode(), why))
            for number in descriptors:
                os.close(number)
            return None
        # The child says that its group is there, so that it can be signalled; then it waits for the
        # word to go, and ends if it cannot come any more.
        self.held, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self.held.close()
            self.become_child(request, descriptors, theirs)
            return request
        theirs.close()
        for number in descriptors:
            os.close(number)
        self.held.recv(1)
        pidfd = os.pidfd_open(pid)
        self.children[pidfd] = pid
        self.poll.register(pidfd, select.POLLIN)
        self.channel.send(("started", request.token.decode(), pid), [pidfd])
        return None

    def become_child(self, request, descriptors, parent):
        """Drops what is the server's, and takes what is the worker's."""
        if request.has_session:
            os.setsid()
        else:
            os.setpgid(0, 0)
        with contextlib.suppress(OSError):
            parent.send(b"h")
        self.channel.socket.close()
        for number in self.children:
            os.close(number)
        for number, target in zip(descriptors, (1, 2)):
            os.dup2(number, target)
        for number in descriptors:
            os.close(number)
        if parent.recv(1) != b"g":
            os._exit(0)
        parent.close()

    def tell_end(self, pidfd):
        """The child stays a zombie, and keeps its number, until it may be reaped."""
        pid = self.children.pop(pidfd)
        self.poll.unregister(pidfd)
        os.close(pidfd)
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        kill_group(pid)
        exited = end.si_code == os.CLD_EXITED
        self.channel.send(("ended", pid, "code" if exited else "signal", end.si_status))

    def close(self):
        """Our starter is gone, so the children must go."""
        for pid in self.children.values():
            kill_group(pid)
            os.waitpid(pid, 0)


def kill_group(pid):
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            pass


def apply_limits(request):
    """What spawned_child.cc does for a cold start."""
    if request.cgroup:
        with open(request.cgroup, "wb", buffering=0) as file:
            file.write(b"0")
    for path, value in ((None, request.nice), ("/proc/self/autogroup", request.session_nice)):
        try:
            if value and path is None:
                os.setpriority(os.PRIO_PROCESS, 0, int(value))
            elif value and request.has_session:
                with open(path, "wb", buffering=0) as file:
                    file.write(value)
        except OSError:
            pass  # Weights are wishes.
    for which, soft, hard in request.limits:
        resource.setrlimit(which, (soft, hard))
    if request.cpus:
        os.sched_setaffinity(0, request.cpus)


def apply_environment(environment):
    # In the C locale the interpreter sets this itself; what it was given is the same for all.
    if "LC_CTYPE" in os.environ:
        environment.setdefault(b"LC_CTYPE", os.environb[b"LC_CTYPE"])
    os.environ.clear()
    for name, value in environment.items():
        os.environb[name] = value


def apply_threads():
    """OpenBLAS starts its threads when it is loaded, so here it was told to have one."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        libraries = {line.split()[-1] for line in file if "openblas" in line}
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    wanted = next((os.environ[name] for name in names if os.environ.get(name, "").isdigit()), None)
    count = int(wanted) if wanted else len(os.sched_getaffinity(0))
    if not libraries or count < 2:
        return
    import ctypes

    for library in libraries:
        set_threads = getattr(ctypes.CDLL(library), "openblas_set_num_threads", None)
        if set_threads is not None:
            set_threads(count)


def forget():
    """What modules drew or looked up when they were loaded, and a cold start would do anew.

    Python's own generator of random numbers has been seeded by the fork.
    """
    time.tzset()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)


def apply_name(command):
    """Writes the command over ours, where ps and pgrep look for it."""
    with open("/proc/self/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
    begin, end = int(numbers[45]), int(numbers[46])
    text = b"".join(os.fsencode(word) + b"\0" for word in command)[: end - begin - 1]
    try:
        with open("/proc/self/mem", "r+b", buffering=0) as file:
            file.seek(begin)
            file.write(text.ljust(end - begin, b"\0"))
    except OSError:
        pass  # Only the name is lost.


def prepare(request, handlers):
    """All but the script itself. What fails here would have failed a cold start."""
    for number, handler in handlers.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)
    os.chdir(request.directory)
    apply_limits(request)
    apply_environment(request.environment)
    apply_threads()
    forget()
    apply_name(request.command)
    sys.argv = request.command[request.script :]
    sys.orig_argv = request.command
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            stream.reconfigure(line_buffering=True)


def new_main(path):
    """A `__main__` as the interpreter makes it for a script."""
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = sys.modules["builtins"]
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__cached__ = None
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def report(error, frames):
    """What the interpreter does with an exception that nobody caught; our frames are left out."""
    frame = error.__traceback__
    for _ in range(frames):
        frame = frame.tb_next
    error.__traceback__ = frame
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, frame
    try:
        sys.excepthook(type(error), error, frame)
    except Exception:
        sys.__excepthook__(type(error), error, frame)
    if not isinstance(error, KeyboardInterrupt):
        sys.exit(1)
    # Whoever waits for us should see that we were interrupted.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def run_script():
    """As `python3 script` would."""
    given = sys.argv[0]
    path = os.path.abspath(given)
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        print(f"{sys.orig_argv[0]}: can't open file {path!r}: [Errno {error.errno}] "
              f"{error.strerror}", file=sys.stderr)
        sys.exit(2)
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    space = new_main(path).__dict__
    try:
        exec(compile(text, path, "exec", dont_inherit=True), space)
    except SystemExit:
        raise
    except BaseException as error:
        report(error, 1)


def load(modules):
    """Why this process cannot serve; nothing if it can."""
    for module in modules:
        try:
            __import__(module)
        except BaseException as error:
            return f"cannot import {module}: {type(error).__name__}: {error}"
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"{', '.join(modules)} started {threads - 1} threads, and a fork would lose them"
    # What is loaded stays: the children need not look at it again, nor copy it for doing so.
    gc.collect()
    gc.freeze()
    return None


def server(channel, modules):
    """Returns in a child, with its request; ends the process otherwise."""
    served = Server(channel)
    try:
        why = load(modules)
        if why is not None:
            channel.send(("unfit", why))
            sys.exit(1)
        channel.send(("ready",))
        return served.serve()
    except Gone:
        served.close()
        sys.exit(0)


def start():
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    number, *modules = sys.argv[1:]
    request = server(Channel(int(number)), modules)
    try:
        prepare(request, handlers)
    except OSError as error:
        print(f"{request.command[0]}: cannot start: {error}", file=sys.stderr)
        sys.exit(127)


def begin_script():
    """What sitecustomize does for a cold start, now that the environment is the script's."""
    hook = sys.modules.get("rubato.startup.hook")
    if hook is not None:
        hook.begin_script()


start()
begin_script()
run_script()
