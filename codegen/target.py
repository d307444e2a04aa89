"""What the machine the code is for looks like: LLVM's CPU name, registers, caches, speeds."""

import ctypes
import os
import re
import sys
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from lamina.codegen.calibration import MEASURED, measured, unfit
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.extension_tables import extended, extended_names

_SYSFS_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

#: Assumed where the caches cannot be asked: the smallest of common desktop and server cores.
_DEFAULT_CACHES = {
    "l1d_bytes": 32 * 1024,
    "l2_bytes": 1024 * 1024,
    "l3_bytes": 16 * 1024 * 1024,
}


STACK_BYTES = 1 << 20
"""Most bytes of stack one function may take: worker threads may have as little as 2 MB in all."""

FAST_DOTS = ("znver4", "znver5")
"""CPUs, as LLVM calls them, that begin as many dot products of bf16 in a cycle (`vdpbf16ps`) as
multiply-adds of f32. Those of Intel that have matrix tiles begin a quarter as many."""

_AVX512 = "+avx512f,+avx512vl,+avx512bw,+avx512dq"
"""What code for vectors of 512 bits is made of."""

MOST_SHARE = 64 << 20
"""Bytes of a last-level cache for each core, at most: what has more is a virtual machine that is
told of the cache of its whole host, most of which others use. Not measured: twice what desktop
processors with stacked caches have for each core is less."""
SERVER_SHARE = 32 << 20
"""Bytes of that cache for each core of such a host. Of 480 MB that two cores of a Sapphire Rapids
are told of, copies of 64 MB begin to find less, and of 128 MB nothing. With 8 MB for both,
MobileNetV2 at batch 8 takes 1.15 of the time of 480, ResNet-50 1.03, with 64 both as long; softmax
of 8192x2048 takes 0.52, and 0.66 with 64, a bias and relu 0.6 with either."""

CORES = 16
"""Threads of a machine that nobody could ask: any usual number of them."""

