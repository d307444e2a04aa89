"""Kernels through `torch.compile(dynamic=True)`: Lamina beside Inductor, with all sizes open.

`python -m bench.open_sizes --kernels [PATTERN ...] --inductor` runs this, and with `--models` the
same for networks.

Both backends get the graph that Dynamo makes with symbols for all sizes, equal ones being one
symbol. The first call of each function has half the extent of the first dimension that is open
(batch, rows, heads, and all dimensions as long, so that squares stay squares), or of the next one
where the function takes no half. So no version is for the sizes that are timed alone; a number of
features stays what it was, as it does in programs. What the second call compiles is not timed
either. Calls come from Python and take turns; those of short kernels are mostly guards of Dynamo.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import geometric_mean

import torch

from bench.kernel_table import Inputs, Kernel
from bench.timing import Clock, Timing, format_seconds, interleave

BACKENDS = ("lamina", "inductor")
BEHIND = 1.05
"""Above it Lamina is called behind."""


class RefusedError(Exception):
    """A backend does not compile a kernel; says which, and why."""


def smaller(kernel: Kernel, inputs: Inputs) -> Inputs:
    """Inputs with half of one extent, wherever it stands, that the kernel takes."""
    extents = dict.fromkeys(size for tensor in inputs for size in tensor.shape if size >= 4)
    for extent in extents:
        cut = tuple(_cut(tensor, extent) for tensor in inputs)
        try:
            kernel.torch(*cut)
        except (RuntimeError, IndexError):
            continue
        return cut
    return inputs


def _cut(tensor: torch.Tensor, extent: int) -> torch.Tensor:
    for dim, size in enumerate(tensor.shape):
        if size == extent:
            tensor = tensor.narrow(dim, 0, extent // 2)
    return tensor.contiguous()


def measure(kernel: Kernel, seconds: float, clock: Clock) -> dict[str, Timing]:
    """Times of the kernel by backend, RefusedError where one of them does not compile it."""
    inputs = kernel.inputs()
    first = smaller(kernel, inputs)
    torch.compiler.reset()
    functions = {name: torch.compile(kernel.torch, backend=name, dynamic=True) for name in BACKENDS}
    for name, function in functions.items():
        try:
            function(*first)
            function(*inputs)
        except Exception as error:  # each backend has errors of its own, wrapped by Dynamo
            reason = str(error).strip().partition("\n")[0]
            raise RefusedError(f"{name}: {reason[:90]}") from error
    calls = {name: partial(function, *inputs) for name, function in functions.items()}
    return interleave(calls, seconds=seconds, clock=clock)


def compare(kernels: Sequence[Kernel], seconds: float, clock: Clock) -> None:
    """Prints a line for each kernel, the geometric mean and those that are behind."""
    ratios: dict[str, float] = {}
    for kernel in kernels:
        try:
            with torch.no_grad():
                taken = measure(kernel, seconds, clock)
        except RefusedError as error:
            print(f"{kernel.name:42} refused by {error}", flush=True)
            continue
        ratios[kernel.name] = taken["lamina"].best / taken["inductor"].best
        shown = ", ".join(
            f"{name} {format_seconds(t.best)} / {format_seconds(t.median)}"
            for name, t in taken.items()
        )
        print(f"{kernel.name:42} {ratios[kernel.name]:5.2f}  {shown}", flush=True)
    print_summary(ratios)


def compare_calls(
    name: str,
    network: torch.nn.Module,
    calls: Sequence[torch.Tensor],
    seconds: float,
    clock: Clock,
) -> None:
    """Prints a line for each call of a network that takes one tensor, and the geometric mean.

    Both backends meet the last call first, and all others before anything is timed.
    """
    torch.compiler.reset()
    functions = {b: torch.compile(network, backend=b, dynamic=True) for b in BACKENDS}
    ratios: dict[str, float] = {}
    with torch.no_grad():
        for function in functions.values():
            for given in (calls[-1], *calls):
                function(given)
        for given in calls:
            title = f"{name} {'x'.join(map(str, given.shape))}"
            timed = {b: partial(function, given) for b, function in functions.items()}
            taken = interleave(timed, seconds=seconds, clock=clock)
            ratios[title] = taken["lamina"].best / taken["inductor"].best
            shown = ", ".join(f"{backend} {timing}" for backend, timing in taken.items())
            print(f"{title:42} {ratios[title]:5.2f}  {shown}", flush=True)
    print_summary(ratios)


def print_summary(ratios: Mapping[str, float], limit: float = BEHIND) -> None:
    """The geometric mean, and what is above the limit, the worst first."""
    if not ratios:
        return
    mean = geometric_mean(ratios.values())
    print(f"\n{len(ratios)} rows, ours over Inductor's: {mean:.2f} in geometric mean")
    behind = sorted((n for n, r in ratios.items() if r > limit), key=lambda n: -ratios[n])
    print(f"above {limit}: {len(behind)}")
    for name in behind:
        print(f"  {ratios[name]:5.2f}  {name}")
