"""A pretended CUDA device for torch 1.13 without CUDA, from the library pretend_cuda.

`install()` comes before `import torch`: torch asks for CUDA when it is imported. From then on
`torch.cuda.is_available()` is true and scripts find a device. What computes is the host, but device
memory that the host touches ends the process, and forks may not use what their parent has used.

The environment variables are RUBATO_PRETEND_CUDA, the library; RUBATO_PRETEND_CUDA_DEVICES, a
letter for each device, the model (A, or B, which rounds otherwise); RUBATO_PRETEND_CUDA_BYTES, the
memory of each; RUBATO_PRETEND_CUDA_LATE=1, to keep copies back until somebody waits for them. With
the folder pretend_cuda_site in PYTHONPATH, every interpreter installs it by itself.
"""

import ctypes
import importlib.abc
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

SITE = Path(__file__).resolve().parent / "pretend_cuda_site"
VERSION = "11.7"

_library: Any = None  # As ctypes loads it; its calls release the interpreter's lock.


class Counters(NamedTuple):
    """How often kernels ran, data crossed between host and device, and the host waited."""

    kernels: int
    copies: int
    host_waits: int


def missing_reason() -> Optional[str]:
    """Why there can be no pretended device here; None if there can."""
    path = os.environ.get("RUBATO_PRETEND_CUDA")
    if not path or not os.path.exists(path):
        return "RUBATO_PRETEND_CUDA does not name the library pretend_cuda"
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return "torch is not installed"
    text = Path(torch.origin).with_name("version.py").read_text()
    version = re.search(r"__version__ = '([^']*)'", text)
    if version is None or not version.group(1).startswith("1.13") or "cuda = None" not in text:
        return f"torch is {version.group(1) if version else 'unknown'}, not 1.13 without CUDA"
    return None