# How fast a machine is that nobody measured: rules of thumb for desktop and server cores.
CLOCK_HZ = 3.5e9
"""Cycles a second of a core that is busy."""
ARITHMETIC_PORTS = 2.0
"""Vector operations that a core begins in a cycle."""
L2_BYTES_PER_CYCLE = 32.0
"""Bytes that the second-level cache delivers in a cycle."""
L3_BYTES_PER_CYCLE = 16.0
"""Bytes that the last-level cache delivers to one core in a cycle."""
MEMORY_BANDWIDTH = 20e9
"""Bytes a second that one core gets from memory."""
FORK_NANOSECONDS = 1200.0
"""What starting a team and waiting for its end take, while its threads still spin."""
BARRIER_NANOSECONDS = 200.0
"""What a barrier takes, and what one core then fetches of what another wrote."""


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU to generate code for; nothing above codegen asks the host about its CPU.

    `name` is what it is called here, `triple` and `cpu` what LLVM calls it, `has_fma` whether it
    multiplies and adds in one instruction, `l1d_bytes` and `l2_bytes` are a core's own caches.
    `vector_bits` is the widest vector register, `vector_registers` how many of them there are.
    `l3_bytes` is the last-level cache shared by the cores. `features` is LLVM's `+a,-b` list;
    what LLVM switches on for `cpu` beside it is unknown to `missing_here`.
    `cores` bounds the threads that have scratch memory of their own. The fields from `clock_hz` on
    say how fast it is (see the constants they default to); the cost model asks them, and
    `python -m lamina.tools.calibrate` measures them for the host: `clock_hz` cycles a second,
    `arithmetic_ports` vector operations begun in a cycle, `l2_bytes_per_cycle` and
    `l3_bytes_per_cycle` moved for one core, `memory_bandwidth` in bytes a second,
    `fork_nanoseconds` and `barrier_nanoseconds` of a team of threads.

    A variant of one, `dataclasses.replace(target, vector_bits=256)`, is a target as good as any.
    Raises InputError for sizes that no machine has.

        compiled = lamina.compile(text, target=lamina.Target.parse("x86-64-v3;l2_bytes=524288"))
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    has_fma: bool
    name: str
    cores: int = CORES
    clock_hz: float = CLOCK_HZ
    arithmetic_ports: float = ARITHMETIC_PORTS
    l2_bytes_per_cycle: float = L2_BYTES_PER_CYCLE
    l3_bytes_per_cycle: float = L3_BYTES_PER_CYCLE
    memory_bandwidth: float = MEMORY_BANDWIDTH
    fork_nanoseconds: float = FORK_NANOSECONDS
    barrier_nanoseconds: float = BARRIER_NANOSECONDS

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if type(value) is not kind and (kind is not float or type(value) is not int):
                said = f"{name}={value!r} is no {kind.__name__}"
                raise InputError(f"target {self.name}: {said}")
        bits = self.vector_bits
        if not 64 <= bits <= MOST_VECTOR_BITS or bits & (bits - 1):
            raise InputError(
                f"target {self.name}: vector_bits={bits} is no power of two from 64 to "
                f"{MOST_VECTOR_BITS}"
            )
        for name in _LEAST:
            if getattr(self, name) < _LEAST[name]:
                raise InputError(
                    f"target {self.name}: {name}={getattr(self, name)} is below {_LEAST[name]}"
                )
        for name in MEASURED:
            if reason := unfit(name, getattr(self, name)):
                raise InputError(f"target {self.name}: {reason}")
        if self.architecture == "x86_64":
            widest, _, _ = _registers(self.triple, self._switched_on())
            if bits > widest:
                raise InputError(
                    f"target {self.name}: vector_bits={bits}, and its features have vectors of "
                    f"{widest}; +avx2 is for 256, {_AVX512} for 512"
                )

    @staticmethod
    def host() -> "Target":
        """The CPU this process runs on, as LLVM names it; as fast as a calibration found it, if
        there is one (see `lamina.codegen.calibration`), read once a process."""
        return _host()

    @staticmethod
    def parse(text: str) -> "Target":
        """The target that `text` names (see `Target.names`), perhaps with other fields, as in
        `x86-64-v4;vector_bits=256;l2_bytes=524288`.

        Raises UnsupportedError if there is none, InputError for fields that do not fit.
        """
        if not isinstance(text, str):
            raise InputError(f"a target is a name or a Target, not a {type(text).__name__}")
        name, *changes = text.split(";")
        entry = extended("target", name)
        target = entry.value if entry is not None else _own(name)
        if target is None:
            known = ", ".join(Target.names())
            raise UnsupportedError("target", f"no target is called '{name}'", nearest=known)
        return replace(target, **dict(map(_field, changes))) if changes else target

    @property
    def spelled(self) -> str:
        """The text from which `Target.parse` makes this target."""
        base = self.name if self.name in Target.names() else "host"
        usual = Target.parse(base)
        changes = [
            f"{name}={getattr(self, name)}"
            for name in _KINDS
            if getattr(self, name) != getattr(usual, name)
        ]
        return ";".join([base, *changes])

    @staticmethod
    def names() -> tuple[str, ...]:
        """Every name that `Target.parse` takes."""
        return tuple(dict.fromkeys([*Target.own_names(), *extended_names("target")]))

    @staticmethod
    def own_names() -> tuple[str, ...]:
        """Those that no extension brings."""
        return ("host", *_NAMED)

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` one vector register holds."""
        return max(1, self.vector_bits // element_bits)

    def has(self, feature: str) -> bool:
        """Whether LLVM's `feature` is switched on by name in `features`."""
        return f"+{feature}" in self.features.split(",")

    def _switched_on(self) -> set[str]:
        return {f[1:] for f in self.features.split(",") if f.startswith("+")}

    @property
    def is_known(self) -> bool:
        """Whether LLVM is known to make code for its CPU: one that is named here, or the host's."""
        return any(
            (known.triple, known.cpu, known.features) == (self.triple, self.cpu, self.features)
            for known in (*_NAMED.values(), _host())
        )

    @property
    def multiplies_tiles(self) -> bool:
        """Whether it has registers of matrix tiles, and multiplies bf16 in them."""
        return self.has("amx-tile") and self.has("amx-bf16")

    @property
    def dots_pairs(self) -> bool:
        """Whether it adds products of two pairs of bf16 to an f32 in each lane, as fast as it
        multiplies and adds f32, so that products of bf16 take half the time."""
        return self.has("avx512bf16") and self.cpu in FAST_DOTS

    @property
    def compresses_vectors(self) -> bool:
        """Whether it moves the lanes of a vector together, by a mask, in an instruction or two."""
        return self.has("avx512f")

    @property
    def architecture(self) -> str:
        """First part of the triple: `x86_64`, `aarch64` or `riscv64`."""
        return self.triple.partition("-")[0]

    def runs_here(self) -> bool:
        """Whether this process can run code made for this target."""
        return _host().architecture == self.architecture and not self.missing_here()

    def missing_here(self) -> list[str]:
        """LLVM's names of the features that it has and this process may not use, without signs."""
        here = set(_host().features.split(","))
        on = (f for f in self.features.split(",") if f.startswith("+"))
        return sorted(feature[1:] for feature in on if feature not in here)

    def key(self) -> str:
        """Text that differs between any two targets whose code may differ."""
        return repr(sorted((name, getattr(self, name)) for name in _KINDS))


_KINDS: dict[str, Any] = {field.name: field.type for field in fields(Target)}
"""The type of each field."""


MOST_VECTOR_BITS = 2048
"""What the widest vector extension of any architecture allows (SVE)."""

_LEAST = {"vector_registers": 8, "l1d_bytes": 4096, "l2_bytes": 4096, "l3_bytes": 4096, "cores": 1}
"""Schedules need registers for a product's tile, and caches that hold at least a page."""


_DECIMAL = re.compile(r"\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII)
"""A number as an option of a target has it: what `float` takes besides is nobody's speed."""


def _field(text: str) -> tuple[str, Any]:
    """`name=value` as the name and value of a field of `Target`; InputError for anything else."""
    name, equals, value = text.partition("=")
    if not equals or name not in _KINDS:
        raise InputError(f"target option '{text}': an option is NAME=VALUE of {', '.join(_KINDS)}")
    if _KINDS[name] is str:
        return name, value
    if _KINDS[name] is bool and value in ("True", "False"):
        return name, value == "True"
    if _KINDS[name] is int and value.isdecimal():
        return name, int(value)
    if _KINDS[name] is float and _DECIMAL.fullmatch(value):
        return name, float(value)
    raise InputError(f"target option '{text}': '{value}' is no {_KINDS[name].__name__}")


def _registers(triple: str, features: set[str]) -> tuple[int, int, bool]:
    """(vector bits, vector registers, has FMA) from LLVM's feature names."""
    if triple.startswith(("aarch64", "arm64")):
        return 128, 32, True
    if triple.startswith("riscv64"):
        return 128, 32, True
    if {name[1:] for name in _AVX512.split(",")} <= features:
        return 512, 32, True
    return (256 if "avx2" in features else 128), 16, "fma" in features


_V3 = (
    "+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,"
    "+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)
_V4 = _V3 + ",+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
_ZEN4 = _V4 + (
    ",+adx,+avx512bf16,+avx512bitalg,+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni"
    ",+avx512vpopcntdq,+gfni,+vpclmulqdq,-sse4a"
)
"""What LLVM's `znver4` uses without being asked, so that `missing_here` sees it. Not SSE4a: others'
CPUs lack it, and what LLVM takes it for, a few shuffles, other instructions do as well."""


def _named(
    name: str, triple: str, cpu: str, features: str, bits: int, registers: int, fma: bool = True
) -> Target:
    return Target(
        triple,
        cpu,
        features,
        bits,
        registers,
        **_DEFAULT_CACHES,
        has_fma=fma,
        name=name,
    )


_NAMED = {
    t.name: t
    for t in (
        _named("x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", _V3, 256, 16),
        _named("x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", _V4, 512, 32),
        _named(
            "sapphirerapids",
            "x86_64-unknown-linux-gnu",
            "sapphirerapids",
            _V4 + ",+amx-bf16,+amx-int8,+amx-tile,+avx512bf16",
            512,
            32,
        ),
        _named("znver4", "x86_64-unknown-linux-gnu", "znver4", _ZEN4, 512, 32),
        _named("aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon,+fp-armv8", 128, 32),
        _named(
            "riscv64",
            "riscv64-unknown-linux-gnu",
            "generic-rv64",
            # f16 conversions (zfhmin, zvfhmin) are part of the application profile with vectors.
            "+64bit,+a,+c,+d,+f,+m,+v,+zfhmin,+zicsr,+zifencei,+zvfhmin,+zvl128b",
            128,
            32,
        ),
    )
}


def _own(name: str) -> Target | None:
    return _host() if name == "host" else _NAMED.get(name)


@cache
def _host() -> Target:
    from llvmlite import binding

    on = binding.get_host_cpu_features()
    if on.get("amx-tile") and not _may_use_tiles():
        on.update((name, False) for name in list(on) if name.startswith("amx-"))
    triple = binding.get_process_triple()
    bits, registers, fma = _registers(triple, {name for name, present in on.items() if present})
    target = Target(
        triple=triple,
        cpu=binding.get_host_cpu_name(),
        features=on.flatten(),
        vector_bits=bits,
        vector_registers=registers,
        has_fma=fma,
        name="host",
        cores=os.cpu_count() or CORES,
        **_host_caches(os.cpu_count() or 1),
    )
    return replace(target, **measured(target.cpu))


TILE_REQUEST = (158, 0x1023, 18)
"""The system call of Linux on x86-64, `arch_prctl`, by which a process asks for the state of tile
registers, which is large, before it uses any: 0 if it may."""


def _may_use_tiles() -> bool:
    """Asks the system to let this process, with all its threads, use matrix tiles."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        call = ctypes.CDLL(None).syscall
    except (AttributeError, OSError):
        return False
    return call(*TILE_REQUEST) == 0


def _host_caches(cores: int) -> dict[str, int]:
    """Data cache sizes of CPU 0 as Linux tells them; the defaults for what it does not tell.

    Of a last-level cache that is too large for so many cores, they have a share.
    """
    sizes = dict(_DEFAULT_CACHES)
    keys = {"1": "l1d_bytes", "2": "l2_bytes", "3": "l3_bytes"}
    for index in _SYSFS_CACHES.glob("index*"):
        try:
            kind = (index / "type").read_text().strip()
            level = (index / "level").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and level in keys and size.endswith("K"):
            sizes[keys[level]] = int(size[:-1]) * 1024
    if sizes["l3_bytes"] > cores * MOST_SHARE:
        sizes["l3_bytes"] = cores * SERVER_SHARE
    return sizes
