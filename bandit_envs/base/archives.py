"""Archives of NumPy without objects and compression. No other module reads arrays of files."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.syntax import parse_literal

CONTENT_ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)
"""What Python and NumPy raise on content that is damaged, or of something else.

A reader turns these into an error that names the file. All else passes as it is: errors of the
disk, a lack of memory, and what an application raises meanwhile, as a handler of a signal may.
"""

HEADER_ERRORS = (*CONTENT_ERRORS, SyntaxError)
"""What NumPy raises on the header of an array, whose dtype it may parse."""

MAX_HEADER = 10_000
"""The most bytes of the header of an array, as `np.load` has it."""

PIECE = 2**20
"""Bytes that are read at once."""

IS_ENCRYPTED = 1
"""The flag of a file in an archive that is encrypted."""

SUFFIX = ".npy"
"""How the names of arrays end in an archive."""


class ArrayHeader(NamedTuple):
    """What a file says of an array ahead of its numbers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool

    @property
    def num_bytes(self) -> int:
        """How many bytes the numbers take."""
        return self.dtype.itemsize * math.prod(self.shape)


def read_array_header(file: IO[bytes]) -> ArrayHeader:
    """Reads the header of an array, as NumPy writes it in any version of its format.

    Raises:
        ValueError: it is something else, or of an array of objects.
    """
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"an array is in format {version} of NumPy")
    size = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    content = file.read(min(size, MAX_HEADER + 1))
    if len(content) != size:
        raise ValueError(f"the header of an array has {len(content)} bytes; expected {size}")
    text = content.decode("utf-8" if version == (3, 0) else "latin-1")
    try:
        return _check_header(parse_literal(text))
    except HEADER_ERRORS as error:
        raise ValueError(f"the header of an array is {text!r}") from error


def _check_header(found: Any) -> ArrayHeader:
    """Returns the fields of a header of an array; ValueError if it has other fields or types."""
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise ValueError("expected descr, fortran_order and shape")
    dtype = np.lib.format.descr_to_dtype(found["descr"])
    shape = found["shape"]
    is_fortran = found["fortran_order"]
    is_shape = type(shape) is tuple and all(type(each) is int for each in shape)
    if not is_shape or type(is_fortran) is not bool or dtype.hasobject:
        raise ValueError("expected numbers or texts, and their shape")
    return ArrayHeader(dtype, shape, is_fortran)


@contextlib.contextmanager
def open_arrays(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Opens an archive for `read_array`.

    Args:
        file: of which any place can be read.

    Raises:
        ValueError: a part is compressed or encrypted, or parts overlap: such an archive could fill
            the memory.
    """
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if any(member.flag_bits & IS_ENCRYPTED for member in members):
            raise ValueError("it is encrypted")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its parts overlap")
        yield archive


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Returns an array of an archive that `open_arrays` has opened.

    Args:
        archive: with the array.
        name: of the array, as `np.savez` takes it.

    Raises:
        Exception: one of `CONTENT_ERRORS`, if the array is damaged or not there.
    """
    member = archive.getinfo(f"{name}{SUFFIX}")
    with archive.open(member) as file:
        header = read_array_header(file)
        if file.tell() + header.num_bytes != member.file_size:
            raise ValueError(f"{name} is not an array of {header.dtype} with {header.shape}")
        array = np.empty(header.shape, header.dtype, "F" if header.is_fortran else "C")
        if header.num_bytes:
            _fill(array.reshape(-1, order="A").view(np.uint8), file)
    return array


def _fill(target: NDArray[np.uint8], file: IO[bytes]) -> None:
    """Reads the bytes of an array. At the last one, `zipfile` checks the sum of all."""
    for start in range(0, len(target), PIECE):
        part = target[start : start + PIECE]
        piece = file.read(len(part))
        if len(piece) != len(part):
            raise EOFError("an array ends too early")
        part[:] = np.frombuffer(piece, np.uint8)


def encode_archive(header: Any, arrays: Mapping[str, Any]) -> bytes:
    """Returns JSON and arrays without objects as the content of one file."""
    buffer = io.BytesIO()
    write_archive(buffer, header, arrays)
    return buffer.getvalue()


def write_archive(file: BinaryIO, header: Any, arrays: Mapping[str, Any]) -> None:
    """Writes JSON and arrays without objects to a file, as `encode_archive` returns them."""
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(file, header=text, **arrays)


def decode_archive(content: bytes, source: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Returns the header and the arrays that `encode_archive` was given.

    Args:
        content: what `encode_archive` returned.
        source: where the content is from, for messages.

    Raises:
        ValueError: the content is damaged, or something else.
    """
    try:
        with open_arrays(io.BytesIO(content)) as archive:
            names = [name.removesuffix(SUFFIX) for name in archive.namelist()]
            arrays = {name: read_array(archive, name) for name in names}
        return json.loads(arrays.pop("header").tobytes()), arrays
    except CONTENT_ERRORS as error:
        raise ValueError(f"{source} is damaged, or not a file of bandit_envs: {error}") from error
