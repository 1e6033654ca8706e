"""Reads event files as TensorBoard's writers leave them, as far as scalars are concerned.

A file is a row of records: a length of eight bytes, its checksum, the data, their checksum, all
little-endian; checksums are CRC-32C, masked. The data are an `Event` of TensorFlow's protobuf,
of which the fields used here are read by hand.
"""

import math
import struct
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

RECORD_BYTES_MAX = 1 << 20  # Larger ones hold pictures or graphs, and are passed over.
MASK_DELTA = 0xA282EAD8

Field = Tuple[int, Union[int, bytes]]


class Scalar(NamedTuple):
    """One value of a file."""

    name: str
    value: float
    step: int


class Damaged(Exception):
    """The file does not hold what its checksums say; nothing after that can be read."""


def make_table() -> List[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


TABLE = make_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & 0xFFFFFFFF


class RecordReader:
    """Follows a growing file from a position on."""

    def __init__(self, path: str, position: int = 0) -> None:
        self.path = path
        self.position = position

    def read(self, records_max: int) -> Iterator[bytes]:
        """Whole records that were written since the last call. Raises OSError or Damaged."""
        with open(self.path, "rb") as file:
            for _ in range(records_max):
                file.seek(self.position)
                head = file.read(12)
                if len(head) < 12:
                    return
                length, checksum = struct.unpack("<QI", head)
                if masked_crc32c(head[:8]) != checksum:
                    raise Damaged(f"{self.path}: wrong checksum at byte {self.position}")
                if length > RECORD_BYTES_MAX:
                    file.seek(0, 2)
                    if file.tell() < self.position + 16 + length:
                        return
                    self.position += 16 + length
                    continue
                data = file.read(length + 4)
                if len(data) < length + 4:
                    return
                if masked_crc32c(data[:length]) != struct.unpack("<I", data[length:])[0]:
                    raise Damaged(f"{self.path}: wrong checksum at byte {self.position + 12}")
                self.position += 16 + length
                yield data[:length]


def varint(data: bytes, at: int) -> Tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError("a number without an end")


def fields(data: bytes) -> Iterator[Field]:
    """Numbers and values of a message; raises ValueError or IndexError if it is none."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == 2:
            length, at = varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if at + length > len(data):
            raise ValueError("a field longer than its message")
        yield number, data[at:at + length]
        at += length


def signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def element_count(shape: bytes) -> int:
    count = 1
    for number, dimension in fields(shape):
        if number == 2 and isinstance(dimension, bytes):
            sizes = [signed(size) for field, size in fields(dimension)
                     if field == 1 and isinstance(size, int)]
            count *= sizes[0] if sizes else 0
    return count


# By number of TensorFlow's types: how one element lies in `tensor_content`.
CONTENT = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e"}


def tensor_scalar(data: bytes) -> Optional[float]:
    """The value of a tensor with one element."""
    kind = 0
    value: Optional[float] = None
    for number, field in fields(data):
        if number == 1 and isinstance(field, int):
            kind = field
        elif number == 2 and isinstance(field, bytes) and element_count(field) != 1:
            return None
        elif number == 4 and isinstance(field, bytes) and kind in CONTENT:
            if len(field) == struct.calcsize(CONTENT[kind]):
                value = float(struct.unpack(CONTENT[kind], field)[0])
        elif number == 5 and isinstance(field, bytes) and len(field) == 4:
            value = struct.unpack("<f", field)[0]
        elif number == 6 and isinstance(field, bytes) and len(field) == 8:
            value = struct.unpack("<d", field)[0]
        elif number in (7, 10):
            whole = varint(field, 0)[0] if isinstance(field, bytes) else field
            value = float(signed(whole))
    return value


def summary_value(data: bytes) -> Optional[Tuple[str, float]]:
    name, value = "", None
    for number, field in fields(data):
        if number == 1 and isinstance(field, bytes):
            name = field.decode("utf-8", "replace")
        elif number == 2 and isinstance(field, bytes) and len(field) == 4:
            value = struct.unpack("<f", field)[0]
        elif number == 8 and isinstance(field, bytes):
            value = tensor_scalar(field)
    return None if value is None or not name else (name, value)


def scalars_of(record: bytes) -> List[Scalar]:
    """Of one event; none if it is about something else."""
    step = 0
    found: List[Tuple[str, float]] = []
    try:
        for number, field in fields(record):
            if number == 2 and isinstance(field, int):
                step = signed(field)
            elif number == 5 and isinstance(field, bytes):
                for kind, value in fields(field):
                    if kind == 1 and isinstance(value, bytes):
                        pair = summary_value(value)
                        if pair is not None:
                            found.append(pair)
    except (ValueError, IndexError, struct.error):
        return []
    return [Scalar(name, value if math.isfinite(value) else math.nan, step)
            for name, value in found]
