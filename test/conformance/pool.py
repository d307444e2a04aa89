"""Worker processes that take units of work; a crash or a hang costs one sample."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any

WORKER = Path(__file__).with_name("worker.py")
SECONDS_PER_SAMPLE = 60.0
SECONDS_TO_START = 300.0
SAMPLES_PER_PROCESS = 1000
"""A worker is replaced after so many samples: torch and LLVM keep what they have compiled."""


@dataclass(frozen=True)
class Unit:
    """Samples `start` up to `stop` (None: all) of one op in one dtype."""

    name: str
    dtype: str
    via: str
    start: int = 0
    stop: int | None = None

    @property
    def key(self) -> str:
        """What a record of this unit is found by."""
        return f"{self.name}/{self.dtype}/{self.via}"


Record = dict[str, Any]


class Worker:
    """One process; `run` gives the records of a unit, those of crashed samples included."""

    def __init__(self, script: Path, seconds: float) -> None:
        self._script, self._seconds = script, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._buffer = b""
        self._served = 0

    def run(self, unit: Unit, emit: Callable[[Record], None]) -> None:
        """Judges the samples of `unit`, restarting the process as often as needed."""
        while (unit_left := self._run_until_crash(unit, emit)) is not None:
            unit = unit_left

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._errors):
                if stream is not None:
                    stream.close()
        self._process, self._buffer, self._served = None, b"", 0

    def _run_until_crash(self, unit: Unit, emit: Callable[[Record], None]) -> Unit | None:
        if self._process is None or self._served >= SAMPLES_PER_PROCESS:
            self.close()
            self._start()
        base = {"op": unit.name, "dtype": unit.dtype, "via": unit.via}
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write((json.dumps({**unit.__dict__}) + "\n").encode())
        self._process.stdin.flush()
        current = unit.start
        while True:
            record, why = self._read(self._seconds)
            if record is None:
                self.close()
                emit({**base, "sample": current, "status": "crashed", "reason": why})
                left = replace(unit, start=current + 1)
                return None if left.stop is not None and left.start >= left.stop else left
            if "done" in record:
                return None
            if "begin" in record:
                current = record["begin"]
                continue
            self._served += 1
            blamed = {"blamed": record.pop("op")} if "op" in record else {}
            emit({**base, **record, **blamed})

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        self._process = subprocess.Popen(
            [sys.executable, str(self._script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        record, why = self._read(SECONDS_TO_START)
        if record is None:
            self.close()
            raise RuntimeError(f"a worker does not start: {why}; try python {self._script}")

    def _read(self, seconds: float) -> tuple[Record | None, str]:
        """The next record, or why there is none."""
        assert self._process is not None and self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(left, 0))
            if not ready:
                return None, f"no answer in {seconds:.0f} s"
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                return None, f"the process ended with {self._process.wait()}{self._last_words()}"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line), ""

    def _last_words(self) -> str:
        """The last line that the process wrote about its end, if it did."""
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        return f": {lines[-1]}" if lines else ""


def run_units(
    units: Iterable[Unit],
    jobs: int,
    emit: Callable[[Unit, list[Record]], None],
    script: Path | None = None,
    seconds: float | None = None,
) -> None:
    """Runs `units` on `jobs` processes of `script`; `emit` gets a unit's records when it is done.

    A sample that takes longer than `seconds` counts as crashed.
    """
    queue: Queue[Unit] = Queue()
    for unit in units:
        queue.put(unit)
    lock = threading.Lock()
    failures: list[BaseException] = []

    def work() -> None:
        worker = Worker(script or WORKER, seconds or SECONDS_PER_SAMPLE)
        try:
            while not failures:
                unit = queue.get_nowait()
                records: list[Record] = []
                worker.run(unit, records.append)
                with lock:
                    emit(unit, records)
        except Empty:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
