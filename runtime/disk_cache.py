"""Compiled programs on disk, by the hash of everything that they depend on.

One file holds object code and metadata, behind a checksum. Files appear by renaming, so a reader
sees a whole file or none; a file that is cut off or altered is dropped and costs a recompile.
Any number of processes may share a folder.
"""

import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import xdsl

from lamina.codegen.calibration import cache_folder
from lamina.dialects.errors import CacheError

#: Names the layout of a file; files that start otherwise are not ours.
_MAGIC = b"lamina-object-1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_SUFFIX = ".lamina"
_TEMPORARY = ".partial"

#: Bound on all files together, where LAMINA_CACHE_BYTES says nothing.
DEFAULT_LIMIT_BYTES = 1 << 30
#: Eviction goes down to this part of the limit, so that it does not run at every write.
_KEEP = 0.8
#: Who writes that part of the limit looks through the folder once on average, as it may hold a
#: hundred thousand files; room for as much is left.
_LOOKED_AFTER = 1 / 16
#: Files that say what the compiler does.
_SOURCES = (".py", ".tsv", ".txt")
#: A writer that old was killed.
_STALE_SECONDS = 3600


def cache_key(*parts: str | bytes) -> str:
    """Hash of `parts` (IR, target, options ...), and of Lamina's and llvmlite's versions."""
    return text_key(*parts, _versions())


def text_key(*parts: str | bytes) -> str:
    """Hash of `parts`, where they hold all that goes to LLVM, and of llvmlite's version."""
    digest = hashlib.sha256()
    for part in (*parts, llvmlite.__version__):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@cache
def _versions() -> str:
    """Versions of what makes code; of Lamina sizes and times of sources and tables, as it may be a
    working copy that changes under one version number."""
    found = [f"llvmlite {llvmlite.__version__}", f"xdsl {xdsl.__version__}"]
    root = Path(__file__).parent.parent
    for folder in ("dialects", "codegen", "passes", "lowering", "runtime"):
        base = str(root / folder)
        found += sorted(f"{folder}{path[len(base) :]} {stamp}" for path, stamp in _stamps(base))
    return "\n".join(found)


def _stamps(folder: str) -> Iterator[tuple[str, str]]:
    """Path, size and time of each source and table in a folder and those below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SOURCES):
                status = entry.stat()
                yield entry.path, f"{status.st_size} {status.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(entry.path)


def default_limit() -> int:
    """LAMINA_CACHE_BYTES, else `DEFAULT_LIMIT_BYTES`; CacheError for what is no size."""
    given = os.environ.get("LAMINA_CACHE_BYTES") or str(DEFAULT_LIMIT_BYTES)
    if not given.strip().isdecimal():
        raise CacheError(f"LAMINA_CACHE_BYTES='{given}' is no number of bytes")
    return int(given)


def usable_cache() -> "DiskCache | None":
    """The cache of this process, or None, after a warning, where there can be none."""
    try:
        return DiskCache()
    except CacheError as error:
        _warn(f"{error}; programs are not kept")
        return None


_warned: set[str] = set()


def _warn(text: str) -> None:
    """Says it once a process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(f"lamina: {text}", stacklevel=2)


class DiskCache:
    """A folder of compiled programs, bounded in size: the longest unused go first. It is looked
    through about once for each sixteenth of the bound that is written."""

    def __init__(self, folder: Path | None = None, limit_bytes: int | None = None) -> None:
        """Uses `folder`, made if need be (CacheError if that fails); see `cache_folder`."""
        self.folder = folder or cache_folder()
        self.limit_bytes = default_limit() if limit_bytes is None else limit_bytes
        try:
            # For the owner only: what lies here is executed.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"cannot make the cache folder {self.folder}: {error}") from None

    def get(self, key: str) -> tuple[bytes, str] | None:
        """(object code, metadata text) stored under `key`; None if there is nothing usable."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        entry = _unpack(data)
        if entry is None:
            _remove(path)
            return None
        with suppress(OSError):  # gone or read-only: the age is only a hint for eviction
            os.utime(path)
        return entry

    def put(self, key: str, code: bytes, metadata: str) -> bool:
        """Stores an entry, whole or not at all; False, and a warning, if the disk refuses it."""
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            handle, name = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
        except OSError as error:
            self._refused(error)
            return False
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_pack(code, metadata))
            os.replace(name, path)
        except OSError as error:
            self._refused(error)
            _remove(Path(name))
            return False
        if self._is_due(key, _LENGTH_BYTES + len(code) + len(metadata)):
            with suppress(OSError):  # folders may go while they are listed
                self._evict(keep=path)
        return True

    def _is_due(self, key: str, size: int) -> bool:
        """Whether this write is one to look through the folder after. Keys are hashes: that many of
        them begin with a small number, whoever writes them, so that nobody has to keep count."""
        chance = size / max(1.0, self.limit_bytes * _LOOKED_AFTER)
        return int(text_key(key)[:8], 16) < chance * 16**8

    def _refused(self, error: OSError) -> None:
        _warn(f"the cache folder {self.folder} cannot be written to: {error.strerror or error}")

    def clear(self) -> None:
        """Removes every entry."""
        for path in self._files(_SUFFIX):
            _remove(path)

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size, _ in self._ages())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"

    def _files(self, suffix: str) -> Iterable[Path]:
        return self.folder.glob(f"??/*{suffix}")

    def _ages(self) -> list[tuple[float, int, Path]]:
        """(time of last use, size, path) of every entry."""
        found: list[tuple[float, int, Path]] = []
        for path in self._files(_SUFFIX):
            try:
                status = path.stat()
            except OSError:
                continue  # another process evicted it
            found.append((status.st_mtime, status.st_size, path))
        return found

    def _evict(self, keep: Path) -> None:
        """Removes what killed writers left, then the longest unused until enough is free."""
        oldest = time.time() - _STALE_SECONDS
        for path in self._files(_TEMPORARY):
            try:
                if path.stat().st_mtime < oldest:
                    _remove(path)
            except OSError:
                continue  # its writer finished
        entries = self._ages()
        total = sum(size for _, size, _ in entries)
        if total <= self.limit_bytes * (1 - _LOOKED_AFTER):
            return
        for _, size, path in sorted(entries):
            if total <= self.limit_bytes * _KEEP:
                break
            if path != keep:
                _remove(path)
                total -= size


def _remove(path: Path) -> None:
    with suppress(OSError):  # already gone, or not ours to remove: then it is found bad again
        path.unlink()


def _pack(code: bytes, metadata: str) -> bytes:
    text = metadata.encode()
    body = len(text).to_bytes(_LENGTH_BYTES, "little") + text + code
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> tuple[bytes, str] | None:
    head = len(_MAGIC) + _DIGEST_BYTES
    if not data.startswith(_MAGIC) or len(data) < head + _LENGTH_BYTES:
        return None
    body = data[head:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : head]:
        return None
    length = int.from_bytes(body[:_LENGTH_BYTES], "little")
    text, code = body[_LENGTH_BYTES:][:length], body[_LENGTH_BYTES + length :]
    return code, text.decode()
