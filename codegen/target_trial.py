"""Trying a target that somebody describes by hand, before LLVM makes code for it in this process.

LLVM ends its process over what it cannot make code for: a CPU without 64 bits, as one that it does
not know is, or features in another form than `+a,-b`. So another process tries first.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from lamina.dialects.errors import UnsupportedError

SECONDS = 60.0
"""A trial takes 0.1 s on a Zen 4, a hundred times that on loaded cores; longer is no answer."""

_TRIAL = """
import sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
triple, cpu, features, text = sys.argv[1:]
machine = binding.Target.from_triple(triple).create_target_machine(
    cpu=cpu, features=features, opt=1, reloc="pic", codemodel="default"
)
machine.emit_object(binding.parse_assembly(text))
"""

_VECTORS = """
define void @trial(ptr %x, ptr %y, ptr %z, <{lanes} x i1> %mask) {{
  %a = load <{lanes} x float>, ptr %x, align 4
  %b = load <{lanes} x float>, ptr %y, align 4
  %c = call <{lanes} x float> @llvm.fma.v{lanes}f32(<{lanes} x float> %a, <{lanes} x float> %b, <{lanes} x float> %a)
  %d = fptosi <{lanes} x float> %c to <{lanes} x i32>
  %e = fpext <{lanes} x float> %c to <{lanes} x double>
  %f = sitofp <{lanes} x i32> %d to <{lanes} x double>
  %g = fadd <{lanes} x double> %e, %f
  %h = fptrunc <{lanes} x double> %g to <{lanes} x float>
  call void @llvm.masked.store.v{lanes}f32.p0(<{lanes} x float> %h, ptr %z, i32 4, <{lanes} x i1> %mask)
  ret void
}}
declare <{lanes} x float> @llvm.fma.v{lanes}f32(<{lanes} x float>, <{lanes} x float>, <{lanes} x float>)
declare void @llvm.masked.store.v{lanes}f32.p0(<{lanes} x float>, ptr, i32, <{lanes} x i1>)
"""  # noqa: E501 - a signature on one line


@cache
def refuse_unfit(triple: str, cpu: str, features: str, vector_bits: int) -> None:
    """Raises UnsupportedError, in LLVM's words, where it makes no vector code for a CPU.

    Where no other Python can be started, there is no trial.
    """
    text = _VECTORS.format(lanes=max(2, vector_bits // 32))
    command = [sys.executable, "-c", _TRIAL, triple, cpu, features, text]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except OSError:
        return
    except subprocess.TimeoutExpired:
        raise _refusal(cpu, features, f"it takes more than {SECONDS:.0f} s") from None
    words = [line for line in ended.stderr.splitlines() if line.strip()]
    unknown = next((line for line in words if "is not a recognized" in line), None)
    if ended.returncode or unknown is not None:
        fatal = next((line for line in words if "LLVM ERROR" in line or "Assert" in line), None)
        reason = unknown or fatal or (words[-1] if words else f"status {ended.returncode}")
        raise _refusal(cpu, features, reason)


def _refusal(cpu: str, features: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        "target",
        f"LLVM makes no code for cpu={cpu or 'generic'} with features={features}: {reason}",
        nearest="a CPU's name and a list of features, +a,-b, as LLVM spells them",
    )
