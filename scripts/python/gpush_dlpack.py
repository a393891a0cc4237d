"""Tensors of gpush for Python's array libraries, and theirs for gpush, without a copy.

Both are in one process: lupa runs Lua there, and Lua loads gpush.

    y = gpush_dlpack.to_gpush(gpush, torch.ones(2, 3))
    z = torch.from_dlpack(gpush_dlpack.Tensor(y))

docs/embedding-and-extending.md has a whole program. Nothing is imported but ctypes.
"""

import ctypes
import sys

CPU, CUDA = 1, 2  # DLPack's numbers
NAMES = b"dltensor", b"dltensor_versioned"
USED = b"used_dltensor", b"used_dltensor_versioned"  # as consumers rename a capsule
DELETER = 56, 16  # where each form has its deleter


def _function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_is = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

_given = []  # capsules that nobody has taken over so far, as far as is known


def _references(given, i):
    capsule, _ = given[i]
    return sys.getrefcount(capsule)


_ALONE = _references([(object(), False)], 0)  # of what only the list holds


def _sweep():
    """Frees what refused capsules hold: a destructor in Python could hide the refusal's error."""
    for i in reversed(range(len(_given))):
        alone = _references(_given, i) <= _ALONE
        capsule, versioned = _given[i]
        if not _is(capsule, NAMES[versioned]):
            del _given[i]
        elif alone:
            at = _pointer(capsule, NAMES[versioned])
            deleter = ctypes.c_void_p.from_address(at + DELETER[versioned]).value
            _rename(capsule, USED[versioned])
            del _given[i]
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(at)


class Tensor:
    """A tensor of gpush for numpy.from_dlpack, torch.from_dlpack and the like."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        kind, _, index = self.tensor.device.partition(":")
        return (CUDA, int(index)) if kind == "cuda" else (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        _sweep()
        device = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != device:
            raise BufferError(f"the tensor is on {self.tensor.device}: copy it there first")
        if device[0] == CUDA and stream is None:
            stream = 1  # as the protocol says: the legacy default stream
        versioned = max_version is not None and max_version[0] >= 1
        tensor = self.tensor.clone(self.tensor) if copy else self.tensor
        given = tensor.to_dlpack(tensor, versioned, stream)
        capsule = _new(given.pointer(given), NAMES[versioned], None)
        _given.append((capsule, versioned))
        return capsule


def to_gpush(gpush, array, copy=None):
    """The array, of any library that has __dlpack__, as a tensor of the module `gpush`."""
    _sweep()
    stream = 1 if array.__dlpack_device__()[0] == CUDA else None
    try:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # from before version 1.0
        capsule = array.__dlpack__(stream=stream)
    versioned = bool(_is(capsule, NAMES[True]))
    at = _pointer(capsule, NAMES[versioned])
    tensor = gpush.from_dlpack(at, versioned, stream, copy)
    _rename(capsule, USED[versioned])  # only now: what was refused is freed with its capsule
    return tensor