def environment() -> Dict[str, str]:
    """What another interpreter needs in its environment to have the same device."""
    paths = [str(SITE)] + [path for path in [os.environ.get("PYTHONPATH")] if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install() -> None:
    """Loads the library and prepares torch, which must not have been imported yet."""
    global _library
    if _library is not None:
        return
    if "torch" in sys.modules:
        raise RuntimeError("the pretended device must be installed before torch is imported")
    _library = ctypes.CDLL(os.environ["RUBATO_PRETEND_CUDA"], ctypes.RTLD_GLOBAL)
    for name in ("stream", "default_stream", "new_stream"):
        _function(name).restype = ctypes.c_uint64
    for name in ("new_event", "pinned_allocator"):
        _function(name).restype = ctypes.c_void_p
    _function("milliseconds").restype = ctypes.c_double
    if os.environ.get("RUBATO_PRETEND_CUDA_LATE") == "1":
        set_late(True)
    sys.meta_path.insert(0, _BeforeTorchCuda())


def counters() -> Counters:
    values = (ctypes.c_int64 * 3)()
    _function("counters")(values)
    return Counters(*values)


def set_late(late: bool) -> None:
    """Keeps copies that need not be done at once back until somebody waits for them."""
    _function("set_late")(int(late))


def set_limit(device: int, limit: int) -> None:
    """The device's memory in bytes."""
    _function("set_limit")(device, ctypes.c_uint64(limit))


def lose_device(device: int) -> None:
    """From now on every use of the device fails, as after a fault of the hardware."""
    _function("lose_device")(device)


def _function(name: str) -> Any:
    return getattr(_library, "pretend_cuda_" + name)


class _BeforeTorchCuda(importlib.abc.MetaPathFinder):
    """Finds nothing, but is asked right before torch.cuda is imported, when torch._C is there."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "torch.cuda":
            sys.meta_path.remove(self)
            _prepare(sys.modules["torch._C"])


def _prepare(torch_c: Any) -> None:
    """Gives torch._C what it has when it is built with CUDA."""
    import torch.version

    torch.version.cuda = VERSION
    torch_c._cudart = _Runtime()
    torch_c._CudaStreamBase = _stream_class(torch_c)
    torch_c._CudaEventBase = _Event
    torch_c._CUDAGraph = _Graph
    torch_c._graph_pool_handle = _Graph
    torch_c.has_cuda = True
    functions = {
        "init": _initialize,
        "getDeviceCount": lambda: _function("device_count")(),
        "isInBadFork": lambda: bool(_function("in_bad_fork")()),
        "isCurrentStreamCapturing": lambda: False,
        "getDevice": lambda: _function("device")(),
        "setDevice": _set_device,
        "canDeviceAccessPeer": lambda device, peer: device != peer,
        "getCompiledVersion": lambda: 11070,
        "getArchFlags": lambda: "sm_80",
        "getCurrentStream": lambda device: _function("stream")(device),
        "getDefaultStream": lambda device: _function("default_stream")(device),
        "setStream": _set_stream,
        "synchronize": lambda: _function("finish_device")(_function("device")()),
        "cudaHostAllocator": lambda: _function("pinned_allocator")(),
        "ipc_collect": lambda: None,
        "sleep": lambda cycles: None,
        "emptyCache": lambda: None,
        "memoryStats": _memory_stats,
        "resetPeakMemoryStats": lambda device: _function("reset_peak")(device),
        "resetAccumulatedMemoryStats": lambda device: None,
        "setMemoryFraction": _set_memory_fraction,
        "lock_mutex": lambda: None,
        "unlock_mutex": lambda: None,
        "set_sync_debug_mode": lambda mode: None,
        "get_sync_debug_mode": lambda: 0,
    }
    for name, function in functions.items():
        setattr(torch_c, "_cuda_" + name, function)
    # Torch asks again whether CUDA is initialized in a child of a process that had used it.
    ask_again = ctypes.PyDLL("libtorch_python.so.1.13")._ZN5torch5utils22set_requires_cuda_initEb
    os.register_at_fork(after_in_child=lambda: ask_again(ctypes.c_bool(True)))


class _Runtime:
    """The few functions of libcudart that torch.cuda calls by name."""

    class cudaError:
        success = 0

    @staticmethod
    def cudaGetErrorString(code: int) -> str:
        return f"pretended error {code}"

    @staticmethod
    def cudaMemGetInfo(device: int) -> Any:
        used, _, limit = _memory(device)
        return limit - used, limit


class _Graph:
    def __init__(self) -> None:
        raise RuntimeError("a pretended device captures no graphs")


class _Properties(NamedTuple):
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def _initialize() -> None:
    """What torch calls when a device is first used."""
    import torch

    count = _function("device_count")()
    if count == 0:
        raise RuntimeError("No CUDA GPUs are available")
    limit = os.environ.get("RUBATO_PRETEND_CUDA_BYTES")
    for device in range(count):
        if limit is not None:
            set_limit(device, int(limit))
    torch.cuda.default_generators = tuple(_generator(device, True) for device in range(count))
    torch.cuda._get_device_properties = _properties
    torch.has_cuda = True
    torch.UntypedStorage.__new__ = _new_storage
    torch.Generator = _GeneratorFactory


def _generator(device: int, is_default: bool) -> Any:
    # The library's function makes a Python object, so it needs the interpreter's lock.
    make = ctypes.PyDLL(os.environ["RUBATO_PRETEND_CUDA"]).pretend_cuda_generator
    make.restype = ctypes.py_object
    return make(device, int(is_default))


class _GeneratorMeta(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        import torch

        return isinstance(thing, torch._C.Generator)


class _GeneratorFactory(metaclass=_GeneratorMeta):
    """torch.Generator, which without CUDA makes generators of the host only."""

    def __new__(cls, device: Any = "cpu") -> Any:
        import torch

        wanted = torch.device(device)
        if wanted.type != "cuda":
            return torch._C.Generator(device=wanted)
        return _generator(torch.cuda.current_device() if wanted.index is None else wanted.index,
                          False)


def _new_storage(cls: type, *arguments: Any, device: Any = None, **options: Any) -> Any:
    """UntypedStorage.__new__, which without CUDA knows no storages of a device."""
    import torch

    if device is None or torch.device(device).type != "cuda":
        if device is not None:
            options["device"] = device
        return torch._C.StorageBase.__new__(cls, *arguments, **options)
    tensor = torch.empty(*(arguments or (0,)), dtype=torch.uint8, device=device)
    return tensor.storage().untyped()


def _memory(device: int) -> List[int]:
    values = (ctypes.c_uint64 * 3)()
    _function("memory")(device, values)
    return list(values)


def _properties(device: int) -> _Properties:
    kind = chr(_function("kind")(device))
    return _Properties(f"Pretended {kind}", 8, 0, _memory(device)[2], 1)


def _memory_stats(device: int) -> Dict[str, Any]:
    used, peak, _ = _memory(device)
    values = {"all": {"current": used, "peak": peak, "allocated": 0, "freed": 0}}
    return {name: values for name in ("allocated_bytes", "reserved_bytes", "active_bytes")}


def _set_memory_fraction(fraction: float, device: int) -> None:
    set_limit(device, int(_memory(device)[2] * fraction))


def _set_device(device: int) -> None:
    import torch

    torch.cuda._lazy_init()
    if not _function("set_device")(device):
        raise RuntimeError("CUDA error: invalid device ordinal")


def _set_stream(stream: int) -> None:
    _function("set_device")(stream >> 48 & 0xFF)
    _function("set_stream")(ctypes.c_uint64(stream))


def _stream_class(torch_c: Any) -> type:
    class _CudaStreamBase(torch_c.Stream):
        """The part of torch.cuda.Stream that is C++ where torch has CUDA."""

        def __new__(cls, priority: int = 0, _cdata: Optional[int] = None) -> Any:
            import torch

            if _cdata is None:
                _cdata = _function("new_stream")(torch.cuda.current_device())
            stream = super().__new__(cls, _cdata=_cdata)
            stream.priority = priority
            return stream

        @property
        def cuda_stream(self) -> int:
            return self._cdata & (1 << 48) - 1

        @staticmethod
        def priority_range() -> Any:
            return 0, -1

        def query(self) -> bool:
            return bool(_function("stream_is_done")(ctypes.c_uint64(self._cdata)))

        def synchronize(self) -> None:
            _function("finish_stream")(ctypes.c_uint64(self._cdata))

        def __eq__(self, other: Any) -> bool:
            return self._cdata == other._cdata

        def __hash__(self) -> int:
            return hash(self._cdata)

    return _CudaStreamBase


class _Event:
    """The part of torch.cuda.Event that is C++ where torch has CUDA."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False,
                interprocess: bool = False) -> Any:
        event = super().__new__(cls)
        event._pointer = ctypes.c_void_p(_function("new_event")())
        event._timed = enable_timing
        event._recorded = False
        return event

    def __del__(self) -> None:
        _function("delete_event")(self._pointer)

    @property
    def cuda_event(self) -> int:
        return self._pointer.value or 0

    def record(self, stream: Any) -> None:
        self._recorded = True
        _function("record_event")(self._pointer, ctypes.c_uint64(stream._cdata))

    def wait(self, stream: Any) -> None:
        if self._recorded:
            _function("wait_event")(self._pointer, ctypes.c_uint64(stream._cdata))

    def query(self) -> bool:
        return not self._recorded or bool(_function("event_is_done")(self._pointer))

    def synchronize(self) -> None:
        if self._recorded:
            _function("finish_event")(self._pointer)

    def elapsed_time(self, end: Any) -> float:
        if not self._timed or not end._timed:
            raise RuntimeError("Both events must be created with enable_timing=True")
        return _function("milliseconds")(self._pointer, end._pointer)
