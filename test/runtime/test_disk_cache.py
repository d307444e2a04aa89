"""The disk cache: bad files, killed and concurrent writers, eviction, keys."""

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from lamina.codegen.calibration import cache_folder
from lamina.dialects.errors import CacheError
from lamina.runtime.disk_cache import DiskCache, cache_key

KEY = cache_key("program", "target")


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


def entry_file(cache: DiskCache) -> Path:
    (path,) = cache.folder.rglob("*.lamina")
    return path


def test_gives_back_what_was_stored(cache: DiskCache) -> None:
    assert cache.get(KEY) is None
    assert cache.put(KEY, b"\0code\xff", '{"a": "\u00e4"}')
    assert cache.get(KEY) == (b"\0code\xff", '{"a": "\u00e4"}')
    assert DiskCache(cache.folder).get(KEY) == (b"\0code\xff", '{"a": "\u00e4"}')
    assert cache.get(cache_key("other")) is None


def test_every_truncation_is_a_miss(cache: DiskCache) -> None:
    cache.put(KEY, b"code" * 5, "metadata")
    whole = entry_file(cache).read_bytes()
    for length in range(len(whole)):
        cache.put(KEY, b"code" * 5, "metadata")
        entry_file(cache).write_bytes(whole[:length])
        assert cache.get(KEY) is None, length
        assert not list(cache.folder.rglob("*.lamina")), "the bad file is dropped"


def test_every_changed_byte_is_a_miss(cache: DiskCache) -> None:
    cache.put(KEY, b"code" * 5, "metadata")
    whole = entry_file(cache).read_bytes()
    for position in range(len(whole)):
        bad = bytearray(whole)
        bad[position] ^= 0x10
        cache.put(KEY, b"code" * 5, "metadata")
        entry_file(cache).write_bytes(bytes(bad))
        assert cache.get(KEY) is None, position


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from lamina.runtime.disk_cache import DiskCache
cache = DiskCache(Path(sys.argv[1]))
while True:
    cache.put(sys.argv[2], b"x" * 5_000_000, "metadata")
"""


def test_killed_and_concurrent_writers_leave_whole_entries(cache: DiskCache) -> None:
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(cache.folder), KEY]
    writers = [subprocess.Popen(command) for _ in range(2)]
    deadline = time.time() + 30
    while cache.get(KEY) is None and time.time() < deadline:
        time.sleep(0.01)
    for _ in range(20):
        assert cache.get(KEY) == (b"x" * 5_000_000, "metadata")
    for writer in writers:
        writer.kill()
        writer.wait()
    assert cache.get(KEY) == (b"x" * 5_000_000, "metadata")


KILLED_IN_MID_WRITE = """
import os, signal, sys
from pathlib import Path
from lamina.runtime import disk_cache

class Half:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *_): self.file.close()
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

opened = os.fdopen
disk_cache.os.fdopen = lambda *a: Half(opened(*a))
disk_cache.DiskCache(Path(sys.argv[1])).put(sys.argv[2], b"x" * 1_000_000, "metadata")
"""


def test_a_writer_killed_in_mid_write_leaves_no_entry(cache: DiskCache) -> None:
    command = [sys.executable, "-c", KILLED_IN_MID_WRITE, str(cache.folder), KEY]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (partial,) = cache.folder.rglob("*.partial")
    assert 0 < partial.stat().st_size < 1_000_000
    assert cache.get(KEY) is None and cache.size() == 0
    assert cache.put(KEY, b"code", "metadata") and cache.get(KEY) == (b"code", "metadata")
    assert partial.exists(), "its writer may still be at work"
    os.utime(partial, (time.time() - 7200,) * 2)
    small = DiskCache(cache.folder, limit_bytes=1000)
    small.put(cache_key("next"), b"code" * 16, "")
    assert not partial.exists(), "a writer that old is dead, however little the cache holds"


def test_many_processes_keep_one_folder_within_its_bound(tmp_path: Path) -> None:
    """Each evicts what others wrote; no reader meets half an entry or an error."""
    code = """
import sys
from pathlib import Path
from lamina.runtime.disk_cache import DiskCache, cache_key
cache = DiskCache(Path(sys.argv[1]), limit_bytes=150_000)
for i in range(150):
    key = cache_key(str(i % 40))
    found = cache.get(key)
    assert found is None or found == (b"x" * 10_000, str(i % 40)), i
    assert cache.put(key, b"x" * 10_000, str(i % 40))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    writers = [subprocess.Popen(command) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert DiskCache(tmp_path).size() <= 150_000


def test_longest_unused_go_first_and_the_size_stays_bounded(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit_bytes=10_000)
    keys = [cache_key(str(i)) for i in range(12)]
    for age, key in enumerate(keys[:8]):
        cache.put(key, b"x" * 1000, "")
        path = cache.folder / key[:2] / f"{key}.lamina"
        os.utime(path, (time.time() - 1000 + age,) * 2)
    assert cache.get(keys[0]) is not None  # used now: the youngest
    for key in keys[8:]:
        cache.put(key, b"x" * 1000, "")
        assert cache.size() <= 10_000
    assert cache.get(keys[0]) is not None
    assert cache.get(keys[1]) is None
    assert cache.get(keys[11]) is not None


def test_few_writes_look_through_a_large_folder(tmp_path: Path) -> None:
    """It would take a second for each, once it holds a hundred thousand files."""
    looked: list[Path] = []

    class Watched(DiskCache):
        def _evict(self, keep: Path) -> None:
            looked.append(keep)
            super()._evict(keep)

    cache, largest = Watched(tmp_path, limit_bytes=160_000), 0
    for i in range(500):
        cache.put(sha256(str(i).encode()).hexdigest(), b"x" * 900, "")  # the same in each version
        largest = max(largest, cache.size())
    assert 20 <= len(looked) <= 100, "one of ten, about"
    # Which ones look is as good as drawn: some 40 in a row that do not are to be expected.
    assert largest <= 160_000 + 60 * 1000


def test_partial_files_of_killed_writers_are_cleaned_up(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit_bytes=100)
    cache.put(KEY, b"x" * 200, "")
    partial = cache.folder / KEY[:2] / "abc.partial"
    partial.write_bytes(b"half")
    os.utime(partial, (time.time() - 7200,) * 2)
    cache.put(cache_key("next"), b"x" * 200, "")
    assert not partial.exists()


def test_an_entry_larger_than_the_limit_is_still_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit_bytes=10)
    assert cache.put(KEY, b"x" * 100, "")
    assert cache.get(KEY) is not None


def test_folder_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.delenv("LAMINA_CACHE_DIR", raising=False)
    assert cache_folder() == Path("/somewhere/lamina")
    monkeypatch.setenv("LAMINA_CACHE_DIR", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot make the cache folder"):
        DiskCache(tmp_path / "file" / "cache")


@pytest.mark.filterwarnings("ignore:lamina. the cache folder")
def test_full_disk_only_costs_the_entry(cache: DiskCache) -> None:
    (cache.folder / KEY[:2]).write_text("a file where the folder of the entry should be")
    assert cache.put(KEY, b"code", "") is False
    assert cache.get(KEY) is None


def test_keys_depend_on_every_part_and_where_it_ends() -> None:
    assert cache_key("ab", "c") != cache_key("a", "bc") != cache_key("abc")
    assert cache_key("a") == cache_key("a") == cache_key(b"a")
