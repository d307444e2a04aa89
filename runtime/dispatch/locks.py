"""The locks of compiled programs, which native code takes while other threads run Python."""

import ctypes
import os
import threading
import weakref


class Lock:
    """A lock of CPython's that native code can take, and the thread that has it.

    `address` is the lock, `owner_address` a 64-bit integer: the identity of the thread that is in
    the program, or 0. A thread that finds itself there is in a nested call.
    """

    def __init__(self) -> None:
        self._free = ctypes.pythonapi.PyThread_free_lock
        self._free.argtypes, self._free.restype = [ctypes.c_void_p], None
        allocate = ctypes.pythonapi.PyThread_allocate_lock
        allocate.restype = ctypes.c_void_p
        self._owner = ctypes.c_int64(0)
        self.owner_address = ctypes.addressof(self._owner)
        self.address: int = allocate()
        _locks.add(self)

    def __del__(self) -> None:
        if "address" in self.__dict__:  # else `__init__` did not come so far
            self._free(self.address)

    def release_after_fork(self) -> None:
        """Frees it if a thread held it that is not in this process, a forked child."""
        acquire = ctypes.pythonapi.PyThread_acquire_lock
        acquire.argtypes, acquire.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_int
        release = ctypes.pythonapi.PyThread_release_lock
        release.argtypes, release.restype = [ctypes.c_void_p], None
        if self._owner.value != threading.get_ident():
            acquire(self.address, 0)  # now it is held, by whomever
            release(self.address)
            self._owner.value = 0


_locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()


def _release_all() -> None:
    for lock in list(_locks):
        lock.release_after_fork()


os.register_at_fork(after_in_child=_release_all)
