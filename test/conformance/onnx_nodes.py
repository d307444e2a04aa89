"""The node tests of the ONNX package (`onnx.backend.test`) through Lamina.

    python test/conformance/onnx_nodes.py [--ops PATTERN] [--failures] [--check] [--write-refused]

Prints how many pass, are refused and are wrong. Inputs that sizes depend on are bound as constants,
and such tests counted apart. `onnx_refused.tsv` lists what is refused, with reasons.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_ONNX_NAMES = {"bfloat16": "BFLOAT16", "float16": "FLOAT16", "float32": "FLOAT"}
REFUSED = Path(__file__).with_name("onnx_refused.tsv")


@dataclass(frozen=True)
class Outcome:
    """What came of one test: `passed`, `bound` (passed, with constants), `refused` or `wrong`."""

    name: str
    verdict: str
    reason: str = ""


def cases(pattern: str = "*") -> Iterator[Any]:
    """The node tests whose names match, without those whose data only exists as files."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node") + load_model_tests(kind="simple")
    for case in found:
        if case.model is not None and fnmatch.fnmatch(case.name, pattern):
            yield case


def judge(case: Any) -> Outcome:
    """Runs all data sets of a test."""
    from lamina.dialects.errors import UnsupportedError

    bound = False
    try:
        for given, wanted in case.data_sets:
            inputs, expected = as_arrays(given), as_arrays(wanted)
            results, with_constants = run(case.model, case.name, inputs)
            bound = bound or with_constants
            message = difference(results, expected, case.rtol, case.atol)
            if message and not is_no_further(case.model, inputs, results, expected):
                return Outcome(case.name, "wrong", message)
    except UnsupportedError as error:
        return Outcome(case.name, "refused", " ".join(str(error).split("\n")[:1]))
    except Exception as error:
        first = str(error).partition("\n")[0]
        return Outcome(case.name, "wrong", f"{type(error).__name__}: {first}")
    return Outcome(case.name, "bound" if bound else "passed")


def run(model: Any, name: str, inputs: list[Any]) -> tuple[list[np.ndarray], bool]:
    """Results of a model, and whether some of its inputs had to be bound for it."""
    from lamina.frontends.onnx.errors import ValuesNeededError
    from lamina.frontends.onnx.read import import_model
    from lamina.runtime.compile import compile_module

    names = [entry.name for entry in model.graph.input]
    given = dict(zip(names, inputs, strict=False))
    constants: dict[str, Any] = {}
    while True:
        try:
            program = import_model(model, name, constants)
            break
        except ValuesNeededError as error:
            if not set(error.inputs) - set(constants):
                raise
            constants.update({key: given[key] for key in error.inputs})
    compiled = compile_module(program.module, constants=program.constants)
    results = compiled(*(np.asarray(given[slot.name]) for slot in compiled.inputs))
    listed = list(results) if isinstance(results, tuple | list) else [results]
    return [np.asarray(result) for result in listed], bool(constants)


def as_arrays(values: list[Any]) -> list[Any]:
    """Arrays, also of what the tests keep as messages of ONNX's."""
    from onnx import TensorProto, numpy_helper

    return [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in values]


def is_no_further(model: Any, inputs: list[Any], results: list[Any], expected: list[Any]) -> bool:
    """Whether floats are as near as what is expected to those in a wider type.

    That is f32 for half floats, and f64 for f32.
    """
    from onnx.reference import ReferenceEvaluator

    kinds = {getattr(v, "dtype", np.dtype("O")).name for v in expected}
    narrow, wide = (("float32",), np.float64)
    if kinds <= {"bfloat16", "float16"}:
        narrow, wide = (("bfloat16", "float16"), np.float32)
    elif kinds != {"float32"}:
        return False
    names = [entry.name for entry in model.graph.input]
    given = [wide(v) if np.asarray(v).dtype.name in narrow else v for v in inputs]
    exact: Any = ReferenceEvaluator(in_floats(model, narrow, wide)).run(
        None, dict(zip(names, given, strict=False))
    )
    return all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.max(np.abs(wide(a) - e)) <= np.max(np.abs(wide(b) - e))
        for a, b, e in zip(results, expected, exact, strict=True)
    )


def in_floats(model: Any, narrow: Sequence[str], wide: type[np.floating[Any]]) -> Any:
    """The model with a wide type of floats in the place of narrow ones."""
    from onnx import ModelProto, TensorProto, helper, numpy_helper

    narrow_types = [TensorProto.DataType.Value(_ONNX_NAMES[name]) for name in narrow]
    found = ModelProto()
    found.CopyFrom(model)
    for node in found.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in narrow_types:
                attribute.i = helper.np_dtype_to_tensor_dtype(np.dtype(wide))
            if attribute.HasField("t") and attribute.t.data_type in narrow_types:
                array = numpy_helper.to_array(attribute.t).astype(wide)
                attribute.t.CopyFrom(numpy_helper.from_array(array))
    return found


def difference(results: list[Any], expected: list[Any], rtol: float, atol: float) -> str:
    """Where results differ from what is expected; empty if nowhere."""
    for place, (got, want) in enumerate(zip(results, expected, strict=False)):
        want = np.asarray(want)
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"result {place}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        wide = want.dtype.kind not in "biu"
        a, b = (got.astype(np.float64), want.astype(np.float64)) if wide else (got, want)
        if want.dtype.name == "bfloat16":  # a test's 1e-3 is below the distance of two numbers
            rtol = max(rtol, 2.0**-7)
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return (
                f"result {place}: values differ, by up to {np.max(np.abs(a - b)) if wide else '?'}"
            )
    return ""


def read_refused() -> dict[str, str]:
    """Reasons of the refusals that are expected, by test."""
    lines = REFUSED.read_text(encoding="utf-8").splitlines() if REFUSED.exists() else []
    return {name: reason for name, _, reason in (line.partition("\t") for line in lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--ops", default="*", help="names of tests, with wildcards")
    parser.add_argument("--failures", action="store_true", help="print what does not pass")
    parser.add_argument("--check", action="store_true", help="compare with the list of refusals")
    parser.add_argument("--write-refused", action="store_true")
    given = parser.parse_args()
    outcomes = []
    for case in cases(given.ops):
        outcome = judge(case)
        outcomes.append(outcome)
        if given.failures and outcome.verdict in ("refused", "wrong"):
            print(f"{outcome.verdict}\t{outcome.name}\t{outcome.reason}", flush=True)
    counts = Counter(outcome.verdict for outcome in outcomes)
    passed = counts["passed"] + counts["bound"]
    print(
        f"{len(outcomes)} tests: {passed} passed ({counts['bound']} with inputs bound), "
        f"{counts['refused']} refused, {counts['wrong']} wrong"
    )
    refused = {o.name: o.reason for o in outcomes if o.verdict == "refused"}
    if given.write_refused:
        lines = [f"{name}\t{reason}\n" for name, reason in sorted(refused.items())]
        REFUSED.write_text("".join(lines), encoding="utf-8")
    new = sorted(set(refused) - set(read_refused())) if given.check else []
    for name in new:
        print(f"new refusal: {name}: {refused[name]}")
    return 1 if counts["wrong"] or new else 0


if __name__ == "__main__":
    sys.exit(main())
