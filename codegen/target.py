"""What the machine the code is for looks like: LLVM's CPU name and features, registers, caches."""

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from lamina.dialects.errors import UnsupportedError

_SYSFS_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

#: Assumed where the caches cannot be asked: the smallest of common desktop and server cores.
_DEFAULT_CACHES = {
    "l1d_bytes": 32 * 1024,
    "l2_bytes": 1024 * 1024,
    "l3_bytes": 16 * 1024 * 1024,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU to generate code for; nothing above codegen asks the host about its CPU.

    `vector_bits` is the widest vector register, `vector_registers` how many of them there are.
    `l3_bytes` is the last-level cache shared by the cores. `features` is LLVM's `+a,-b` list.
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

    @staticmethod
    def host() -> "Target":
        """The CPU this process runs on, as LLVM names it."""
        return _host()

    @staticmethod
    def parse(text: str) -> "Target":
        """The target called `text` (see `Target.names`); UnsupportedError if there is none."""
        if text == "host":
            return _host()
        target = _NAMED.get(text)
        if target is None:
            known = ", ".join(Target.names())
            raise UnsupportedError("target", f"no target is called '{text}'", nearest=known)
        return target

    @staticmethod
    def names() -> tuple[str, ...]:
        """Every name that `Target.parse` takes."""
        return ("host", *_NAMED)

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` one vector register holds."""
        return max(1, self.vector_bits // element_bits)

    def has(self, feature: str) -> bool:
        """Whether LLVM's `feature` is switched on by name in `features`."""
        return f"+{feature}" in self.features.split(",")

    @property
    def architecture(self) -> str:
        """First part of the triple: `x86_64`, `aarch64` or `riscv64`."""
        return self.triple.partition("-")[0]

    def runs_here(self) -> bool:
        """Whether this process can run code made for this target."""
        host = _host()
        if host.architecture != self.architecture:
            return False
        on = {f for f in self.features.split(",") if f.startswith("+")}
        return on <= set(host.features.split(","))

    def key(self) -> str:
        """Text that differs between any two targets whose code may differ."""
        return repr(sorted(asdict(self).items()))


_V3 = (
    "+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,"
    "+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)
_V4 = _V3 + ",+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"


def _named(
    name: str,
    triple: str,
    cpu: str,
    features: str,
    bits: int,
    registers: int,
    fma: bool = True,
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
            "aarch64",
            "aarch64-unknown-linux-gnu",
            "generic",
            "+neon,+fp-armv8",
            128,
            32,
        ),
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


@cache
def _host() -> Target:
    from llvmlite import binding

    on = binding.get_host_cpu_features()
    triple = binding.get_process_triple()
    bits, registers, fma = _registers(triple, {name for name, present in on.items() if present})
    return Target(
        triple=triple,
        cpu=binding.get_host_cpu_name(),
        features=on.flatten(),
        vector_bits=bits,
        vector_registers=registers,
        has_fma=fma,
        name="host",
        **_host_caches(),
    )


def _registers(triple: str, features: set[str]) -> tuple[int, int, bool]:
    """(vector bits, vector registers, has FMA) from LLVM's feature names."""
    if triple.startswith(("aarch64", "arm64")):
        return 128, 32, True
    if triple.startswith("riscv64"):
        return 128, 32, True
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= features:
        return 512, 32, True
    return (256 if "avx2" in features else 128), 16, "fma" in features


def _host_caches() -> dict[str, int]:
    """Data cache sizes of CPU 0 as Linux tells them; the defaults for what it does not tell."""
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
    return sizes
