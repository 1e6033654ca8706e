"""Root modules as values: what a replica needs that is no fork of the leader.

CUDA does not survive a fork, and a fork does not leave its machine. There a replica is a fresh
interpreter, and a module travels as a pickle: classes and functions of the script and of files
beside it by value, installed packages by name. Tensors travel apart from it, through the memory
that the leader shares with its replicas.
"""

import contextlib
import io
import os
import pickle
import platform
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn

from rubato.split.memory import Heap, Memory, Place

try:
    import cloudpickle
except ImportError:  # The Debian package python3-cloudpickle.
    cloudpickle = None

PACKAGE_FOLDERS = ("site-packages", "dist-packages")


class TensorRecord(NamedTuple):
    """A tensor of a packed value."""

    storage: int  # In the list of storages.
    offset: int
    shape: Tuple[int, ...]
    stride: Tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool
    is_parameter: bool


class Packed(NamedTuple):
    """A value as it travels: its pickle and its storages lie in shared memory."""

    data: Place
    tensors: List[TensorRecord]
    storages: List[Tuple[str, Place]]  # With the kind of device that they lie on.


class CannotPack(Exception):
    """The value has parts that no other process can have."""


def is_needed() -> bool:
    """True if forks of this process could not compute: children of a process that has used CUDA
    cannot use it, nor run a backward pass once their parent has, whatever the device."""
    if os.environ.get("RUBATO_SPLIT_BY_VALUE"):
        return True
    return torch.cuda._is_compiled() and torch.cuda.device_count() > 0


def machine_kind() -> str:
    """Computations on machines of the same kind give the same bits. A device counts if it is in
    use: asking for its name would begin that."""
    processor = ""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next((line.partition(":")[2].strip() for line in lines
                          if line.startswith("model name")), "")
    device = torch.cuda.get_device_name() if torch.cuda.is_initialized() else ""
    return "|".join((platform.machine(), processor, device, torch.__version__))


def is_beside_script(module: Any, folder: str) -> bool:
    """Modules that were written for the script, which other processes need not find."""
    path = getattr(module, "__file__", None)
    if not path or not path.endswith(".py"):
        return False
    path = os.path.realpath(path)
    is_below = os.path.commonpath([path, folder]) == folder
    return is_below and not any(part in PACKAGE_FOLDERS for part in path.split(os.sep))


@contextlib.contextmanager
def script_by_value() -> Iterator[None]:
    """While it lasts, what the script's own files define is pickled by value."""
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None) or os.path.join(sys.path[0] or ".", "script")
    folder = os.path.dirname(os.path.realpath(script))
    registered = []
    for name, module in list(sys.modules.items()):
        is_ours = name == "rubato" or name.startswith("rubato.")
        if name != "__main__" and not is_ours and is_beside_script(module, folder):
            cloudpickle.register_pickle_by_value(module)
            registered.append(module)
    try:
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


class Packer:
    """Collects the tensors of what is pickled."""

    def __init__(self) -> None:
        self.records: List[TensorRecord] = []
        self.numbers: Dict[int, int] = {}
        self.kept: List[torch.Tensor] = []  # So that no identity is used twice.
        self.storages: List[Any] = []
        self.storage_numbers: Dict[int, int] = {}

    def number(self, value: Any) -> Optional[int]:
        """Of a plain tensor; nothing for anything else."""
        if type(value) not in (torch.Tensor, nn.Parameter) or value.layout != torch.strided:
            return None
        if value.is_quantized or value.is_conj() or value.is_neg() or value.device.type == "meta":
            return None
        known = self.numbers.get(id(value))
        if known is not None:
            return known
        storage = value.storage().untyped()
        at = self.storage_numbers.setdefault(storage._cdata, len(self.storages))
        if at == len(self.storages):
            self.storages.append(storage)
        self.records.append(TensorRecord(
            at, value.storage_offset(), tuple(value.shape), value.stride(), value.dtype,
            value.requires_grad and value.is_leaf, isinstance(value, nn.Parameter)))
        self.kept.append(value)
        self.numbers[id(value)] = len(self.records) - 1
        return len(self.records) - 1


def pack(value: Any, heap: Heap) -> Packed:
    """Puts a value into shared memory, where it lies until the heap is cleared."""
    packer = Packer()

    class Pickler(cloudpickle.CloudPickler):
        def persistent_id(self, thing: Any) -> Optional[int]:
            return packer.number(thing)

    file = io.BytesIO()
    try:
        with script_by_value():
            Pickler(file, 4).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError, RuntimeError, ValueError,
            NotImplementedError, RecursionError) as error:
        lines = str(error).strip().splitlines()
        raise CannotPack(lines[0][:200] if lines else type(error).__name__) from error
    data = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    bytes_of = [torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
                for storage in packer.storages]
    places = heap.put_all(bytes_of)
    return Packed(heap.put(data), packer.records,
                  [(storage.device.type, place)
                   for storage, place in zip(packer.storages, places)])


class Unpacker(pickle.Unpickler):
    """Puts the tensors back where the pickle has their numbers."""

    def __init__(self, file: Any, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__(file)
        self.tensors = tensors

    def persistent_load(self, number: Any) -> torch.Tensor:
        return self.tensors[number]


def unpack(packed: Packed, memory: Memory) -> Any:
    """The value, with memory of its own; what was on a device lies on this process's."""
    storages = []
    for device, place in packed.storages:
        data = memory.view(place)
        data = data.to(device) if device != "cpu" else data.clone()
        storages.append(data.storage().untyped())
    tensors = []
    for record in packed.tensors:
        storage = storages[record.storage]
        tensor = torch.empty(0, dtype=record.dtype, device=storage.device)
        tensor.set_(storage, record.offset, record.shape, record.stride)
        if record.is_parameter:
            tensor = nn.Parameter(tensor, record.requires_grad)
        elif record.requires_grad:
            tensor.requires_grad_()
        tensors.append(tensor)
    data = memory.view(packed.data).numpy().tobytes()
    return Unpacker(io.BytesIO(data), tensors).load()
