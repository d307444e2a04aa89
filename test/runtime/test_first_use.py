"""Threads that use the compiler for the first time in a process, all at the same time."""

import subprocess
import sys
import threading
import time

import pytest

from lamina.runtime.once import Once

pytestmark = pytest.mark.one_in(2)

SCRIPT = """
import sys, threading, traceback
import numpy as np
import lamina

entrance, programs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.setswitchinterval(1e-5)
OPS = (
    "softmax.int(%x, dim = 1)", "gelu.default(%x)", "cumsum.default(%x, dim = 1)",
    "tanh.default(%x)", "var.default(%x)", "sort.stable(%x, stable = true, dim = 1)",
    "linalg_cholesky_ex.default(%x)", "nonzero.default(%x)", "logit.default(%x)",
)
RESULTS = {"var": "tensor<f32>", "sort": "tensor<NxNxf32>, tensor<NxNxi64>",
           "linalg_cholesky_ex": "tensor<NxNxf32>, tensor<i32>", "nonzero": "tensor<?x2xi64>"}

def text(number):
    op = OPS[number % len(OPS)]
    kind = RESULTS.get(op.partition(".")[0], "tensor<NxNxf32>")
    names = ", ".join(f"%{i}" for i in range(kind.count("tensor")))
    written = f'''func.func @main(%x: tensor<NxNxf32>) -> ({kind}) {{
  {names} = aten.{op} : (tensor<NxNxf32>) -> ({kind})
  func.return {names} : {kind}
}}'''
    if kind.count("tensor") == 1:
        written = written.replace(f"-> ({kind})", f"-> {kind}")
    return written.replace("NxN", f"{number % 13 + 2}x{number % 13 + 2}")

def run(number):
    size = number % 13 + 2
    x = np.eye(size, dtype=np.float32) * (number % 5 + 1)
    if entrance == "compile":
        return lamina.compile(text(number), cache=False)(x)
    if entrance == "interpret":
        from lamina.runtime.interpreters.run import run_module
        return run_module(lamina.parse(text(number)), [x])
    import torch
    call = ("tanh(x)", "cumsum(x, 0)", "logsumexp(x, 0)", "cumprod(x, 0)")[number % 4]
    scope = {"torch": torch}
    exec(f"def model(x):\\n    return torch.{call} * {number}", scope)  # code of its own
    model, t = scope["model"], torch.eye(size)
    with torch.no_grad():
        options = {"cache": False}
        made = torch.compile(model, backend="lamina", options=options, fullgraph=True)(t)
        torch.testing.assert_close(made, model(t), equal_nan=True)
    return made

errors = []
together = threading.Barrier(workers)

def work(first):
    together.wait()
    for number in range(first, programs, workers):
        try:
            assert run(number) is not None
        except BaseException as error:
            errors.append("".join(traceback.format_exception(error)[-3:]))

if entrance == "dynamo":
    import torch._dynamo
    torch._dynamo.lookup_backend("lamina")  # torch's table of backends takes one thread at a time
threads = [threading.Thread(target=work, args=(i,)) for i in range(workers)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(f"{len(errors)} errors", *dict.fromkeys(errors), sep="\\n")
"""


def first_use(entrance: str, programs: int) -> None:
    """A fresh process in which eight threads compile or interpret that many programs."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, entrance, str(programs), "8"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.startswith("0 errors"), done.stdout[:4000] + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("entrance", "programs"), [("compile", 24), ("interpret", 24), ("dynamo", 8)]
)
def test_threads_that_begin_together(entrance: str, programs: int) -> None:
    first_use(entrance, programs)


@pytest.mark.long
@pytest.mark.parametrize("attempt", range(10))
def test_a_thousand_programs_of_threads_that_begin_together(attempt: int) -> None:
    first_use("compile", 1000)


@pytest.mark.long
@pytest.mark.parametrize("entrance", ["interpret", "dynamo"])
def test_a_thousand_programs_by_the_other_entrances(entrance: str) -> None:
    first_use(entrance, 1000)


def test_what_is_made_once_is_made_by_one_thread() -> None:
    made: list[object] = []

    @Once
    def thing() -> object:
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(thing())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found == made * 8


def test_what_failed_is_tried_again() -> None:
    attempts: list[int] = []

    @Once
    def thing() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("not yet")
        return len(attempts)

    with pytest.raises(ValueError, match="not yet"):
        thing()
    assert (thing(), thing()) == (2, 2)
